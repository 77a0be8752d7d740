"""The commands ``evaluate`` and ``tables``: options here, work in the modules beside. Imports stay light."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rita_demo.errors import SettingError
from rita_demo.evaluation import request as asked
from rita_demo.evaluation.executor import EXECUTORS
from rita_demo.evaluation.request import ORDERS, Request, Traffic
from rita_demo.methods import METHODS
from rita_demo.settings import KNOBS, PRESETS
from rita_demo.terminal import data_root, say


def add_evaluate(commands: Any, add_backbone: Callable[[argparse.ArgumentParser], None]) -> None:
    """The command ``evaluate``."""
    parser = commands.add_parser(
        "evaluate",
        help="measure methods on a dataset; started again, it goes on",
        description="Measure methods on a dataset. Killed at any moment and started again with the same "
        "command, it goes on and ends with the same numbers.",
    )
    add = parser.add_argument
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets")
    add("--dataset", metavar="D[,D]", required=True,
        help="names (see the command datasets), or folders with a folder per class; D:present asks "
        "only about the classes that have pictures")  # fmt: skip
    add("--split", default="val", help="train, val, test, or all for a folder without splits (default val)")  # fmt: skip
    add("--methods", metavar="M[,M]", required=True, help=", ".join(METHODS))
    add("--attack", metavar="A[,A]", required=True, help=", ".join(KNOBS["attack"].choices))
    add("--budget", metavar="N[,N]", required=True, help="strength in 1/255, always written down")
    add("--target", metavar="NAME", default="",
        help="aim every attack at this class and leave its own pictures out, also of the clean numbers; or next: at "
        "the class after each picture's own in the list (default: away from the true class)")  # fmt: skip
    add("--steps", metavar="N[,N]", help=f"gradient steps (default {KNOBS['steps'].default})")
    add("--square", default="model", help="model (default) or picture: which square is attacked")
    add("--protocols", metavar="P[,P]", default="off,reset,stream",
        help="the memory is off, reset before every picture, or kept (default: all three)")  # fmt: skip
    add_backbone(parser)
    add("--seeds", metavar="S[,S]", default="0", help="views, attacks and order of the stream (default 0)")  # fmt: skip
    add("--attacked-share", metavar="P", default="100", help="attack only P percent of the pictures, drawn from the seed")  # fmt: skip
    add("--stream-order", choices=ORDERS, default="random", help="how the pictures arrive: mixed, or one class after the other")  # fmt: skip
    add("--limit", metavar="N", help="measure N pictures, spread over the classes")
    add("--allow-partial", action="store_true",
        help="measure a dataset that lacks classes or pictures; all class names stay prompts")  # fmt: skip
    add("--sweep", metavar="NAME=V1,V2", action="append", default=[], help="measure every value of a setting; may be repeated")  # fmt: skip
    add("--preset", choices=list(PRESETS), default="recommended", help="where all settings start; paper: AugMix, "
        "and 50 for C-TPT's weight, but for ImageNet and its variants no AugMix, and 20")  # fmt: skip
    add("--set", metavar="NAME=VALUE", action="append", default=[], dest="assignments",
        help="any other setting; may be repeated")  # fmt: skip
    add("--executor", choices=tuple(EXECUTORS), default="local",
        help="where the work is done: local, in this process (default), or ray, by a Ray cluster (RAY_ADDRESS, else one "
        "that is started here)")  # fmt: skip
    add("--out", metavar="RUNS", type=Path, required=True, help="the folder that keeps the results")
    parser.set_defaults(run=_evaluate, usage_error=parser.error)


def add_tables(commands: Any) -> None:
    """The command ``tables``."""
    parser = commands.add_parser(
        "tables",
        help="tables from what evaluate has stored",
        description="Tables from what evaluate has stored. markdown and latex end with the paper's own tables, "
        "measured cells beside printed ones. In csv, n counts different pictures: the interval is theirs, the "
        "accuracy is the mean over all seeds.",
    )
    parser.add_argument("runs", metavar="RUNS", type=Path, help="the folder that evaluate wrote to")
    parser.add_argument(
        "--format",
        choices=("markdown", "csv", "latex", "points"),
        default="markdown",
        dest="form",
        help="points: JSON with every setting that matters, as the page's ablations read it",
    )
    parser.set_defaults(run=_tables)


def request_of(args: argparse.Namespace) -> Request:
    """The options as a request.

    Raises:
        SettingError: a name or number that is not allowed.
    """
    settings, fixed = asked.points(
        start=args.preset,
        attacks=args.attack,
        budget=args.budget,
        steps=args.steps,
        square=args.square,
        protocols=args.protocols,
        assignments=args.assignments,
        sweeps=args.sweep,
    )
    return Request(
        datasets=asked.datasets(args.dataset),
        split=args.split,
        methods=asked.methods(args.methods),
        points=settings,
        out=args.out,
        data_root=data_root(args.data_root),
        seeds=asked.seeds(args.seeds),
        fixed=fixed,
        limit=_limit(args.limit),
        allow_partial=args.allow_partial,
        backbone=args.backbone,
        target=args.target.strip(),
        by_dataset=asked.by_dataset(args.preset, args.assignments, args.sweep),
        traffic=Traffic(_share(args.attacked_share), args.stream_order),
    )


def _share(text: str) -> int:
    if not text.isdecimal():
        raise SettingError(f"--attacked-share is a whole number from 1 to 100; got {text[:40]!r}.")
    return int(text)


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise SettingError(f"--limit is a whole number from 1; got {text[:40]!r}.")
    return int(text)


def _evaluate(args: argparse.Namespace) -> int:
    try:
        request = request_of(args)
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    from rita_demo.evaluation.by_dataset import left_to_it
    from rita_demo.evaluation.run import evaluate

    for name in request.datasets:
        if own := left_to_it(request, name):
            said = ", ".join(f"{knob}={value}" for knob, value in own.items())
            print(f"{name}, as in the paper: {said} (--set wins).")
    done = evaluate(request, say, args.executor)
    say("")
    print(
        f"{done.cells} cells, {done.rows} rows, {done.new} of them new, in {done.seconds:.0f} s. "
        "See them with the command tables."
    )
    return 0


def _tables(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.points import points_of, to_json
    from rita_demo.evaluation.tables import lines, render

    if args.form == "points":
        print(to_json(points_of(args.runs)), end="")
        return 0
    print(render(lines(args.runs), args.form), end="")
    return 0
