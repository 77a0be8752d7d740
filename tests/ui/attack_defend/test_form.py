"""The form: drawn from the settings, and hostile values end in a sentence."""

import math
from typing import Any

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from rita_demo.attacks import ATTACKS
from rita_demo.data.pictures import open_picture, png_bytes
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import DEFAULT_METHODS
from rita_demo.pipeline import example
from rita_demo.records import Run
from rita_demo.records.errors import PictureError, SettingError, VocabularyError
from rita_demo.settings import PAPER, RECOMMENDED, SETTINGS
from rita_demo.ui.framework.form import (
    Form,
    lists_for,
    lists_for_typed,
    lists_for_upload,
    own_settings,
    started_list,
    uploaded_note,
)
from rita_demo.ui.session.run_request import (
    NOT_GIVEN,
    OWN_CLASSES,
    SECOND_BEST,
    asks_for_another_run,
    form_values,
    parse_request,
    without_old_classes,
)
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


def test_only_the_settings_that_the_attack_reads_stand_beside_it_and_a_run_that_is_filled_in_brings_its_attack(
    form,
) -> None:
    assert own_settings("pgd") == ("steps",)
    assert own_settings("fgsm") == own_settings("nobody") == ()
    assert own_settings("patch") == ("patch.area", "patch.steps")
    assert "adaptive.steps" in own_settings("adaptive")
    values = {name: component.value for name, component in form.fields.items()}
    assert form.show(values | {"attack": "adaptive"})[form.fields["attack"]] == "adaptive"
    assert form.fields["attack"] not in form.show(values | {"attack": "none"}), "it is not in the menu"


def test_the_form_is_built_as_the_stored_example_needs_it_so_that_opening_the_page_changes_nothing_in_it() -> None:
    sample, run = example.stored()
    with gr.Blocks():
        form = Form(sample)
    shown = {n: form.show(form_values(run))[c] for n, c in form.fields.items() if n not in ("own_names", "attack")}
    for name, update in shown.items():
        wanted = update["value"] if isinstance(update, dict) else update
        assert form.fields[name].value == wanted, name
    assert form.fields["attack"].value == run.settings.attack
    assert not form.fields["own_names"].visible
    names = run.class_prompts.names
    others = [name for name in names if name != names[run.label]]
    assert [name for _, name in form.fields["target"].choices] == [NOT_GIVEN, SECOND_BEST, *others]


def test_the_strength_rests_beside_every_attack_that_it_does_not_limit() -> None:
    resting = {n for n in ATTACKS if setting_controls.strength_update(n)["interactive"] is False}
    assert resting == {"none", *(name for name, attack in ATTACKS.items() if not attack.bounded)}
    assert resting >= {"patch", "typographic", "cw_l2", "none"}
    for name in (*ATTACKS, "nobody"):
        info = setting_controls.strength_update(name, "usual")["info"]
        assert info == (setting_controls.RESTS if name in resting else "usual"), name


def test_the_paper_preset_is_named_setting_by_setting_and_sets_everything_but_the_kind_of_attack() -> None:
    values = setting_controls.preset_values("paper") | {"attack": "pgd"}
    assert setting_controls.settings_from(values) == PAPER
    note = setting_controls.changed_note(PAPER.as_dict())
    assert f"{len(PAPER.differs_from(RECOMMENDED))} settings differ" in note
    assert "0.1 <span class='quiet'>instead of 0.01" in note
    assert setting_controls.changed_note(RECOMMENDED.as_dict()) == ""
    assert 'role="alert"' in setting_controls.changed_note({"entropy_weight": math.nan})


def test_a_form_that_asks_for_another_run_is_noticed(example_run: Run, defend_only_run: Run) -> None:
    form = form_values(example_run)
    assert not asks_for_another_run(form, example_run)
    own = {"vocabulary": OWN_CLASSES, "own_names": "cup, crab"}
    for change in ({"budget": 2}, {"truth": "crab"}, {"target": "crab"}, {"methods": ["mta"]}, own, {"budget": "x"}):
        assert asks_for_another_run(form | change, example_run), change
    form = form_values(defend_only_run) | {"attack": "pgd"}  # the menu has no "none"
    assert not asks_for_another_run(form, defend_only_run)


def test_the_target_is_never_the_true_class() -> None:
    _, truth, target = lists_for("caltech101", "", "cup", "cup")
    assert (truth["value"], target["value"]) == ("cup", NOT_GIVEN)
    assert ("cup", "cup") not in target["choices"]


@pytest.mark.parametrize(
    ("typed", "started", "kept"),  # the list that is begun with the answer "cup", and the true class "cup" in it
    [
        ("", "cup, ", NOT_GIVEN),
        ("motorbike, ", "cup, ", NOT_GIVEN),
        ("cup, ", "cup, ", "cup"),
        ("crab", "crab", NOT_GIVEN),
        ("cup, crab", "cup, crab", "cup"),
        ("crab, camera, ", "crab, camera, ", NOT_GIVEN),
        ("cups, ", "cup, ", NOT_GIVEN),
    ],
)
def test_an_own_list_starts_with_the_answer_on_screen_and_keeps_what_was_typed(
    typed: str, started: str, kept: str
) -> None:
    assert started_list(typed, "cup") == started
    assert lists_for(OWN_CLASSES, typed, "cup", NOT_GIVEN)[1]["value"] == kept
    assert started_list(None, "red fox, young") == '"red fox, young", '
    assert started_list("", "") == ""


def test_the_beginning_of_a_class_is_enough_and_another_vocabulary_does_not_complete_it() -> None:
    _, truth, target = lists_for_typed("caltech101", "", "Umb", "cra")
    assert (truth["value"], target["value"]) == ("umbrella", "crab")
    for nothing in ("no such", "  ", None):
        assert lists_for_typed("caltech101", "", nothing, "")[1]["value"] == NOT_GIVEN
    assert lists_for("caltech101", "", "umb", NOT_GIVEN)[1]["value"] == NOT_GIVEN


def test_an_upload_gets_general_class_names_instead_of_those_of_the_sample_before_it() -> None:
    cat = SAMPLES["cat"]
    of_cat, typed = (cat.vocabulary or OWN_CLASSES, ", ".join(cat.names)), (OWN_CLASSES, "cup, crab")
    assert lists_for_upload(cat, *of_cat)[0] == "caltech101"
    assert lists_for_upload(cat, *typed) == (OWN_CLASSES, ("cup", "crab"))
    assert lists_for_upload(None, *of_cat) == (of_cat[0], cat.names)
    assert lists_for_upload(cat, OWN_CLASSES, "") == (OWN_CLASSES, ())


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


def test_a_class_of_the_list_before_goes_with_it_and_another_unknown_one_stays_an_error() -> None:
    form = GOOD | {"vocabulary": OWN_CLASSES, "own_names": "glitter, water", "target": "crab"}
    gone = without_old_classes(form, ("cup", "crab", "water"))
    assert gone == form | {"truth": NOT_GIVEN, "target": NOT_GIVEN}
    assert parse_request(gone, COFFEE, 112, attack=True).label is None
    kept = without_old_classes(form | {"truth": "water", "target": NOT_GIVEN}, ("cup", "crab", "water"))
    assert parse_request(kept, COFFEE, 112, attack=True).label == 1
    with pytest.raises(VocabularyError):
        parse_request(without_old_classes(form | {"truth": "no such class"}, ("cup",)), COFFEE, 112, attack=True)
    assert without_old_classes(form | {"truth": ["cup"]}, ("cup",))["truth"] == ["cup"]


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


def test_what_became_of_the_size_is_said_once_and_other_changes_each_time() -> None:
    told: set[str] = set()
    wide = Image.new("RGBA", (900, 500), (200, 100, 50, 128))
    picture, small = open_picture(wide), open_picture(np.full((64, 64, 3), 90, np.uint8))
    sizes = ("Of 900 x 500 pixels", "The square was made smaller")
    first, again = uploaded_note(picture, told), uploaded_note(picture, told)
    assert all(one in first and one not in again for one in sizes)
    assert all("Transparent parts were put on white." in said for said in (first, again))
    assert "pixel for pixel" in uploaded_note(small, told)
    assert "pixel for pixel" not in uploaded_note(small, told)


def test_a_number_outside_the_slider_range_is_clipped() -> None:
    slider = setting_controls.build_control(SETTINGS["budget"], maximum=16)
    for sent, read in ((99, 16), (10**400, 16), (-3, 0), (2.5, 2.5), ("99", "99"), (True, True), (None, None)):
        assert slider.preprocess(sent) == read
