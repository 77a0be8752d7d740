"""Options that several commands share."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.pipeline.run_request import read_settings
from rita_demo.process import environment
from rita_demo.records.errors import SettingError, refuse_gone
from rita_demo.records.json_value import JsonValue
from rita_demo.scripting.own import defence_names
from rita_demo.settings import PRESETS, SETTINGS


def add_picture(parser: argparse.ArgumentParser) -> None:
    """The picture, its class names and its true class."""
    parser.add_argument("image", metavar="IMAGE", help="a PNG, JPEG, WebP, GIF, BMP, TIFF or AVIF file")
    words = parser.add_mutually_exclusive_group(required=True)
    help = 'class names, separated by commas; one with a comma in "quotes"'
    words.add_argument("--classes", metavar="a,b,c", help=help)
    words.add_argument("--vocabulary", choices=list(VOCABULARIES), help="a ready list of classes")
    parser.add_argument("--label", help="the true class (default: CLIP's own answer)")


def add_backbone(parser: argparse.ArgumentParser) -> None:
    help = "embedded, ARCH:TAG of open_clip, or ARCH:checkpoint; +VISION.pt behind it puts a robust vision tower into that "
    help += "model (default: RITA_BACKBONE, else embedded)"
    parser.add_argument("--backbone", default=environment.value("RITA_BACKBONE"), type=backbone, help=help)


def backbone(text: str) -> str:
    """A model's name; the paper's own names of models are replaced."""
    from rita_demo.data.paper_results import BACKBONES

    return BACKBONES.get(text, text)


def add_defence(parser: argparse.ArgumentParser) -> None:
    """The option with which an own defence was loaded before ``--methods`` took it; it works and is not shown."""
    parser.add_argument("--defence", action="append", type=defence_names, help=argparse.SUPPRESS)


def add_settings_file(parser: argparse.ArgumentParser) -> None:
    help = "start from the settings of a saved run (its settings.json), of explain --json, or of an object of "
    help += "settings; over the preset, under every other option"
    parser.add_argument("--settings", metavar="FILE.json", type=Path, help=help)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The options with which every setting can be changed."""
    help = "where all settings start; paper: with the exceptions of EuroSAT, ImageNet-A, -R and -Sketch, and C-TPT's "
    help += "weight 20 on ImageNet and its variants, as its authors have it"
    parser.add_argument("--preset", choices=list(PRESETS), type=preset_name, default="recommended", help=help)
    add_settings_file(parser)
    help = "any other setting; may be repeated, and wins over every other option"
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], dest="assignments", help=help)


def saved_settings(args: argparse.Namespace) -> dict[str, JsonValue]:
    """The settings of ``--settings``; read after own code is loaded, whose own settings may be among them."""
    return {} if args.settings is None else read_settings(args.settings)


def option_type(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """The type of an option: where ``parse`` raises a SettingError, the command line is wrong."""

    def checked(text: str) -> Any:
        try:
            return parse(text)
        except SettingError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


@option_type
def strength(text: str) -> int:
    """A strength in 1/255, 4 or 4/255, from 1 on."""
    return replace(SETTINGS["budget"], name="a strength", low=1).parse(text)


@option_type
def preset_name(text: str) -> str:
    """A preset's name; a former one is refused."""
    refuse_gone(f"preset {text}")
    return text


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """The type of an option that is a whole number in a range."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= (int(text) if high is None else high):
            bounds = f"from {low}" if high is None else f"from {low} to {high}"
            raise argparse.ArgumentTypeError(f"a whole number {bounds}; got {text[:40]!r}")
        return int(text)

    return parse
