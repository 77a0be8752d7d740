"""A defence from a user's own file: it answers like the others, and what is wrong with it is one sentence with a line."""

from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.cli.text_tables import run_table
from rita_demo.defences import registry
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.export import to_json
from rita_demo.pipeline.rerun import rescore
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.ui.run_panels import verdict_table
from tests.toy_model import ToyEngine

pytestmark = pytest.mark.usefixtures("no_plugins_afterwards")
NAMES = ("motorbike", "crab", "cup")
PICTURE = Picture(np.full((32, 32, 3), 90, np.uint8), "grey")
QUICK = RECOMMENDED.replace(views=8, steps=2, tuning_steps=0)
LINES = """\
from rita_demo.defences.contract import Defence, verdict_of
from rita_demo.settings.setting import Setting

def answer(inputs):
    p = (inputs.params["sharpness"] * inputs.views[0] @ inputs.template_features.T / inputs.temperature).softmax(-1)
    inputs.views.zero_()  # its own copy
    return verdict_of(p)

SETTINGS = (Setting("sharpness", "float", 1.0, "Sharpness", "A factor.", low=0.1, high=9.0),)
DEFENCE = Defence(name="mine", title="Mine", sentence="CLIP again.", answer=answer, settings=SETTINGS)
"""


def write(folder: Path, old: str = "", new: str = "") -> str:
    (folder / "mine.py").write_text(LINES.replace(old, new) if old else LINES)
    return f"{folder / 'mine.py'}:DEFENCE"


def run_with(spec: str):
    registry.add_plugin(spec)
    return run_picture(ToyEngine(), PICTURE, NAMES, QUICK, label=0)


def test_a_plugin_answers_like_the_defence_it_equals(tmp_path: Path) -> None:
    plain = run_picture(ToyEngine(), PICTURE, NAMES, QUICK, label=0)
    run = run_with(write(tmp_path))
    assert registry.add_plugin(f"{tmp_path / 'mine.py'}:DEFENCE") is DEFENCES["mine"]  # a second time: the same
    for side, before in ((run.clean, plain.clean), (run.attacked, plain.attacked)):
        assert np.array_equal(side.verdicts["mine"].probability, side.verdicts["clip"].probability)
        assert all(np.array_equal(side.verdicts[n].probability, v.probability) for n, v in before.verdicts.items())
    assert run.methods == ("clip", "ensemble", "rita", "mine")
    assert "Mine is a defence from the file mine.py; the attacker does not know it." in run.threat_model.sentences
    again = rescore(ToyEngine(), run, QUICK.replace(cache_weight=1.0))
    assert np.array_equal(again.clean.verdicts["mine"].probability, run.clean.verdicts["mine"].probability)


RETURN = "return verdict_of(p)"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (RETURN, "return verdict_of(p[:2])", "mine.py, line 4: the probability has the shape (2,)"),
        (RETURN, "return verdict_of(p * float('nan'))", "mine.py, line 4: a probability is not a number"),
        (RETURN, "return verdict_of(2 * p)", "mine.py, line 4: the probabilities sum to 2.0000"),
        (RETURN, "return verdict_of(p.nothing)", "mine.py, line 7: AttributeError"),
    ],
)
def test_an_error_of_a_plugin_is_a_sentence_and_the_other_answers_stand(tmp_path, old, new, sentence) -> None:
    run = run_with(write(tmp_path, old, new))
    assert run.answered == ("clip", "ensemble", "rita")
    assert str(run.faults["mine"]).startswith(sentence)
    printed, page = run_table(run, "grey.png"), verdict_table(run)
    assert f"Mine has no answer. {run.faults['mine']}" in printed
    assert "No answer. mine.py, line" in page
    assert str(tmp_path) not in printed + page
    assert not run.faults["mine"].detail or run.faults["mine"].detail not in page
    saved = to_json(run)
    assert set(saved["clean"]["methods"]) == {"clip", "ensemble", "rita"}
    assert saved["clean"]["faults"]["mine"].startswith(sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name="mine"', 'name="rita"', "mine.py, line 10: the defence 'rita' exists already"),
        ("DEFENCE = ", "OTHER = ", "defines no DEFENCE"),
        ("def answer(", "def answer((", "mine.py, line 4: SyntaxError"),
        ("low=0.1", 'low=0.1, group="x"', "mine.py, line 10: The group of the setting mine.sharpness"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_a_sentence(tmp_path, old, new, sentence, capsys) -> None:
    words = ["explain", "none.png", "--classes", "a,b", "--defence", write(tmp_path, old, new)]
    assert cli.main(words) == 1
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1
    assert "mine" not in DEFENCES
    assert "mine.sharpness" not in SETTINGS
