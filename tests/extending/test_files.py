"""docs/extending.md to the letter: "A defence", "An attack", "A setting" and "Your defence, judged". One file is enough, in the
folder or on the command line."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from rita_demo.cli.main import build_parser
from tests.extending.page import code_blocks, copy_package, output_with, picture

pytestmark = pytest.mark.slow


def draw_dataset(folder: Path) -> None:
    for name in ("cup", "crab"):
        picture(folder, f"data/toys/{name}/1.png")


def test_the_commands_of_its_row_measure_it_against_an_attacker_who_knows_it(folder: Path, rita) -> None:
    (folder / "median.py").write_text(code_blocks("A defence")[0])
    draw_dataset(folder)
    evaluate, tables = code_blocks("A defence")[1].replace("\\\n", "").strip().splitlines()
    quick = ["--set", "views=4", "--set", "adaptive.steps=2", "--set", "attack_views=2"]
    here = {"DATA": "data", "dtd": "toys", "test": "all", "RUNS": "runs", "20": "2"}
    for line, more in ((evaluate, quick), (tables, [])):
        done = rita(*[here.get(word, word) for word in line.split()[3:]], *more)
        assert done.status == 0, done.err
    assert done.out.count("| Median |") == 5, "one row in the overview, one for every attack"
    assert "The attacker knows median" in done.out or "The attacker knows Median" in done.out


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


def test_files_in_the_folders_are_in_help_and_menus(folder: Path) -> None:
    package = copy_package(folder)
    (package / "defences" / "median.py").write_text(code_blocks("A defence")[0])
    (package / "attacks" / "normalised.py").write_text(code_blocks("An attack")[0])
    code = """
import sys
from rita_demo.cli.main import main
assert main(["evaluate", "--help"]) == 0
assert "torch" not in sys.modules
from rita_demo.ui.widgets.setting_controls import attack_choices
assert ("Many steps, not only signs", "normalised") in attack_choices()
from rita_demo.ui.framework.form import Form
import gradio as gr
with gr.Blocks():
    assert ("Median", "median") in Form(None).fields["methods"].choices
"""
    printed = " ".join(output_with(package / "defences" / "median.py", code).split())
    assert re.search(r"rita_untuned,( [a-z_]+,)* median", printed)
    assert re.search(r"adaptive,( [a-z_]+,)* normalised", printed)


def test_a_setting_of_one_defence_is_in_its_file(folder: Path, rita) -> None:
    (folder / "median.py").write_text(code_blocks("A setting")[0])
    picture(folder)
    margins = []
    for value in ("1", "2"):
        words = ["--classes", "cup,crab", "--attack", "none", "--set", "views=4"]
        words += ["--methods", "clip", "--json", "r.json"]
        words += ["--defence", "median.py:DEFENCE", "--set", f"median.sharpness={value}"]
        done = rita("explain", "photo.png", *words)
        assert (done.status, done.err) == (0, "")
        answers = json.loads((folder / "r.json").read_text("utf-8"))
        assert answers["settings"].get("median.sharpness", 1.0) == float(value)
        margins.append(answers["clean"]["methods"]["median"]["margin"])
    assert margins[0] < margins[1]
    done = rita("explain", "photo.png", *words, "--set", "median.sharpness=0")
    assert done.status == 2
    assert "median.sharpness is a number from 0.1 to 10; got '0'." in done.err


@pytest.mark.nightly
def test_a_setting_of_several_parts_is_one_field_and_rows_of_before_have_its_default(folder: Path, rita) -> None:
    draw_dataset(folder)
    words = ["evaluate", "--data-root", "data", "--dataset", "toys", "--split", "all", "--methods", "clip,rita"]
    words += ["--attack", "pgd", "--budget", "4", "--steps", "1", "--set", "views=4", "--out", "runs"]
    assert rita(*words).status == 0
    file = copy_package(folder) / "settings" / "__init__.py"
    head, end = "    # --- own settings of single defences and attacks\n", code_blocks("A setting")[1]
    file.write_text(file.read_text("utf-8").replace(head, end + head), encoding="utf-8")
    code = f"""
from rita_demo.cli.main import main
from rita_demo.settings import Settings, parse_assignment
from rita_demo.settings.__main__ import as_markdown
from rita_demo.ui.inside.method_settings import fields_html
from rita_demo.ui.session.session import Session
assert Settings(**dict([parse_assignment("view_margin=0.25")])).as_dict()["view_margin"] == 0.25
assert "| `view_margin` |  | 0 to 0.4 | `0.0` | same | Margin of a view." in as_markdown()
assert "max='0.4'" in fields_html((), Session())
assert main({words}) == 0
assert main({[*words[:-1], "new", "--set", "view_margin=0.1"]}) == 0
"""
    assert re.findall(r"(\d+) of them new", output_with(file, code)) == ["0", "8"]


TITLE = "Your defence, judged"


def test_the_file_is_short_and_its_commands_judge_it(folder: Path, tiny_model_dir: Path, rita) -> None:
    file, commands, _ = code_blocks(TITLE)
    assert sum(bool(line) for line in file.splitlines()) <= 12
    (folder / "mine.py").write_text(file)
    quick, whole = (shlex.split(line)[3:] for line in commands.strip().splitlines())
    assert build_parser().parse_args(whole).run
    small = ["--backbone", f"local-dir:{tiny_model_dir}", "--limit", "2", "--set", "views=4", "--set", "attack_views=2"]
    done = rita(*quick, *small)
    assert done.status == 0, done.err
    written = json.loads((folder / "mine/judge.json").read_text())
    assert written["verdict"] in done.out
    assert "mine/judge.html" in done.out
    assert (folder / "mine/judge.html").is_file()


@pytest.mark.nightly
def test_the_python_block_prints_the_verdict(folder: Path, output_of: Callable[[str], str]) -> None:
    """With the embedded model itself: nightly."""
    file, _, code = code_blocks(TITLE)
    (folder / "mine.py").write_text(file)
    assert output_of(code).startswith("Mine, at a quick look, which is no judgement: ")
