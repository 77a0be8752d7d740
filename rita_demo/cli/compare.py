"""The command ``compare``: the pictures that one run has right and another has not."""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rita_demo.cli.terminal import Commands, add_command, check_writable, program
from rita_demo.process.output_file import write_output
from rita_demo.records.errors import refuse_gone
from rita_demo.records.spreadsheet import align_columns
from rita_demo.scripting.own import attack_names, defence_names

COLUMNS = ("method", "attack", "budget", "steps", "protocol", "dataset", "split", "backbone", "settings")
#: Columns whose value may be own code, as everywhere: FILE.py:NAME stands for its name.
OWN_NAMES: dict[str, Callable[[str], list[str]]] = {"method": defence_names, "attack": attack_names}
MAX_SHOWN = 40  # rows in the terminal; a file has all


def add_compare(commands: Commands) -> None:
    about = "The pictures that the first run has right and the second has not, whatever each was attacked by; "
    about += (
        "McNemar's exact test over all pictures of both. A column names one value of both runs, or two with a comma "
    )
    about += "between them; what is left open in the second run is as in the first, where that was measured."
    parser = add_command(
        commands,
        "compare",
        _compare,
        "the pictures that one run has right and another has not",
        "compare runs/dtd --method rita,clip --attack pgd --budget 4 --protocol stream,off",
        "compare runs/before runs/after --method rita --csv won.csv",
        description=about,
    )
    add = parser.add_argument
    add("first", metavar="FIRST", type=Path, help="a folder that evaluate wrote to")
    add("second", metavar="SECOND", type=Path, nargs="?", help="another one (default: the same)")
    for name in COLUMNS:
        metavar = f"{name[0].upper()}[,{name[0].upper()}]"
        more = {"settings": " (of tables)", "attack": "; may be repeated"}.get(name, "")
        add(
            f"--{name}",
            metavar=metavar,
            action="append" if name == "attack" else "store",
            help=f"the {name} of the runs{more}",
        )
    add("--out", help=argparse.SUPPRESS)  # gone
    add("--csv", metavar="F", type=Path, help="write all rows here: evaluate --pictures F measures these pictures")


def _compare(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.report.only_right import compare_folders, won_csv

    refuse_gone("out of compare" if args.out else "")
    check_writable(args.csv)
    args.attack = args.attack and ",".join(dict.fromkeys(args.attack))
    chosen: dict[str, Any] = {name: _pair(name, getattr(args, name)) for name in COLUMNS if getattr(args, name)}
    found = compare_folders(args.first, args.second, chosen)
    rows = list(found.won.itertuples(index=False, name=None))
    if rows:
        shown = [list(map(_text, row)) for row in rows[:MAX_SHOWN]]
        print("\n".join(align_columns([list(found.won), *shown])))
    if len(rows) > MAX_SHOWN:
        print(f"and {len(rows) - MAX_SHOWN} more; --csv writes all.")
    print(found.sentence)
    if args.csv:
        write_output(args.csv, won_csv(found))
        print(f"The pictures are in {args.csv}. Next: {program()} evaluate --pictures {shlex.quote(str(args.csv))} ...")
    return 0


def _pair(column: str, text: str) -> str | tuple[str, ...]:
    names = OWN_NAMES.get(column)
    words = (word.strip() for word in text.split(","))
    found = tuple(names(word)[0] if names and word else word for word in words)
    return found if len(found) > 1 else found[0]


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
