"""The command ``tables``."""

import argparse
from pathlib import Path

from rita_demo.cli.terminal import Commands, add_command, print_warning
from rita_demo.records.errors import SettingError
from rita_demo.settings import SETTINGS


def add_tables(commands: Commands) -> None:
    about = "Tables from what evaluate has stored. markdown and latex end with the paper's own tables, measured cells "
    about += "beside printed ones. In csv, n counts different pictures: the interval is theirs, the accuracy is the "
    about += "mean over all seeds."
    title, examples = "tables from what evaluate has stored", ("tables runs/dtd", "tables runs/dtd --format latex")
    add = add_command(commands, "tables", _tables, title, *examples, description=about).add_argument
    add(
        "runs", metavar="RUNS", type=Path, nargs="+", help="folders that evaluate wrote to, or a folder of such folders"
    )
    help = "the memories in markdown and latex: off, reset, stream (default: off,stream)"
    add("--protocols", metavar="P[,P]", default="off,stream", help=help)
    help = "points: JSON with every setting that matters, as the page's ablations read it"
    add("--format", choices=("markdown", "csv", "latex", "points"), default="markdown", dest="form", help=help)


def _tables(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.pictures import split_note
    from rita_demo.evaluation.report.render import FORMATS
    from rita_demo.evaluation.report.results import ablation_points, result_rows, to_json
    from rita_demo.evaluation.request import listed
    from rita_demo.evaluation.store.failed import cell_folders, failure_lines, failures

    try:
        wanted = {SETTINGS["protocol"].parse(word) for word in listed(args.protocols)}
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    if args.form == "points":
        points = ablation_points(*args.runs)
        places = [(point.cell.dataset, point.cell.split) for point in points]
        print(to_json(points), end="")
    else:
        measured = result_rows(*args.runs)
        rows = [row for row in measured if args.form == "csv" or row.protocol in wanted] or measured
        if left := len(measured) - len(rows):
            also = ",".join(dict.fromkeys(row.protocol for row in measured))
            print_warning(f"{left} of {len(measured)} measured cells are not shown: --protocols {also} shows them.")
        places = [(row.dataset, row.split) for row in rows]
        print(FORMATS[args.form](rows), end="")
    if args.form in ("points", "csv"):  # the others have the sentence in the table
        for name, split in dict.fromkeys(places):
            print_warning(f"{name} ({split}): {note}" if (note := split_note(name, split)) else "")
    for line in failure_lines(failures(cell_folders(*args.runs))):
        print_warning(line)
    return 0
