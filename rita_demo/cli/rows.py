"""The command ``rows``: every stored answer, for people and other programs."""

import argparse
import json
import sys
from pathlib import Path

from rita_demo.cli.terminal import Commands, add_command


def add_rows(commands: Commands) -> None:
    parser = add_command(
        commands,
        "rows",
        _rows,
        "every stored answer as CSV or JSON lines",
        "rows runs/dtd",
        "rows runs/dtd runs/caltech101 --jsonl",
        description="Every answer that evaluate stored, a line each: the columns of load_runs up to seconds_method, then "
        "content and place.",
    )
    help = "folders that evaluate wrote to, or folders of such folders"
    parser.add_argument("runs", nargs="+", metavar="RUNS", type=Path, help=help)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values (default)")
    form.add_argument("--jsonl", action="store_true", help="a JSON object per line")


def _rows(args: argparse.Namespace) -> int:
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
