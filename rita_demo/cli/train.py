"""The command ``train``."""

import argparse
from pathlib import Path
from typing import Any

from rita_demo.cli.terminal import add_command
from rita_demo.records.errors import DataError


def add_train(commands: Any) -> None:
    examples = ("train --data DIR --out DIR --minutes 60", "train --robust --data DIR --out DIR --minutes 75 --resume")
    add = add_command(commands, "train", _train, "make the embedded model", *examples).add_argument
    add("--data", metavar="DIR", type=Path, required=True, help="labelled pictures")
    add("--out", metavar="DIR", type=Path, required=True, help="where it is written")
    add("--minutes", metavar="M", type=float, required=True, help="how long")
    add("--resume", action="store_true", help="go on from the last checkpoint")
    add("--robust", action="store_true", help="fine-tune the embedded model's vision tower against attacks instead")


def _train(args: argparse.Namespace) -> int:
    if not args.data.is_dir():
        raise DataError(f"The data folder {args.data} does not exist.", "Say where the pictures are.")
    from rita_demo.training import train, train_robust

    (train_robust if args.robust else train)(data=args.data, out=args.out, minutes=args.minutes, resume=args.resume)
    return 0
