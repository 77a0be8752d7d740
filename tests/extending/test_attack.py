"""docs/extending.md, "An attack", to the letter: one file is enough, in the folder or on the command line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rita_demo.data.pictures import png_bytes
from tests.extending.page import code_blocks

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def rita(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rita_demo", *words]
    return subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )


def test_a_file_named_on_the_command_line_is_an_attack(tmp_path: Path) -> None:
    (tmp_path / "normalised.py").write_text(code_blocks("An attack")[0])
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    (tmp_path / "photo.png").write_bytes(png_bytes(pixels))
    words = ["--classes", "cup,crab,camera", "--steps", "2", "--set", "views=4", "--json", "r.json"]
    done = rita(tmp_path, "explain", "photo.png", *words, "--attack", "normalised.py:ATTACK")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Many steps, not only signs: Small steps in which every pixel value" in done.stdout
    answers = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert answers["settings"]["attack"] == "normalised"
    assert 0 < answers["attacked"]["linf"] <= 4
    (tmp_path / "normalised.py").write_text(code_blocks("An attack")[0].replace("0.25", "0.25, colour=1"))
    done = rita(tmp_path, "explain", "photo.png", *words, "--attack", "normalised.py:ATTACK")
    assert done.returncode == 1
    assert done.stderr.startswith("normalised.py, line 12: TypeError: ")
    assert done.stderr.count("\n") == 1


def test_a_file_in_the_folder_is_in_menus_tables_and_help(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "rita_demo", tmp_path / "rita_demo", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    (tmp_path / "rita_demo" / "attacks" / "normalised.py").write_text(code_blocks("An attack")[0])
    code = """
import sys
from rita_demo.cli.main import main
assert main(["evaluate", "--help"]) == 0
assert "torch" not in sys.modules
from rita_demo.ui.widgets.setting_controls import ATTACK_CHOICES
assert ATTACK_CHOICES[-1] == ("Many steps, not only signs", "normalised")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "eot, defence, adaptive, normalised" in " ".join(done.stdout.split())
