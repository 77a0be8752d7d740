"""docs/extending.md, "A defence", to the letter: one file is enough, in the folder or on the command line."""

import json
from pathlib import Path

import pytest

from rita_demo import Engine
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import add_plugin, compared
from rita_demo.evaluation.frames import read
from rita_demo.pipeline.arena import arena_steps
from rita_demo.pipeline.export import arena_rows
from rita_demo.pipeline.run import run_picture
from rita_demo.process.generators import run_to_end
from rita_demo.settings import RECOMMENDED
from tests.extending.page import code_blocks, copy_package, output_with, picture

pytestmark = pytest.mark.slow


def draw_dataset(folder: Path) -> None:
    for name in ("cup", "crab"):
        picture(folder, f"data/toys/{name}/1.png")


def test_a_file_named_on_the_command_line_answers(folder: Path, rita) -> None:
    (folder / "median.py").write_text(code_blocks("A defence")[0])
    picture(folder)
    words = ["--set", "views=4", "--attack", "fgsm", "--methods", "clip,median.py:DEFENCE"]
    done = rita("explain", "photo.png", "--classes", "cup,crab", "--json", "r.json", *words)
    assert (done.status, done.err) == (0, "")
    assert "\nMedian " in done.out
    assert "Median is a defence from the file median.py; the attacker does not know it." in done.out
    answers = json.loads((folder / "r.json").read_text("utf-8"))
    assert set(answers["attacked"]["methods"]) == {"clip", "ensemble", "rita", "median"}
    known = ["--attack", "adaptive:median", "--set", "adaptive.steps=2", "--set", "attack_views=2"]
    done = rita("explain", "photo.png", "--classes", "cup,crab", *words, *known)
    assert "The attacker knows Median. Its gradient is automatic." in done.out


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
    assert "Median is a defence from the file median.py; the attacker does not know it." in done.out
    assert "The attacker knows median" in done.out or "The attacker knows Median" in done.out


def test_it_is_a_row_of_the_arena(folder: Path) -> None:
    (folder / "median.py").write_text(code_blocks("A defence")[0])
    add_plugin("median.py:DEFENCE")
    assert compared()[-1] == "median"
    short = {"adaptive.steps": 2, "adaptive.restarts": 1, "attack_views": 2, "views": 4, "steps": 2}
    engine, square = Engine(), SAMPLES["coffee"].load(square="model", side=128)
    run = run_picture(engine, square, ("cup", "crab"), RECOMMENDED.replace(**short), label=0)
    rows = {row["attacker"]: row for row in arena_rows(run_to_end(arena_steps([engine], run, ["median"])))}
    assert all(rows[name]["answer"] for name in ("none", "pgd", "transfer", "adaptive")), rows
    assert "The attacker knows Median. Its gradient is automatic." in rows["adaptive"]["threat_model"]


def test_an_error_in_the_file_stops_no_other_method(folder: Path, rita) -> None:
    broken = code_blocks("A defence")[0].replace("return verdict_of(", "return verdict_of(1 / 0 * ")
    (folder / "median.py").write_text(broken)
    draw_dataset(folder)
    words = ["--set", "views=4", "--attack", "none", "--budget", "0", "--protocols", "off", "--split", "all"]
    words += ["--data-root", "data", "--dataset", "toys", "--methods", "median.py:DEFENCE,clip", "--out", "runs"]
    done = rita("evaluate", *words)
    assert done.status == 1
    assert done.err.splitlines()[-2].endswith("median.py, line 9: ZeroDivisionError: division by zero")
    assert read(folder / "runs").query("fault.isna()").method.tolist() == ["clip", "clip"]


def test_a_file_in_the_folder_is_in_help_the_page_and_the_threat_model(folder: Path) -> None:
    file = copy_package(folder) / "defences" / "median.py"
    file.write_text(code_blocks("A defence")[0])
    code = """
import sys
from rita_demo.cli.main import main
assert main(["evaluate", "--help"]) == 0
assert "torch" not in sys.modules
from rita_demo.ui.framework.form import Form
import gradio as gr
with gr.Blocks():
    assert ("Median", "median") in Form(None).fields["methods"].choices
from rita_demo.figures import run_times
from rita_demo.records.measurement import RunTime
assert "Median: views 1.0 s" in run_times([RunTime("median", 1.0, 1.0, 1)], "").to_json()
"""
    assert "rita_untuned, median" in " ".join(output_with(file, code).split())
