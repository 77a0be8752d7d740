"""Settings: values of all parts, own settings of single defences, and their reference."""

import pickle
from pathlib import Path

import pytest

from rita_demo import settings
from rita_demo.records.errors import SettingError
from rita_demo.settings import PRESETS, RECOMMENDED, SETTINGS, Settings, parse_assignment
from rita_demo.settings.__main__ import as_markdown
from rita_demo.settings.setting import Setting, number_text

OWN = {"ensemble_average", "ensemble_weight", "ensemble_step_back", "ensemble_text", "ctpt_weight"}


def test_an_own_setting_has_a_flat_and_a_dotted_name() -> None:
    assert set(SETTINGS) >= OWN
    flat = RECOMMENDED.replace(ensemble_average="logit")
    dotted = RECOMMENDED.replace(**{"ensemble.average": "logit"})
    assert flat == dotted == Settings(ensemble_average="logit")
    assert hash(flat) == hash(dotted)
    assert (flat.ensemble_average, getattr(flat, "ensemble.average")) == ("logit", "logit")
    assert flat.differs_from(RECOMMENDED) == ("ensemble_average",)
    assert parse_assignment("ensemble.average=logit") == ("ensemble_average", "logit")
    assert flat.replace(**{"ensemble.average": "probability"}) == RECOMMENDED
    one, other = ({"ctpt_weight": 20, "ensemble_text": "descriptions"}, {"ensemble.text": "descriptions"})
    assert Settings(**one) == Settings(**other).replace(ctpt_weight=20.0)


def test_settings_survive_json_keys_and_pickling() -> None:
    for preset in PRESETS.values():
        assert set(preset.as_dict()) == {name for name in SETTINGS if "." not in name}
        assert Settings(**preset.as_dict()) == preset
    changed = RECOMMENDED.replace(ctpt_weight=20, views=8)
    assert pickle.loads(pickle.dumps(changed)) == changed


def test_a_new_own_setting_is_stored_only_where_it_is_not_the_default() -> None:
    name = settings.register("mine", Setting("strength", "float", 0.5, "Strength", "How strong.", low=0, high=1))
    try:
        assert name == "mine.strength"
        assert "mine.strength" not in RECOMMENDED.as_dict()
        assert RECOMMENDED.replace(**{name: "0.7"}).as_dict()["mine.strength"] == 0.7
        with pytest.raises(SettingError, match=r"mine\.strength is a number from 0 to 1; got 2"):
            RECOMMENDED.replace(**{name: 2})
        with pytest.raises(SettingError, match=r"already is a setting mine\.strength"):
            settings.register("mine", Setting("strength", "bool", True, "Strength", "How strong."))
        with pytest.raises(SettingError, match="The group of the setting"):
            settings.register("mine", Setting("other", "bool", True, "Other", "What.", group="nothing"))
    finally:
        settings.unregister(name)
    with pytest.raises(SettingError, match=r"no setting 'mine\.strength'"):
        RECOMMENDED.replace(**{name: 0.7})


@pytest.mark.parametrize(
    "change", [{"views": 0}, {"views": 2.5}, {"attack": "magic"}, {"no_such": 1}, {"own": [("x", 1)]}]
)
def test_bad_values_and_names_are_an_error(change: dict) -> None:
    with pytest.raises(SettingError):
        Settings(**change)


def test_the_reference_of_the_settings_is_up_to_date() -> None:
    """Every default, range and value of the paper."""
    written = Path(__file__).with_name("settings.txt").read_text(encoding="utf-8")
    assert written == as_markdown(), "stale: python -m rita_demo.settings > tests/settings/settings.txt"


def test_a_number_in_a_sentence_has_a_real_minus_and_a_power_of_ten() -> None:
    numbers = {0.01: "0.01", -3.5: "−3.5", 1e-6: "10⁻⁶", 2.5e-7: "2.5 · 10⁻⁷", 695_064_512: "695064512"}
    assert {value: number_text(value) for value in numbers} == numbers
