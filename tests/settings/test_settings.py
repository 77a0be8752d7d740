"""Settings: values of all parts, own settings of single defences, their reference; a strength is a whole number of 1/255, and
``4/255`` as text is 4, wherever one is given."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo import settings
from rita_demo.cli.evaluate import request_of
from rita_demo.cli.explain import run_request_of
from rita_demo.cli.main import build_parser
from rita_demo.evaluation.report.only_right import only_right
from rita_demo.evaluation.request import points
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import SettingError
from rita_demo.settings import PRESETS, RECOMMENDED, SETTINGS, Settings, parse_assignment
from rita_demo.settings.__main__ import as_markdown
from rita_demo.settings.setting import Setting

OWN = {"ensemble_average", "ensemble_weight", "ensemble_step_back", "ensemble_text", "ctpt_weight"}


def test_an_own_setting_has_a_flat_and_a_dotted_name() -> None:
    assert set(SETTINGS) >= OWN
    flat = RECOMMENDED.replace(ensemble_average="logit")
    dotted = RECOMMENDED.replace(**{"ensemble.average": "logit"})
    assert flat == dotted == Settings(ensemble_average="logit")
    assert hash(flat) == hash(dotted)
    assert flat.differs_from(RECOMMENDED) == ("ensemble_average",)
    assert parse_assignment("ensemble.average=logit") == ("ensemble_average", "logit")
    assert flat.replace(**{"ensemble.average": "probability"}) == RECOMMENDED


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


EXPLAIN = "explain a.png --classes a,b"
EVALUATE = "evaluate --dataset textures --methods clip --attack pgd --protocols off --out runs"
STREAMS = ASSETS / "lab" / "streams" / "dtd"


@pytest.mark.parametrize("text", ["8/255", " 8 / 255 ", 8.0, np.int64(8)])
def test_a_strength_with_its_unit_is_the_whole_number(text: Any) -> None:
    assert SETTINGS["budget"].parse(text) == 8
    assert type(SETTINGS["budget"].parse(text)) is int


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (0.0157, "It is in 1/255: did you mean 4?"),
        ("2.5/255", "A picture has whole levels, so 2.5 would be 3."),
        *((text, "") for text in ("4/256", "65/255", True, None, float("nan"))),
    ],
)
def test_a_fraction_is_refused_with_what_was_probably_meant(given: Any, hint: str) -> None:
    with pytest.raises(SettingError) as caught:
        SETTINGS["budget"].parse(given)
    assert caught.value.message.startswith("budget is a whole number from 0 to 64; got ")
    assert caught.value.hint == hint


def test_every_door_takes_a_strength_with_its_unit(tmp_path: Path) -> None:
    def settings_of(line: str) -> list[int]:
        args = build_parser().parse_args(line.split())
        if line.startswith("explain"):
            return [run_request_of(args).settings.budget]
        return [point.budget for point in request_of(args).points]

    (tmp_path / "one.json").write_text(json.dumps({"settings": {"budget": "8/255"}}))
    assert settings_of(f"{EXPLAIN} --budget 8/255 --settings {tmp_path}/one.json") == [8]
    assert settings_of(f"{EVALUATE} --budget 1 --sweep budget=4/255,8/255") == [4, 8]
    assert RunRequest.parse(b"", classes="a,b", budget="8/255").settings.budget == 8
    for words in (["8/255", 8], np.int64(8)):
        assert [point.budget for point in points(attacks="pgd", budget=words, protocols="off")[0]] == [8]
    assert len(only_right(STREAMS, method=("rita", "clip"), protocol=("stream", "off"), budget="4/255"))
