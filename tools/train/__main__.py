"""``python -m tools.train``: make the embedded model."""

import argparse
import sys
from pathlib import Path

from rita_demo.cli.terminal import Parser, run_command
from rita_demo.records.errors import DataError
from tools.train.loop import train
from tools.train.robust import train_robust


def build_parser() -> Parser:
    examples = "examples:\n  python -m tools.train --data DIR --out DIR --minutes 60"
    examples += "\n  python -m tools.train --robust --data DIR --out DIR --minutes 75 --resume"
    parser = Parser(prog="python -m tools.train", description="Make the embedded model.", epilog=examples)
    parser.set_defaults(run=make)
    add = parser.add_argument
    add("--data", metavar="DIR", type=Path, required=True, help="labelled pictures")
    add("--out", metavar="DIR", type=Path, required=True, help="where it is written")
    add("--minutes", metavar="M", type=float, required=True, help="how long")
    add("--resume", action="store_true", help="go on from the last checkpoint")
    add("--robust", action="store_true", help="fine-tune the embedded model's vision tower against attacks instead")
    return parser


def make(args: argparse.Namespace) -> int:
    if not args.data.is_dir():
        raise DataError(f"The data folder {args.data} does not exist.", "Say where the pictures are.")
    (train_robust if args.robust else train)(data=args.data, out=args.out, minutes=args.minutes, resume=args.resume)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(build_parser))
