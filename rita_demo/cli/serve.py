"""The commands ``serve`` and ``open``: the page from a terminal, with the worked example or a saved run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.attacks.registry import get_attack
from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, add_command, usage_errors
from rita_demo.defences.registry import validated
from rita_demo.process.assets import HOME
from rita_demo.records.errors import DataError
from rita_demo.scripting.own import attack_names, defence_names
from rita_demo.settings import RECOMMENDED

if TYPE_CHECKING:
    from types import ModuleType


def add_serve(commands: Commands) -> None:
    examples = ("serve", "serve --port 8000 --data-root DIR", "serve --settings result.json")
    parser = add_command(commands, _serve, "the page; the same as app.py", *examples)
    _add_page(parser)
    parser.add_argument("--data-root", metavar="DIR", type=Path, help="the folder of the datasets")
    help = "an attack of your own, beside the others in the page's list; may be repeated"
    parser.add_argument("--attack", metavar="FILE.py:NAME[,...]", action="append", default=[], help=help)
    options.add_settings_file(parser)


def add_open(commands: Commands) -> None:
    examples = ("open rita-run.zip", "open rita-run.zip --port 8000")
    parser = add_command(commands, _open, "the page with a run that was saved on it", *examples)
    parser.add_argument("file", metavar="FILE.zip", type=Path, help="what the button “Save this run” saved")
    _add_page(parser)


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on")
    parser.add_argument("--port", type=options.whole_number(1, 65535), help="port to listen on")
    options.add_backbone(parser)
    help = "a method of your own, beside the others on the page"
    parser.add_argument("--methods", metavar="FILE.py:NAME[,...]", default="", help=help)
    options.add_defence(parser)


def _load_own(args: argparse.Namespace, attacks: str = "") -> None:
    """Load own code for the page; a name is of one that is there anyway. Prints and exits with 2: it is not there."""
    with usage_errors(args):
        validated(defence_names(args.methods))
        for name in attack_names(attacks):
            get_attack(name)


def _serve(args: argparse.Namespace) -> int:
    _load_own(args, ",".join(args.attack))
    saved = options.saved_settings(args)
    settings = RECOMMENDED.replace(**saved) if saved else None
    same = {name: getattr(args, name) for name in ("host", "port", "backbone", "data_root")}
    return serve_page(**same, settings=settings)


def _open(args: argparse.Namespace) -> int:
    from rita_demo.pipeline.bundle_read import read_file

    _load_own(args)
    run = read_file(args.file)  # a bad file is reported before the model takes its seconds to load
    return serve_page(host=args.host, port=args.port, backbone=args.backbone, run=run)


def serve_page(**options: Any) -> int:
    """``app.serve`` with the options that were given; returns the exit status."""
    return load_app().serve(**{name: value for name, value in options.items() if value is not None})


def load_app() -> ModuleType:
    """``app.py`` beside the package, from any working directory."""
    import importlib.util

    path = HOME / "app.py"
    spec = importlib.util.spec_from_file_location("rita_app", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise DataError("app.py is missing beside the package.", "Run from a full copy of the project.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
