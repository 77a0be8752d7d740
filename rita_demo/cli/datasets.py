"""The command ``datasets``."""

import argparse
from pathlib import Path
from typing import Any

from rita_demo.cli import text_tables
from rita_demo.cli.options import data_root
from rita_demo.cli.terminal import example_epilog


def add_datasets(commands: Any) -> None:
    parser = commands.add_parser(
        "datasets",
        help="the datasets that are here, and what is missing",
        epilog=example_epilog("datasets", "datasets --data-root DIR"),
    )
    parser.add_argument(
        "--data-root",
        metavar="DIR",
        type=Path,
        help="the folder that holds them (default: RITA_DATA, else ./data where it exists)",
    )
    parser.set_defaults(run=_datasets)


def _datasets(args: argparse.Namespace) -> int:
    from rita_demo.data.datasets import dataset_status

    root = data_root(args.data_root)
    print(text_tables.datasets_table(dataset_status(root), root))
    return 0
