"""The Chromium that prints figures, and that ``bench`` and the tests drive: the one that is installed."""

import shutil
from pathlib import Path

from rita_demo.process import environment

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
#: No network, no graphics card, no sandbox, no first run.
_FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync"""
FLAGS = tuple(_FLAGS.split())


def find_chromium() -> str | None:
    """Path of a Chromium: ``RITA_BROWSER`` if that file exists, else the first installed one; None if there is none."""
    asked: str | None = environment.value("RITA_BROWSER")
    if asked:
        return asked if Path(asked).exists() else None
    return next(filter(None, map(shutil.which, NAMES)), None)
