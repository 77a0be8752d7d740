"""Options that several commands share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rita_demo.attacks.registry import add_guest
from rita_demo.defences import registry
from rita_demo.process import environment
from rita_demo.process.guest_file import is_guest


def add_backbone(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backbone",
        default=environment.value("RITA_BACKBONE"),
        type=backbone,
        help="embedded, ARCH:TAG of open_clip, or ARCH:checkpoint; +VISION.pt behind it puts a robust vision tower "
        "into that model (default: RITA_BACKBONE, else embedded)",
    )


def backbone(text: str) -> str:
    """A model's name; the paper's own names of models are replaced."""
    from rita_demo.data.paper_results import BACKBONES

    return BACKBONES.get(text, text)


def guest_attack(text: str) -> str:
    """The name of the attack ``FILE.py:NAME``, which is loaded. Raises GuestError: the file or the attack cannot be
    used."""
    return add_guest(text).name


def attack(text: str) -> str:
    """The name of an attack; ``FILE.py:NAME`` as :func:`guest_attack`."""
    return guest_attack(text) if is_guest(text) else text


def add_defence(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--defence",
        metavar="FILE.py:NAME",
        action="append",
        type=guest_defence,
        help="a defence of your own; may be repeated",
    )


def guest_defence(text: str) -> str:
    """The name of the defence ``FILE.py:NAME``, which is loaded. Raises GuestError: the file or the defence cannot be
    used."""
    return registry.add_guest(text).name


def load_installed_defences() -> None:
    """Load the defences of installed packages; what is wrong with one goes to stderr."""
    for fault in registry.add_entry_points():
        print(fault, file=sys.stderr)


def data_root(given: Path | None) -> Path | None:
    """The folder that holds the datasets: the one given, else ``RITA_DATA``, else ./data where it exists."""
    if given is not None:
        return given
    named: Path = environment.value("RITA_DATA")
    unset = named == environment.VARIABLES["RITA_DATA"].default_value
    return None if unset and not named.is_dir() else named
