"""The code blocks of docs/extending.md and docs/python.md, and the copy of the package that they are added to."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from rita_demo.data.pictures import png_bytes

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "docs" / "extending.md", ROOT / "docs" / "python.md"


def code_blocks(heading: str) -> list[str]:
    """The fenced code blocks below ``## heading``, in order; at least one."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCUMENTS)
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert section, f"no section {heading!r}"
    blocks = re.findall(r"^```\w*\n(.*?)^```", section[1], re.M | re.S)
    assert blocks, f"the section {heading!r} has no code block"
    return blocks


def output_with(file: Path, code: str) -> str:
    """What the code prints in a fresh process that imports the copy of the package with this file of it."""
    folder = file.parents[2]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def copy_package(folder: Path) -> Path:
    """A copy of the package in the folder, to add files to."""
    shutil.copytree(ROOT / "rita_demo", folder / "rita_demo")  # with what is compiled
    for name in ("assets", "tests"):  # the tests' second implementations, for scripts that run there
        (folder / name).symlink_to(ROOT / name)
    return folder / "rita_demo"


def picture(folder: Path, name: str = "photo.png") -> Path:
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(png_bytes(pixels))
    return folder / name
