"""The commands ``serve`` and ``open``: the page from a terminal, with the worked example or a saved run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.errors import DataError

if TYPE_CHECKING:
    from types import ModuleType


def add_serve(commands: Any, add_backbone: Callable[[Any], None]) -> None:
    """The commands and their options."""
    serve = commands.add_parser("serve", help="the page; the same as app.py")
    _add_address(serve)
    serve.add_argument("--data-root", metavar="DIR", type=Path, help="the folder of the datasets")
    add_backbone(serve)
    serve.set_defaults(run=_serve)
    again = commands.add_parser("open", help="the page with a run that was saved on it")
    again.add_argument(
        "file", metavar="FILE.zip", type=Path, help="what the button “Save this run” saved"
    )
    _add_address(again)
    add_backbone(again)
    again.set_defaults(run=_open)


def _add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default=None, help="address to listen on")
    parser.add_argument("--port", type=port, default=None, help="port to listen on")


def port(text: str) -> int:
    """A port that can be listened on; argparse turns the ValueError into its own sentence."""
    number = int(text)
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"a port is 1 to 65535; got {number}")
    return number


def _serve(args: argparse.Namespace) -> int:
    return page(host=args.host, port=args.port, backbone=args.backbone, data_root=args.data_root)


def _open(args: argparse.Namespace) -> int:
    from rita_demo.bundle import read_file

    run = read_file(args.file)  # a bad file is told before the model takes its seconds to load
    return page(host=args.host, port=args.port, backbone=args.backbone, run=run)


def page(**given: Any) -> int:
    """``app.serve`` with the options that were given; returns the exit status."""
    return app().serve(**{name: value for name, value in given.items() if value is not None})


def app() -> ModuleType:
    """``app.py`` beside the package, wherever the command was typed."""
    import importlib.util

    path = Path(__file__).resolve().parent.parent / "app.py"
    spec = importlib.util.spec_from_file_location("rita_app", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DataError(
            "app.py is missing beside the package.", "Run from a full copy of the project."
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
