"""The form: drawn from the settings, and hostile values end in a sentence."""

from __future__ import annotations

import math

import gradio as gr
import pytest

from rita_demo.data.pictures import open_picture, png_bytes
from rita_demo.errors import DemoError, PictureError, SettingError, VocabularyError
from rita_demo.methods import ALWAYS
from rita_demo.settings import KNOBS, PAPER, RECOMMENDED
from rita_demo.ui import controls
from rita_demo.ui.ask import NOBODY, OWN, read_ask
from rita_demo.ui.form import changed_note, draw_form
from rita_demo.ui.sessions import Session

GOOD = {"vocabulary": "caltech101", "own_names": "", "truth": "cup", "target": NOBODY}


@pytest.fixture(scope="module")
def form():
    with gr.Blocks():
        return draw_form("coffee")


def test_every_knob_has_exactly_one_control(form) -> None:
    assert set(KNOBS) <= set(form.fields)
    assert set(form.fields) - set(KNOBS) == {
        "vocabulary", "own_names", "truth", "target", "methods",
    }  # fmt: skip


def test_the_controls_start_at_the_recommended_settings(form) -> None:
    values = {name: c.value for name, c in form.fields.items() if name in KNOBS}
    assert controls.settings_from(values) == RECOMMENDED


def test_the_paper_preset_sets_everything_but_the_kind_of_attack() -> None:
    values = controls.preset_values("paper") | {"attack": "pgd"}
    assert controls.settings_from(values) == PAPER


def test_the_note_names_what_differs_and_says_why() -> None:
    note = changed_note(PAPER.as_dict())
    assert f"{len(PAPER.differs_from(RECOMMENDED))} settings differ" in note
    assert "0.1 <span class='quiet'>instead of 0.01" in note
    assert "Every setting is as in" in changed_note(RECOMMENDED.as_dict())
    assert 'role="alert"' in changed_note({"entropy_weight": math.nan})


@pytest.mark.parametrize(
    "change",
    [
        {"budget": math.nan},
        {"descriptions": "/etc/passwd"},
        {"descriptions": ["built_in"]},
        {"budget": "4; drop table"},
        {"budget": 1e9},
        {"steps": None},
        {"attack": ["pgd"]},
        {"attack": "rm -rf"},
        {"views": 0},
        {"views": True},
        {"entropy_weight": {}},
        {"vocabulary": "../../etc/passwd"},
        {"vocabulary": None},
        {"vocabulary": OWN, "own_names": 7},
        {"vocabulary": OWN, "own_names": "cup"},
        {"vocabulary": OWN, "own_names": ",".join(f"c{i}" for i in range(2000))},
        {"vocabulary": OWN, "own_names": "x" * 300 + ", y"},
        {"truth": "no such class"},
        {"truth": 3},
        {"target": ["cup"]},
        {"methods": "mta"},
        {"methods": ["mta", "nobody"]},
        {"methods": [["mta"]]},
    ],
)
def test_a_hostile_value_gets_a_sentence(change) -> None:
    visitor = Session(sample="coffee")
    with pytest.raises((SettingError, VocabularyError)) as error:
        read_ask(GOOD | change, visitor, 112, attack=True)
    assert str(error.value).endswith((".", "?"))


def test_without_a_picture_the_visitor_is_told_to_choose_one() -> None:
    with pytest.raises(PictureError, match="Choose a sample or upload"):
        read_ask(GOOD, Session(), 112, attack=True)


def test_a_forged_sample_is_refused() -> None:
    with pytest.raises(DemoError):
        read_ask(GOOD, Session(sample="../../secret"), 112, attack=True)


def test_only_defend_ignores_attack_and_target() -> None:
    ask = read_ask(GOOD | {"target": "crab"}, Session(sample="coffee"), 112, attack=False)
    assert ask.settings.attack == "none"
    assert ask.target is None


def test_ticked_methods_are_asked_beside_the_three_that_always_are() -> None:
    assert read_ask(GOOD, Session(sample="coffee"), 112, attack=True).methods == ALWAYS
    ask = read_ask(GOOD | {"methods": ["rtpt", "mta"]}, Session(sample="coffee"), 112, attack=True)
    assert ask.methods == ("clip", "ensemble", "mta", "rtpt", "rita")


def test_an_uploaded_square_reaches_the_engine_pixel_for_pixel() -> None:
    square = open_picture(b"P6 64 64 255\n" + bytes(i % 251 for i in range(64 * 64 * 3))).pixels
    ask = read_ask(GOOD, Session(source=png_bytes(square)), 112, attack=True)
    assert (ask.picture.pixels == square).all()


@pytest.mark.parametrize(
    ("sent", "read"), [(99, 16), (-3, 0), (2.5, 2.5), ("99", "99"), (True, True), (None, None)]
)
def test_a_number_beyond_a_sliders_end_is_that_end(sent: object, read: object) -> None:
    assert controls.draw_knob(KNOBS["budget"], maximum=16).preprocess(sent) == read
