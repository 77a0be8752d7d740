"""The command ``tables``."""

import argparse
from pathlib import Path

from rita_demo.cli.terminal import Commands, add_command, print_warning


def add_tables(commands: Commands) -> None:
    about = "Tables from what evaluate has stored. markdown and latex end with the paper's own tables, measured cells "
    about += "beside printed ones. In csv, n counts different pictures: the interval is theirs, the accuracy is the "
    about += "mean over all seeds."
    title, examples = "tables from what evaluate has stored", ("tables runs/dtd", "tables runs/dtd --format latex")
    add = add_command(commands, "tables", _tables, title, *examples, description=about).add_argument
    add(
        "runs", metavar="RUNS", type=Path, nargs="+", help="folders that evaluate wrote to, or a folder of such folders"
    )
    help = "points: JSON with every setting that matters, as the page's ablations read it"
    add("--format", choices=("markdown", "csv", "latex", "points"), default="markdown", dest="form", help=help)


def _tables(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.pictures import split_note
    from rita_demo.evaluation.report.render import FORMATS
    from rita_demo.evaluation.report.results import ablation_points, result_rows, to_json
    from rita_demo.evaluation.store.failed import cell_folders, failure_lines, failures

    if args.form == "points":
        points = ablation_points(*args.runs)
        places = [(point.cell.dataset, point.cell.split) for point in points]
        print(to_json(points), end="")
    else:
        rows = result_rows(*args.runs)
        places = [(row.dataset, row.split) for row in rows]
        print(FORMATS[args.form](rows), end="")
    if args.form in ("points", "csv"):  # the others have the sentence in the table
        for name, split in dict.fromkeys(places):
            print_warning(f"{name} ({split}): {note}" if (note := split_note(name, split)) else "")
    for line in failure_lines(failures(cell_folders(*args.runs))):
        print_warning(line)
    return 0
