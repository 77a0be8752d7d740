"""The command ``models``."""

import argparse
from typing import Any

from rita_demo.cli import text_tables
from rita_demo.cli.terminal import example_epilog


def add_models(commands: Any) -> None:
    parser = commands.add_parser(
        "models", help="the models that can be used here and now", epilog=example_epilog("models")
    )
    parser.set_defaults(run=_models)


def _models(args: argparse.Namespace) -> int:
    from rita_demo.vlm.backbone import pick_device
    from rita_demo.vlm.catalogue import model_status

    print(text_tables.models_table(model_status(), pick_device()))
    return 0
