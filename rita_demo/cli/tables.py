"""The command ``tables``."""

import argparse
from pathlib import Path

from rita_demo.cli.terminal import Commands, add_command, print_warning
from rita_demo.records.errors import SettingError
from rita_demo.settings import SETTINGS


def add_tables(commands: Commands) -> None:
    about = "Tables from what evaluate has stored. In csv, n counts different pictures: the interval is theirs, the "
    about += "accuracy is the mean over all seeds. --paper prints one table: methods x (dataset, attack)."
    title = "tables from what evaluate has stored"
    examples = ("tables runs/dtd", "tables runs --paper --methods clip,rita --protocol stream --format latex")
    add = add_command(commands, "tables", _tables, title, *examples, description=about).add_argument
    add(
        "runs", metavar="RUNS", type=Path, nargs="+", help="folders that evaluate wrote to, or a folder of such folders"
    )
    help = "the memories in markdown and latex: off, reset, stream (default: off,stream)"
    add("--protocols", "--protocol", metavar="P[,P]", default="off,stream", help=help)
    help = "points: JSON with every setting that matters, as the page's ablations read it"
    add("--format", choices=("markdown", "csv", "latex", "points"), default="markdown", dest="form", help=help)
    help = "one table with intervals, the best of each column in bold, the threat models below it; latex is always this one"
    add("--paper", action="store_true", help=help)
    add("--methods", metavar="M[,M]", default="", help="the rows of --paper, in this order (default: all)")
    help = "the columns of --paper, as the other tables name them: pgd, adaptive:rita (default: all)"
    add("--attacks", metavar="A[,A]", default="", help=help)


def _tables(args: argparse.Namespace) -> int:
    from rita_demo.evaluation import frames
    from rita_demo.evaluation.pictures import split_note
    from rita_demo.evaluation.report import cells, paired, paper_table, tables
    from rita_demo.evaluation.request import listed

    try:
        wanted = [SETTINGS["protocol"].parse(word) for word in listed(args.protocols)]
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    paper = args.paper or args.form == "latex"
    if args.paper and args.form == "points":
        args.usage_error("--paper is written as markdown, latex or csv.")
    if not paper and (args.methods or args.attacks):
        args.usage_error("--methods and --attacks choose the rows and columns of --paper.")
    rows, measured = frames.read(*args.runs), frames.measurements(*args.runs)
    table = cells.summarise(rows, measured)
    if paper:
        try:
            table = paper_table.select(table, listed(args.methods), listed(args.attacks), wanted)
        except SettingError as error:
            args.usage_error(str(error))
        made = paper_table.PaperTable(table)
        print(paper_table.FORMATS[args.form](made), end="")
        if args.form == "csv":  # the others have the sentence below the table
            print_warning(made.not_shown)
    elif args.form == "points":
        print(cells.to_json(cells.points_of(table)), end="")
    elif args.form == "csv":
        print(cells.as_csv(table), end="")
    else:
        table = paired.against_references(table, rows)
        shown = table[table["protocol"].isin(wanted)]
        shown = table if shown.empty else shown
        if left := len(table) - len(shown):
            also = ",".join(dict.fromkeys(table["protocol"]))
            print_warning(f"{left} of {len(table)} measured cells are not shown: --protocols {also} shows them.")
        print(tables.as_markdown(shown), end="")
    if args.form in ("points", "csv"):  # the others have the sentence in the table
        for name, split in table[["dataset", "split"]].drop_duplicates().itertuples(index=False):
            print_warning(f"{name} ({split}): {note}" if (note := split_note(name, split)) else "")
    for line in cells.failure_lines(rows, measured):
        print_warning(line)
    return 0
