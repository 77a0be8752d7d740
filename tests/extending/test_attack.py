"""docs/extending.md, "An attack", to the letter: one file is enough, in the folder or on the command line."""

import json
from pathlib import Path

import pytest

from tests.extending.page import code_blocks, copy_package, output_with, picture

pytestmark = pytest.mark.slow


def test_a_file_named_on_the_command_line_is_an_attack(folder: Path, rita) -> None:
    (folder / "normalised.py").write_text(code_blocks("An attack")[0])
    picture(folder)
    words = ["--classes", "cup,crab,camera", "--steps", "2", "--set", "views=4", "--json", "r.json"]
    done = rita("explain", "photo.png", *words, "--attack", "normalised.py:ATTACK")
    assert (done.status, done.err) == (0, "")
    assert "Many steps, not only signs: Small steps in which every pixel value" in done.out
    answers = json.loads((folder / "r.json").read_text("utf-8"))
    assert answers["settings"]["attack"] == "normalised"
    assert 0 < answers["attacked"]["linf"] <= 4
    (folder / "normalised.py").write_text(code_blocks("An attack")[0].replace("0.25", "0.25, colour=1"))
    done = rita("explain", "photo.png", *words, "--attack", "normalised.py:ATTACK")
    assert done.status == 1
    assert done.err.startswith("normalised.py, line 12: TypeError: ")
    assert done.err.count("\n") == 1


def test_a_file_in_the_folder_is_in_menus_tables_and_help(folder: Path) -> None:
    file = copy_package(folder) / "attacks" / "normalised.py"
    file.write_text(code_blocks("An attack")[0])
    code = """
import sys
from rita_demo.cli.main import main
assert main(["evaluate", "--help"]) == 0
assert "torch" not in sys.modules
from rita_demo.ui.widgets.setting_controls import attack_choices
assert attack_choices()[-1] == ("Many steps, not only signs", "normalised")
"""
    assert "eot, adaptive, normalised" in " ".join(output_with(file, code).split())
