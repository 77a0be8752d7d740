"""The commands that read what ``evaluate`` has stored: ``rows``, ``tables``, ``compare``."""

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rita_demo.cli.options import whole_number
from rita_demo.cli.terminal import Commands, add_command, check_writable, print_warning, program, usage_errors
from rita_demo.process.output_file import write_output
from rita_demo.records.errors import refuse_gone
from rita_demo.records.spreadsheet import align_columns
from rita_demo.scripting.own import attack_names, defence_names
from rita_demo.settings import SETTINGS


def add_rows(commands: Commands) -> None:
    about = "Every answer that evaluate stored, a line each: the columns of load_runs up to seconds_method, then content and "
    about += "place. With --memory instead what RITA's memory holds after a stream."
    examples = "rows runs/dtd", "rows runs/dtd runs/caltech101 --jsonl", "rows runs/dtd --memory memory.zip"
    parser = add_command(commands, _rows, "every stored answer as CSV or JSON lines", *examples, about=about)
    help = "folders that evaluate wrote to, or folders of such folders"
    parser.add_argument("runs", nargs="+", metavar="RUNS", type=Path, help=help)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values (default)")
    form.add_argument("--jsonl", action="store_true", help="a JSON object per line")
    help = "write the memory after a stream as a file: explain and evaluate --memory FILE begin with it"
    form.add_argument("--memory", metavar="FILE", type=Path, help=help)
    help = "its number, where the folders hold several (the message lists them)"
    parser.add_argument("--stream", metavar="NUMBER", type=whole_number(1), help=help)


def _rows(args: argparse.Namespace) -> int:
    if args.memory is not None:
        from rita_demo.scripting.memory import save_memory

        check_writable(args.memory)
        title = save_memory(args.memory, *args.runs, stream=args.stream)
        file = shlex.quote(str(args.memory))
        print(f"The memory after {title} is in {args.memory}. Next: {program()} evaluate --memory {file} ...")
        return 0
    if args.stream is not None:
        args.usage_error("--stream chooses the stream of --memory FILE.")
    from rita_demo.evaluation.frames import read
    from rita_demo.evaluation.rows import COLUMNS

    frame = read(*args.runs)
    frame = frame[frame["fault"].isna()][[*COLUMNS, "content", "place"]].astype({"right": bool})
    if args.jsonl:
        for line in frame.astype(object).where(frame.notna(), None).to_dict("records"):
            print(json.dumps(line, ensure_ascii=False))
    else:
        frame.to_csv(sys.stdout, index=False, lineterminator="\n")
    return 0


def add_tables(commands: Commands) -> None:
    about = "Tables from what evaluate has stored. In csv, n counts different pictures: the interval is theirs, the "
    about += "accuracy is the mean over all seeds. --paper prints one table: methods x (dataset, attack)."
    examples = "tables runs/dtd", "tables runs --paper --methods clip,rita --protocol stream --format latex"
    add = add_command(commands, _tables, "tables from what evaluate has stored", *examples, about=about).add_argument
    help = "folders that evaluate wrote to, or a folder of such folders"
    add("runs", metavar="RUNS", type=Path, nargs="+", help=help)
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

    with usage_errors(args):
        wanted = [SETTINGS["protocol"].parse(word) for word in listed(args.protocols)]
    paper = args.paper or args.form == "latex"
    if args.paper and args.form == "points":
        args.usage_error("--paper is written as markdown, latex or csv.")
    if not paper and (args.methods or args.attacks):
        args.usage_error("--methods and --attacks choose the rows and columns of --paper.")
    rows, measured = frames.read(*args.runs), frames.measurements(*args.runs)
    table = cells.summarise(rows, measured)
    if paper:
        with usage_errors(args):
            table = paper_table.select(table, listed(args.methods), listed(args.attacks), wanted)
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
        chosen = table[table["protocol"].isin(wanted)]
        chosen = table if chosen.empty else chosen
        if left := len(table) - len(chosen):
            also = ",".join(dict.fromkeys(table["protocol"]))
            print_warning(f"{left} of {len(table)} measured cells are not shown: --protocols {also} shows them.")
        print(tables.as_markdown(chosen), end="")
    if args.form in ("points", "csv"):  # the others have the sentence in the table
        for name, split in table[["dataset", "split"]].drop_duplicates().itertuples(index=False):
            print_warning(f"{name} ({split}): {note}" if (note := split_note(name, split)) else "")
    for line in cells.failure_lines(rows, measured):
        print_warning(line)
    return 0


COLUMNS = ("method", "attack", "budget", "steps", "protocol", "dataset", "split", "backbone", "settings")
#: Columns whose value may be own code, as everywhere: FILE.py:NAME stands for its name.
OWN_NAMES: dict[str, Callable[[str], list[str]]] = {"method": defence_names, "attack": attack_names}
MAX_SHOWN = 40  # rows in the terminal; a file has all


def add_compare(commands: Commands) -> None:
    about = "The pictures that the first run has right and the second has not, whatever each was attacked by; "
    about += "McNemar's exact test over all pictures of both. A column names one value of both runs, or two with a comma between "
    about += "them; what is left open in the second run is as in the first, where that was measured."
    examples = ["compare runs/dtd --method rita,clip --attack pgd --budget 4 --protocol stream,off"]
    examples += ["compare runs/before runs/after --method rita --csv won.csv"]
    help = "the pictures that one run has right and another has not"
    add = add_command(commands, _compare, help, *examples, about=about).add_argument
    add("first", metavar="FIRST", type=Path, help="a folder that evaluate wrote to")
    add("second", metavar="SECOND", type=Path, nargs="?", help="another one (default: the same)")
    for name in COLUMNS:
        more = {"settings": " (of tables)", "attack": "; may be repeated"}.get(name, "")
        help, metavar = f"the {name} of the runs{more}", f"{name[0].upper()}[,{name[0].upper()}]"
        add(f"--{name}", metavar=metavar, action="append" if name == "attack" else "store", help=help)
    add("--out", help=argparse.SUPPRESS)  # gone
    add("--csv", metavar="F", type=Path, help="write all rows here: evaluate --pictures F measures these pictures")


def _compare(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.report.only_right import compare_folders, won_csv

    refuse_gone("out of compare" if args.out else "")
    check_writable(args.csv)
    args.attack = args.attack and ",".join(dict.fromkeys(args.attack))
    columns: dict[str, Any] = {name: _pair(name, getattr(args, name)) for name in COLUMNS if getattr(args, name)}
    comparison = compare_folders(args.first, args.second, columns)
    rows = list(comparison.won.itertuples(index=False, name=None))
    if rows:
        texts = [list(map(_text, row)) for row in rows[:MAX_SHOWN]]
        print("\n".join(align_columns([list(comparison.won), *texts])))
    if len(rows) > MAX_SHOWN:
        print(f"and {len(rows) - MAX_SHOWN} more; --csv writes all.")
    print(comparison.sentence)
    if args.csv:
        write_output(args.csv, won_csv(comparison))
        print(f"The pictures are in {args.csv}. Next: {program()} evaluate --pictures {shlex.quote(str(args.csv))} ...")
    return 0


def _pair(column: str, text: str) -> str | tuple[str, ...]:
    names = OWN_NAMES.get(column)
    words = (word.strip() for word in text.split(","))
    values = tuple(names(word)[0] if names and word else word for word in words)
    return values if len(values) > 1 else values[0]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
