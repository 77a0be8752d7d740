"""The form: drawn from the settings, and hostile values end in a sentence."""

import math
from typing import Any

import gradio as gr
import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.data.pictures import open_picture, png_bytes
from rita_demo.defences.registry import DEFAULT_METHODS
from rita_demo.records.errors import PictureError, SettingError, VocabularyError
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.ui.framework.form import Form
from rita_demo.ui.session.run_request import NOT_GIVEN, OWN_CLASSES, parse_request
from rita_demo.ui.session.session import AttackDefendState
from rita_demo.ui.widgets import setting_controls

GOOD = {"vocabulary": "caltech101", "own_names": "", "truth": "cup", "target": NOT_GIVEN}
COFFEE = AttackDefendState(sample="coffee")


@pytest.fixture(scope="module")
def form():
    with gr.Blocks():
        return Form("coffee")


def test_the_form_has_the_settings_of_the_attack_at_their_recommended_values(form) -> None:
    own = {name for attack in ATTACKS.values() for name in attack.setting_names}
    of_attack = {"attack", "budget", "steps", "attack_seed", *own}
    assert set(form.fields) == {*of_attack, "vocabulary", "own_names", "truth", "target", "methods"}
    assert setting_controls.settings_from({name: form.fields[name].value for name in of_attack}) == RECOMMENDED


HOSTILE: dict[str, list[Any]] = {
    "budget": [math.nan, "4; drop table", 1e9],
    "descriptions": ["/etc/passwd", ["built_in"]],
    "steps": [None],
    "attack": [["pgd"], "rm -rf"],
    "views": [0, True],
    "entropy_weight": [{}],
    "vocabulary": ["../../etc/passwd", None],
    "own_names": [7, "cup", ",".join(f"c{i}" for i in range(2000)), "x" * 300 + ", y"],
    "truth": ["no such class", 3],
    "target": [["cup"]],
    "methods": ["mta", ["mta", "unknown"], [["mta"]]],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_gives_an_error_message(name: str) -> None:
    own = {"vocabulary": OWN_CLASSES} if name == "own_names" else {}
    for value in HOSTILE[name]:
        with pytest.raises((SettingError, VocabularyError)) as error:
            parse_request(GOOD | own | {name: value}, COFFEE, 112, attack=True)
        assert str(error.value).endswith((".", "?"))


def test_without_a_known_picture_there_is_an_error_message() -> None:
    for chosen, sentence in ((None, "Choose a sample or upload"), ("../../secret", "sample is one of")):
        with pytest.raises(PictureError, match=sentence):
            parse_request(GOOD, AttackDefendState(sample=chosen), 112, attack=True)


def test_a_request_has_the_picture_pixel_for_pixel_the_asked_methods_and_only_to_defend_no_attack() -> None:
    square = open_picture(b"P6 64 64 255\n" + bytes(i % 251 for i in range(64 * 64 * 3))).pixels
    request = parse_request(GOOD, AttackDefendState(source=png_bytes(square)), 112, attack=True)
    assert (request.picture.pixels == square).all()
    assert request.methods == DEFAULT_METHODS
    request = parse_request(GOOD | {"methods": ["rtpt", "mta"]}, COFFEE, 112, attack=True)
    assert request.methods == ("clip", "ensemble", "mta", "rtpt", "rita")
    request = parse_request(GOOD | {"target": "crab"}, COFFEE, 112, attack=False)
    assert (request.settings.attack, request.target) == ("none", None)


def test_a_number_outside_the_slider_range_is_clipped() -> None:
    slider = setting_controls.build_control(SETTINGS["budget"], maximum=16)
    for sent, read in ((99, 16), (10**400, 16), (-3, 0), (2.5, 2.5), ("99", "99"), (True, True), (None, None)):
        assert slider.preprocess(sent) == read
