"""The command ``tables``."""

import argparse
from pathlib import Path
from typing import Any

from rita_demo.cli.terminal import example_epilog


def add_tables(commands: Any) -> None:
    parser = commands.add_parser(
        "tables",
        help="tables from what evaluate has stored",
        description="Tables from what evaluate has stored. markdown and latex end with the paper's own tables, "
        "measured cells beside printed ones. In csv, n counts different pictures: the interval is theirs, the "
        "accuracy is the mean over all seeds.",
        epilog=example_epilog("tables runs/dtd", "tables runs/dtd --format latex"),
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


def _tables(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.report.ablation_points import ablation_points, to_json
    from rita_demo.evaluation.report.render import render
    from rita_demo.evaluation.report.results import result_rows

    if args.form == "points":
        print(to_json(ablation_points(args.runs)), end="")
    else:
        print(render(result_rows(args.runs), args.form), end="")
    return 0
