"""The command ``reproduce``: the paper's tables and figures, measured here and put beside the paper's numbers."""

import argparse
from pathlib import Path

from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, ProgressLog, add_command, print_progress, print_warning
from rita_demo.process.environment import data_folder

QUICK = 20  # pictures of each dataset


def add_reproduce(commands: Commands) -> None:
    about = (
        "Measures every table and figure of the paper that the data allows, with the preset paper, and writes a report "
        "with the paper's cells beside the measured ones. Killed at any moment and started again with the same "
        "command, it goes on."
    )
    parser = add_command(
        commands,
        "reproduce",
        _reproduce,
        "the paper's tables and figures, measured and compared",
        "reproduce --backbone ViT-B-16-quickgelu:openai --data-root DIR --out reproduced",
        "reproduce --backbone ViT-B-32-quickgelu:openai --data-root DIR --table table-main --out reproduced --quick",
        "reproduce --dataset textures --table table-main --out rehearsal --quick",
        description=about,
    )
    add = parser.add_argument
    options.add_backbone(parser)
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets (default: RITA_DATA)")
    help = "of these datasets alone (default: those of the paper that are here); D:present and folders as in evaluate"
    add("--dataset", metavar="D[,D]", default="", help=help)
    help = "some of the tables and figures, by their names in rita figures (table-main, ablation-views, ...)"
    add("--table", metavar="NAME[,NAME]", default="", help=help)
    add("--quick", action="store_true", help=f"the same with {QUICK} pictures of each dataset")
    add("--out", metavar="DIR", type=Path, required=True, help="the folder that keeps measurements and report")


def _reproduce(args: argparse.Namespace) -> int:
    from rita_demo.paper import catalogue
    from rita_demo.paper.plan import Asked, make_plan
    from rita_demo.paper.reproduce import REPORT, reproduce

    asked = Asked(
        wanted=catalogue.checked(args.table.split(",")) if args.table else catalogue.names(),
        backbone=args.backbone,
        data_root=args.data_root or data_folder(),
        out=args.out,
        datasets=tuple(dict.fromkeys(name.strip() for name in args.dataset.split(",") if name.strip())),
        limit=QUICK if args.quick else None,
    )
    plan = make_plan(asked)
    try:
        done = reproduce(asked, plan, ProgressLog(), print_warning)
    except KeyboardInterrupt:
        if (written := args.out / REPORT).is_file():
            print_warning(f"The same command goes on. What is measured so far, and what is still to measure: {written}")
        raise
    finally:
        print_progress("")
    print(f"{done.counted.sentence} {done.new} rows are new.")
    print(f"The report is {done.report}.")
    return 0
