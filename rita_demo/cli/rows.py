"""The command ``rows``: every stored answer, for people and other programs."""

import argparse
import json
import shlex
import sys
from pathlib import Path

from rita_demo.cli.options import whole_number
from rita_demo.cli.terminal import Commands, add_command, check_writable, program


def add_rows(commands: Commands) -> None:
    parser = add_command(
        commands,
        "rows",
        _rows,
        "every stored answer as CSV or JSON lines",
        "rows runs/dtd",
        "rows runs/dtd runs/caltech101 --jsonl",
        "rows runs/dtd --memory memory.zip",
        description="Every answer that evaluate stored, a line each: the columns of load_runs up to seconds_method, then "
        "content and place. With --memory instead what RITA's memory holds after a stream.",
    )
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
