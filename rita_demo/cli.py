"""The same engine from a terminal: ``python -m rita_demo COMMAND`` (the commands are in the README).

Exit status: 0 on success; 2 when the command line itself is wrong (an unknown option, a value outside
its range); 1, with one sentence on stderr, when a picture, a class name, a model or a file is.
Libraries that take seconds to import are imported by the command that needs them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo import environment, table, terminal
from rita_demo.bench.command import add_bench
from rita_demo.data.vocabularies import (
    VOCABULARIES,
    duplicates,
    index_of,
    parse_names,
    vocabulary,
)
from rita_demo.errors import DataError, DemoError, SettingError
from rita_demo.evaluation.commands import add_evaluate, add_tables
from rita_demo.methods import METHODS, NAMED, checked
from rita_demo.serving import add_serve
from rita_demo.settings import KNOBS, PRESETS, Settings, parse_assignment, preset

if TYPE_CHECKING:
    from rita_demo.engine import Engine
    from rita_demo.records import Story

DEFAULT_BACKBONE = "embedded"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; never a traceback for a visitor's mistake."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="replace"
            )  # a terminal without Greek letters still gets the rest
    debug = False
    try:
        debug = environment.value("RITA_DEBUG")
        args = build_parser().parse_args(argv)
        return args.run(args)
    except SystemExit as end:  # argparse has printed its sentence (2) or its help (0)
        return int(end.code or 0)
    except DemoError as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has left: nothing more to say to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if debug:
            raise
        print(
            f"Something went wrong that should not have: {type(error).__name__}: {error}. "
            "Set RITA_DEBUG=1 to see where, and please report it.",
            file=sys.stderr,
        )
    return 1


def build_parser() -> argparse.ArgumentParser:
    """All commands and options. Each command stores what runs it in ``run``."""
    parser = argparse.ArgumentParser(
        prog="python -m rita_demo",
        description="See an attack on a vision-language model, and see RITA undo it.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_explain(commands)
    add_evaluate(commands, _add_backbone)
    add_tables(commands)
    add_bench(commands, _add_backbone)
    models = commands.add_parser("models", help="the models that can be used here and now")
    models.set_defaults(run=_models)
    datasets = commands.add_parser(
        "datasets", help="the datasets that are here, and what is missing"
    )
    datasets.add_argument(
        "--data-root", metavar="DIR", type=Path, default=None,
        help="the folder that holds them (default: RITA_DATA, else ./data where it exists)",
    )  # fmt: skip
    datasets.set_defaults(run=_datasets)
    add_serve(commands, _add_backbone)
    train = commands.add_parser("train", help="make the embedded model")
    train.add_argument("--data", metavar="DIR", type=Path, required=True, help="labelled pictures")
    train.add_argument("--out", metavar="DIR", type=Path, required=True, help="where it is written")
    train.add_argument("--minutes", metavar="M", type=float, required=True, help="how long")
    train.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    train.set_defaults(run=_train)
    return parser


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser("explain", help="attack one picture and defend it")
    explain.add_argument(
        "image", metavar="IMAGE", help="a PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF file"
    )
    words = explain.add_mutually_exclusive_group(required=True)
    words.add_argument("--classes", metavar="a,b,c", help="class names, separated by commas")
    words.add_argument("--vocabulary", choices=list(VOCABULARIES), help="a ready list of classes")
    explain.add_argument("--label", help="the true class (default: CLIP's own answer)")
    _add_backbone(explain)
    for name in ("attack", "budget", "steps", "square"):
        knob = KNOBS[name]
        how: dict[str, Any] = {"choices": knob.choices} if knob.choices else {"metavar": "N"}
        span = (
            ""
            if knob.choices
            else f" {knob.low:g} to {knob.high:g}{', in 1/255' * (name == 'budget')};"
        )
        explain.add_argument(
            f"--{name}", help=f"{knob.why.rstrip('.')} ({span.strip()} default {knob.default})".replace("( ", "("), **how
        )  # fmt: skip
    explain.add_argument(
        "--target", help="the class the attack aims at (default: away from the label)"
    )
    explain.add_argument("--seed", metavar="N", help="both the attack's seed and the views' seed")
    explain.add_argument(
        "--preset", choices=list(PRESETS), default="recommended", help="where all settings start"
    )
    explain.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], dest="assignments",
        help="any other setting; may be repeated, and wins over every other option",
    )  # fmt: skip
    explain.add_argument(
        "--methods", metavar="M[,M]", default=",".join(NAMED),
        help=f"who answers beside CLIP, Ensemble and RITA: {', '.join(METHODS)} (default: {', '.join(NAMED)})",
    )  # fmt: skip
    explain.add_argument("--json", metavar="F", type=Path, help="write the answers as JSON")
    explain.add_argument("--arrays", metavar="F", type=Path, help="write the arrays as safetensors")
    explain.add_argument(
        "--html", metavar="F", type=Path, help="write one page that needs no server and no network"
    )
    explain.set_defaults(run=_explain, usage_error=explain.error)


def _add_backbone(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backbone", default=environment.value("RITA_BACKBONE"), type=_backbone,
        help="embedded, ARCH:TAG of open_clip, or ARCH:checkpoint; +VISION.pt behind it puts a robust vision tower "
        "into that model (default: RITA_BACKBONE, else embedded)",
    )  # fmt: skip


def _backbone(text: str) -> str:
    """The model's name; the paper's own names of models are understood too."""
    from rita_demo.data.paper import BACKBONES

    return BACKBONES.get(text, text)


def settings_of(args: argparse.Namespace) -> Settings:
    """The preset (``paper``: as it is for the chosen vocabulary), then the options that were given, then ``--set`` in order: later ones win.

    Raises:
        SettingError: an unknown setting or a value outside its range.
    """
    from rita_demo.data.datasets import DATASETS

    changes: dict[str, Any] = {}
    if args.preset == "paper" and args.vocabulary in DATASETS:
        changes |= DATASETS[args.vocabulary].paper
    for name in ("attack", "budget", "steps", "square"):
        if getattr(args, name) is not None:
            changes[name] = getattr(args, name)
    if args.seed is not None:
        changes |= {"attack_seed": args.seed, "view_seed": args.seed}
    changes |= dict(parse_assignment(text) for text in args.assignments)
    settings = preset(args.preset).but(**changes)
    if args.target is not None and settings.attack == "none":
        raise SettingError("--target needs an attack, but the attack is none.")
    return settings


def _explain(args: argparse.Namespace) -> int:
    try:
        settings = settings_of(args)
        methods = checked(args.methods.split(","))
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    if args.vocabulary:
        names = vocabulary(args.vocabulary).names
    else:
        names = parse_names(args.classes)
        if again := duplicates(args.classes):
            print(f"Named more than once, used once: {', '.join(again)}.", file=sys.stderr)
    label, target = (
        None if name is None else index_of(names, name) for name in (args.label, args.target)
    )
    for path in (args.json, args.arrays, args.html):
        terminal.check_folder(path)
    engine, story = explain(args.image, names, settings, args.backbone, label, target, methods)
    _export(engine, story, args)
    print(table.render(story, Path(args.image).name))
    return 0


def explain(
    image: str,
    names: Sequence[str],
    settings: Settings,
    backbone: str = DEFAULT_BACKBONE,
    label: int | None = None,
    target: int | None = None,
    methods: Sequence[str] = NAMED,
) -> tuple[Engine, Story]:
    """Open a picture, load the model and tell the story; progress goes to a terminal's stderr."""
    from rita_demo.data.descriptions import described
    from rita_demo.data.hand_prompts import hand_sentence
    from rita_demo.data.pictures import open_picture

    open_picture(image)  # a bad file is told before the model takes its seconds to load
    described(names, settings.descriptions)
    hand_sentence(settings.hand_prompt, names)
    from rita_demo.engine import Engine
    from rita_demo.story import finish, telling

    engine = Engine(backbone)
    picture = open_picture(image, square=settings.square, side=engine.info.side)
    steps = telling(engine, picture, names, settings, label=label, target=target, methods=methods)
    story = finish(steps, lambda now: terminal.say(now.sentence))
    terminal.say("")
    return engine, story


def _export(engine: Engine, story: Story, args: argparse.Namespace) -> None:
    from rita_demo.exports import to_arrays, to_json

    try:
        if args.json:
            text = json.dumps(to_json(story), indent=2, ensure_ascii=False, allow_nan=False)
            args.json.write_text(text + "\n", encoding="utf-8")
        if args.arrays:
            from safetensors.numpy import save

            args.arrays.write_bytes(save(to_arrays(story)))
        if args.html:
            from rita_demo.ui.standalone import standalone

            crops = {
                side: engine.view_pixels(getattr(story, side).picture, story.settings)
                for side in ("clean", "attacked")
            }
            args.html.write_text(standalone(story, crops), encoding="utf-8")
    except OSError as error:
        raise DataError(f"The result could not be written: {error.strerror}.") from error


def _models(args: argparse.Namespace) -> int:
    from rita_demo.vlm import available, pick_device

    print(table.models(available(), pick_device()))
    return 0


def _datasets(args: argparse.Namespace) -> int:
    from rita_demo.data.datasets import present

    root = terminal.data_root(args.data_root)
    print(table.datasets(present(root), root))
    return 0


def _train(args: argparse.Namespace) -> int:
    if not args.data.is_dir():
        raise DataError(
            f"The data folder {args.data} does not exist.", "Say where the pictures are."
        )
    from rita_demo.training import train

    run: Callable[..., Any] = train
    run(data=args.data, out=args.out, minutes=args.minutes, resume=args.resume)
    return 0
