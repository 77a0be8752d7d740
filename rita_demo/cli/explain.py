"""The command ``explain``: attack one picture and defend it. Torch is imported when the model is loaded."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.attacks.registry import ATTACKS
from rita_demo.cli import options, text_tables
from rita_demo.cli.terminal import check_writable, example_epilog, print_progress, write_errors
from rita_demo.data.vocabularies import VOCABULARIES, duplicates, index_of
from rita_demo.defences.registry import DEFENCES, compared, validated
from rita_demo.pipeline.run_options import OWN_OPTIONS, class_names, run_settings
from rita_demo.records.errors import SettingError
from rita_demo.settings import PRESETS, SETTINGS, Settings, parse_assignment

if TYPE_CHECKING:
    from rita_demo.engine.engine import Engine
    from rita_demo.records import Run


def add_explain(commands: Any) -> None:
    explain = commands.add_parser(
        "explain",
        help="attack one picture and defend it",
        epilog=example_epilog(
            "explain picture.jpg --classes cup,crab,cat --label cup",
            "explain picture.jpg --vocabulary dtd --attack adaptive:rita --budget 2 --json result.json",
            "explain other.jpg --vocabulary dtd --settings result.json --methods clip,rita",
        ),
    )
    add = explain.add_argument
    add("image", metavar="IMAGE", help="a PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF file")
    words = explain.add_mutually_exclusive_group(required=True)
    words.add_argument("--classes", metavar="a,b,c", help="class names, separated by commas")
    words.add_argument("--vocabulary", choices=list(VOCABULARIES), help="a ready list of classes")
    add("--label", help="the true class (default: CLIP's own answer)")
    options.add_backbone(explain)
    help = {name: SETTINGS[name].help.rstrip(".") for name in OWN_OPTIONS}
    low_high = {name: f"{SETTINGS[name].low:g} to {SETTINGS[name].high:g}" for name in ("budget", "steps")}
    default = {name: f"default {SETTINGS[name].default}" for name in OWN_OPTIONS}
    add(
        "--attack",
        metavar=f"{{{','.join(ATTACKS)}}}",
        type=options.attack,
        help=f"{help['attack']} ({default['attack']}); adaptive:METHOD, made by an attacker who knows that method; or "
        "FILE.py:NAME, an attack of your own",
    )
    add("--budget", metavar="N", help=f"{help['budget']} ({low_high['budget']}, in 1/255; {default['budget']})")
    add("--steps", metavar="N", help=f"{help['steps']} ({low_high['steps']}; {default['steps']})")
    add("--square", choices=SETTINGS["square"].choices, help=f"{help['square']} ({default['square']})")
    add("--target", help="the class the attack aims at (default: away from the label)")
    add("--seed", metavar="N", help="both the attack's seed and the views' seed")
    add("--preset", choices=list(PRESETS), default="recommended", help="where all settings start")
    add(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="assignments",
        help="any other setting; may be repeated, and wins over every other option",
    )
    add(
        "--methods",
        metavar="M[,M]",
        default=",".join(compared()),
        help=f"who answers beside CLIP, Ensemble and RITA: {', '.join(DEFENCES)} (default: {', '.join(compared())})",
    )
    options.add_defence(explain)
    options.add_settings(explain)
    add("--json", metavar="F", type=Path, help="write the answers as JSON")
    add("--arrays", metavar="F", type=Path, help="write the arrays as safetensors")
    add("--html", metavar="F", type=Path, help="write one page that needs no server and no network")
    explain.set_defaults(run=_explain, usage_error=explain.error)


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings of a command line, see :func:`rita_demo.pipeline.run_options.run_settings`."""
    return run_settings(
        args.preset,
        args.vocabulary,
        saved=options.saved_settings(args),
        attack=args.attack,
        budget=args.budget,
        steps=args.steps,
        square=args.square,
        seed=args.seed,
        target=args.target,
        changes=dict(parse_assignment(text) for text in args.assignments),
    )


def _explain(args: argparse.Namespace) -> int:
    options.load_installed_defences()
    try:
        settings = settings_of(args)
        methods = validated(args.methods.split(","))
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    names = class_names(args.classes, args.vocabulary)
    if again := duplicates(args.classes or ""):
        print(f"Named more than once, used once: {', '.join(again)}.", file=sys.stderr)
    label, target = (None if name is None else index_of(names, name) for name in (args.label, args.target))
    check_writable(args.json, args.arrays, args.html)
    engine, run = explain(args.image, names, settings, args.backbone, label, target, methods)
    _export(engine, run, args)
    print(text_tables.run_table(run, Path(args.image).name))
    return 0


def explain(
    image: str,
    names: Sequence[str],
    settings: Settings,
    backbone: str,
    label: int | None,
    target: int | None,
    methods: Sequence[str],
) -> tuple[Engine, Run]:
    """Open a picture, load the model, attack and defend; progress goes to a terminal's stderr."""
    from rita_demo.scripting.explain import explain

    options: dict[str, Any] = {"label": label, "target": target, "methods": methods}
    done = explain(image, names, settings, backbone, lambda now: print_progress(now.sentence), **options)
    print_progress("")
    return done


def _export(engine: Engine, run: Run, args: argparse.Namespace) -> None:
    from rita_demo.pipeline.export import arrays_file, to_json

    with write_errors():
        if args.json:
            text = json.dumps(to_json(run), indent=2, ensure_ascii=False, allow_nan=False)
            args.json.write_text(text + "\n", encoding="utf-8")
        if args.arrays:
            args.arrays.write_bytes(arrays_file(run))
        if args.html:
            from rita_demo.scripting.explain import page_html

            args.html.write_text(page_html(engine, run), encoding="utf-8")
