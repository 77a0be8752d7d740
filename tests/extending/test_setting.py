"""docs/extending.md, "A setting", to the letter: of one defence, and of several parts."""

import json
import re
from pathlib import Path

import pytest

from rita_demo import Engine
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.export import to_json, write_bundle
from rita_demo.pipeline.run import run_picture
from rita_demo.settings import RECOMMENDED
from tests.extending.page import code_blocks, copy_package, output_with, picture

pytestmark = pytest.mark.slow


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
    square = SAMPLES["coffee"].load(square="model", side=128)
    run = run_picture(Engine(), square, ("cup", "crab"), RECOMMENDED.replace(views=4, steps=1), label=0)
    (folder / "run.zip").write_bytes(write_bundle(run, "page"))
    (folder / "r.json").write_text(json.dumps(to_json(run)))
    for name in ("cup", "crab"):
        picture(folder, f"data/toys/{name}/1.png")
    words = ["evaluate", "--data-root", "data", "--dataset", "toys", "--split", "all", "--methods", "clip,rita"]
    words += ["--attack", "pgd", "--budget", "4", "--steps", "1", "--set", "views=4", "--out", "runs"]
    assert rita(*words).status == 0
    file = copy_package(folder) / "settings" / "__init__.py"
    head, end = "    # --- own settings of single defences and attacks\n", code_blocks("A setting")[1]
    file.write_text(file.read_text("utf-8").replace(head, end + head), encoding="utf-8")
    code = f"""
from pathlib import Path
from rita_demo.cli.main import main
from rita_demo import stored_views
from rita_demo.pipeline import bundle_read, example, run_request
from rita_demo.records.errors import DemoError
from rita_demo.settings import Settings, parse_assignment
from rita_demo.settings.__main__ import as_markdown
from rita_demo.ui.inside.method_settings import fields_html
from rita_demo.ui.session.session import Session
assert Settings(**dict([parse_assignment("view_margin=0.25")])).as_dict()["view_margin"] == 0.25
assert "| `view_margin` |  | 0 to 0.4 | `0.0` | same | Margin of a view." in as_markdown()
assert "max='0.4'" in fields_html((), Session())
try:
    bundle_read.read_file(Path("run.zip"))
except DemoError as error:
    assert "was made by an earlier version" in str(error)
else:
    raise AssertionError
assert "true_class" in stored_views("runs")  # read, not refused
assert "view_margin" not in run_request.read_settings(Path("r.json"))
assert example.stored()[1].settings.view_margin == 0.0
assert main({words}) == 0
assert main({[*words[:-1], "new", "--set", "view_margin=0.1"]}) == 0
"""
    assert re.findall(r"(\d+) of them new", output_with(file, code)) == ["0", "8"]
