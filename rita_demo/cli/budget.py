"""The command ``budget``: how much on one picture."""

import argparse
from pathlib import Path

from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, ProgressLog, add_command, check_writable, print_progress
from rita_demo.defences.registry import DEFENCES
from rita_demo.process.output_file import write_output
from rita_demo.records.errors import SettingError, refuse_gone
from rita_demo.scripting.own import defence_names
from rita_demo.settings import parse_assignment


def add_budget(commands: Commands) -> None:
    about = (
        "Find the smallest strength at which an attacker who knows a defence makes its answer on a picture wrong, by "
        "bisection. Beside it: the passes of the vision tower that all attacks took. "
        "A defence that stands may fall to a better attack."
    )
    parser = add_command(
        commands,
        "budget",
        _budget,
        "the smallest strength at which the attacker who knows breaks a defence",
        "budget picture.jpg --classes cup,crab,cat --label cup --methods clip,ensemble,rita",
        "budget picture.jpg --vocabulary dtd --methods rita --backbone embedded-robust --csv budgets.csv",
        description=about,
    )
    add = parser.add_argument
    options.add_picture(parser)
    add(
        "--methods",
        metavar="M[,M]",
        default="clip,ensemble,rita",
        help=f"{', '.join(DEFENCES)}; or FILE.py:NAME, your own",
    )
    add("--most", metavar="N", type=options.strength, default=32, help="the largest strength, in 1/255 (32)")
    options.add_backbone(parser)
    options.add_defence(parser)
    options.add_settings(parser)
    add("--out", help=argparse.SUPPRESS)
    add("--csv", metavar="F", type=Path, help="write the table as CSV")


def _budget(args: argparse.Namespace) -> int:
    from rita_demo.scripting.smallest_budget import smallest_budget

    methods = defence_names(args.methods)  # first: a setting may be its own
    try:
        if args.out is not None:
            refuse_gone("out of smallest_budget")
        changes = dict(parse_assignment(text) for text in args.assignments)
        saved = options.saved_settings(args)
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    check_writable(args.csv)
    found = smallest_budget(
        *(args.image, args.classes),
        vocabulary=args.vocabulary,
        methods=methods,
        label=args.label,
        most=args.most,
        report=ProgressLog(),
        preset=args.preset,
        saved=saved,
        settings=changes,
        backbone=args.backbone,
    )
    print_progress("")
    if args.csv:
        write_output(args.csv, found.to_csv(lineterminator="\n").encode())
    print(found.round(3).astype(object).where(found.notna(), "–").to_string())
    return 0
