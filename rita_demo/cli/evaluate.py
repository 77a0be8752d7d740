"""The command ``evaluate``."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from rita_demo.attacks import registry as attacks
from rita_demo.attacks.registry import ATTACKS
from rita_demo.cli import options
from rita_demo.cli.terminal import ProgressLog, example_epilog, print_progress, program
from rita_demo.defences import registry as defences
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import request as requests
from rita_demo.evaluation.request import EXECUTORS, ORDERS, Request, Traffic
from rita_demo.records.errors import SettingError
from rita_demo.settings import PRESETS, SETTINGS


def add_evaluate(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="measure methods on a dataset; started again, it goes on",
        description="Measure methods on a dataset. Killed at any moment and started again with the same "
        "command, it goes on and ends with the same numbers.",
        epilog=example_epilog(
            "evaluate --dataset textures --methods clip,rita --attack none,pgd --budget 4 --limit 20 --out runs/textures",
            "evaluate --data-root DIR --dataset dtd:present --methods clip,ensemble,rita --attack adaptive --budget 4 "
            "--out runs/dtd",
            "evaluate --dataset FOLDER --split all --methods clip,rita --attack pgd --budget 2,4 --out runs/mine",
        ),
    )
    add = parser.add_argument
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets")
    add(
        "--dataset",
        metavar="D[,D]",
        required=True,
        help="names (see the command datasets), or folders with a folder per class; D:present asks "
        "only about the classes that have pictures",
    )
    add("--split", default="val", help="train, val, test, or all for a folder without splits (default val)")
    add("--methods", metavar="M[,M]", required=True, help=", ".join(DEFENCES))
    add(
        "--attack",
        metavar="A[,A]",
        required=True,
        help=f"{', '.join(ATTACKS)} (every method by an attacker who knows it; adaptive:METHOD: by one who knows that "
        "method); or FILE.py:NAME, your own",
    )
    add("--budget", metavar="N[,N]", required=True, help="strength in 1/255, always written down")
    add(
        "--target",
        metavar="NAME",
        default="",
        help="aim every attack at this class and leave its own pictures out, also of the clean numbers; or next: at "
        "the class after each picture's own in the list (default: away from the true class)",
    )
    add("--steps", metavar="N[,N]", help=f"gradient steps (default {SETTINGS['steps'].default})")
    add("--square", help="model (default) or picture: which square is attacked")
    add(
        "--protocols",
        metavar="P[,P]",
        help="the memory is off, reset before every picture, or kept (default: all three)",
    )
    options.add_defence(parser)
    options.add_settings(parser)
    options.add_backbone(parser)
    _add_run_options(parser)
    parser.set_defaults(run=_evaluate, usage_error=parser.error)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    """Which pictures in which order, under which settings, and where."""
    add = parser.add_argument
    add("--seeds", metavar="S[,S]", default="0", help="views, attacks and order of the stream (default 0)")
    add(
        "--attacked-share",
        metavar="P",
        default="100",
        help="attack only P percent of the pictures, drawn from the seed",
    )
    add(
        "--stream-order",
        choices=ORDERS,
        default="random",
        help="how the pictures arrive: mixed, or one class after the other",
    )
    add("--limit", metavar="N", help="measure N pictures, spread over the classes")
    add(
        "--allow-partial",
        action="store_true",
        help="measure a dataset that lacks classes or pictures; all class names stay prompts",
    )
    add(
        "--sweep",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help="measure every value of a setting; may be repeated",
    )
    add(
        "--preset",
        choices=list(PRESETS),
        default="recommended",
        help="where all settings start; paper: with the exceptions of EuroSAT, ImageNet-A, -R and -Sketch, and C-TPT's "
        "weight 20 on ImageNet and its variants, as its authors have it",
    )
    add(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="assignments",
        help="any other setting; may be repeated",
    )
    add(
        "--executor",
        choices=EXECUTORS,
        default="local",
        help="where the work is done: local, in this process (default), or ray, by a Ray cluster (RAY_ADDRESS, else one "
        "that is started here)",
    )
    add("--out", metavar="RUNS", type=Path, required=True, help="the folder that keeps the results")


def request_of(args: argparse.Namespace) -> Request:
    """The options as a request. Raises SettingError: a name or number that is not allowed."""
    saved = options.saved_settings(args)
    settings, fixed = requests.points(
        start=args.preset,
        attacks=",".join(options.attack(name.strip()) for name in args.attack.split(",")),
        budget=args.budget,
        steps=args.steps,
        square=args.square or saved.get("square", "model"),
        protocols=args.protocols or saved.get("protocol", "off,reset,stream"),
        saved=saved,
        assignments=args.assignments,
        sweeps=args.sweep,
    )
    return Request(
        datasets=requests.datasets(args.dataset),
        split=args.split,
        methods=requests.methods(args.methods),
        points=settings,
        out=args.out,
        data_root=options.data_root(args.data_root),
        seeds=requests.seeds(args.seeds),
        fixed_seeds=fixed,
        limit=None if args.limit is None else _whole_number("--limit", "from 1", args.limit, 1),
        allow_partial=args.allow_partial,
        backbone=args.backbone,
        target=args.target.strip(),
        dataset_settings=requests.dataset_settings(args.preset, args.assignments, args.sweep) - saved.keys(),
        traffic=Traffic(_whole_number("--attacked-share", "from 1 to 100", args.attacked_share), args.stream_order),
    )


def _whole_number(option: str, range_text: str, text: str, low: int = 0) -> int:
    if not text.isdecimal() or int(text) < low:
        raise SettingError(f"{option} is a whole number {range_text}; got {text[:40]!r}.")
    return int(text)


def _evaluate(args: argparse.Namespace) -> int:
    options.load_installed_defences()
    try:
        request = request_of(args)
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    if args.executor == "ray" and (attacks.guest_specs() or defences.guest_specs()):
        args.usage_error("Attacks and defences from a file need --executor local.")
    from rita_demo.evaluation.dataset_settings import dataset_defaults
    from rita_demo.evaluation.run import evaluate

    for name in request.datasets:
        if own := dataset_defaults(request, name):
            said = ", ".join(f"{setting}={value}" for setting, value in own.items())
            print(f"{name}, as in the paper: {said} (--set wins).")
    try:
        done = evaluate(request, ProgressLog(), args.executor)
    finally:
        print_progress("")
    print(f"{done.cells} cells, {done.rows} rows, {done.new_rows} of them new, in {done.seconds:.0f} s.")
    print(f"The results are in {request.out}. Next: {program()} tables {shlex.quote(str(request.out))}")
    return 0
