"""A setting that is added later: what is stored without it keeps its values and its hashes."""

import json
from pathlib import Path

import pytest

from rita_demo.data import shipped_results
from rita_demo.evaluation.report.results import read_points
from rita_demo.pipeline.run_request import read_settings
from rita_demo.records.errors import SettingError
from rita_demo.settings import PRESETS, RECOMMENDED, SETTINGS, Settings
from rita_demo.settings.stored import FIRST, hashed, is_complete, settings_of


def test_the_first_settings_are_in_every_stored_run() -> None:
    assert SETTINGS.keys() >= FIRST
    assert all(is_complete(preset.as_dict()) for preset in PRESETS.values())
    assert not is_complete({"views": 8})


@pytest.mark.parametrize("stored_name", ["margin", ""])
@pytest.mark.parametrize(("more", "missing"), [({}, 0.1), ({"before": 0.0}, 0.0)])
def test_a_missing_name_is_the_value_before_the_setting_existed(add_setting, stored_name, more, missing) -> None:
    stored = Settings(views=8, ctpt_weight=20).as_dict()
    name = add_setting("views", stored_name=stored_name, **more)
    again = settings_of(stored)
    assert (again.views, again.ctpt_weight, getattr(again, name)) == (8, 20, missing)
    assert hashed(again, SETTINGS).keys() == FIRST
    for value in (0.0, 0.1, 0.2):
        now = again.replace(**{name: value})
        assert settings_of(now.as_dict()) == now
        assert (name in hashed(now, SETTINGS)) is (value != missing)


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(SettingError, match="no setting 'colour'"):
        settings_of({"colour": "red"})


def test_a_settings_file_of_a_run_is_the_whole_run_and_any_other_leaves_the_rest(add_setting, tmp_path: Path) -> None:
    stored, file = RECOMMENDED.replace(views=8).as_dict(), tmp_path / "settings.json"
    name = add_setting("views", before=0.5)
    for content, expected in (
        ({"settings": stored}, {"views": 8, name: 0.5}),
        ({"settings": stored | {name: 0.7}}, {"views": 8, name: 0.7}),
        ({"views": 8}, {"views": 8}),
    ):
        file.write_text(json.dumps(content))
        found = read_settings(file)
        assert expected.items() <= found.items()
        assert (len(found) == 1) is ("settings" not in content)


@pytest.mark.parametrize("group", ["views", "transport", "cache", "tuning", "prompts"])
def test_shipped_measurements_were_made_before_a_later_setting(add_setting, group: str) -> None:
    name, points = add_setting(group, before=0.0), read_points(shipped_results.ABLATIONS)
    assert {point.settings.get(name) for point in points if point.cell.method == "rita"} == {0.0}
