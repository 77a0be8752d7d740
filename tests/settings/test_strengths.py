"""A strength is a whole number of 1/255, and ``4/255`` as text is 4, wherever one is given."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo.cli.evaluate import request_of
from rita_demo.cli.explain import run_request_of
from rita_demo.cli.main import build_parser
from rita_demo.evaluation.report.only_right import only_right
from rita_demo.evaluation.request import points
from rita_demo.pipeline.run_request import RunRequest, read_settings
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DataError, SettingError
from rita_demo.settings import RECOMMENDED, SETTINGS, parse_assignment

EXPLAIN = "explain a.png --classes a,b"
EVALUATE = "evaluate --dataset textures --methods clip --attack pgd --protocols off --out runs"
STREAMS = ASSETS / "lab" / "streams" / "dtd"


@pytest.mark.parametrize("text", ["8/255", " 8 / 255 ", "8", "8.0/255", 8, 8.0, np.int64(8), np.float32(8)])
def test_a_strength_with_its_unit_is_the_whole_number(text: Any) -> None:
    assert SETTINGS["budget"].parse(text) == 8
    assert type(SETTINGS["budget"].parse(text)) is int


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (0.0157, "It is in 1/255: did you mean 4?"),
        ("0.0157", "It is in 1/255: did you mean 4?"),
        (0.03137, "It is in 1/255: did you mean 8?"),
        (8 / 255, "It is in 1/255: did you mean 8?"),
        (0.001, "It is in 1/255: did you mean 1?"),
        (1.5, "A picture has whole levels, so 1.5 would be 2."),
        ("2.5/255", "A picture has whole levels, so 2.5 would be 3."),
        ("0.05/255", "A picture has whole levels, so 0.05 would be 0."),
        (0.1, "A picture has whole levels, so 0.1 would be 0."),
        *((text, "") for text in ("4/256", "/255", "4/255/255", "65/255", "-1/255", True, None, 64.5, float("nan"))),
    ],
)
def test_a_fraction_is_refused_with_what_was_probably_meant(given: Any, hint: str) -> None:
    with pytest.raises(SettingError) as caught:
        SETTINGS["budget"].parse(given)
    assert caught.value.message.startswith("budget is a whole number from 0 to 64; got ")
    assert caught.value.hint == hint


def test_settings_of_defences_in_the_same_unit_take_it_and_other_numbers_do_not() -> None:
    assert parse_assignment("ttc.budget=2.5/255") == ("ttc.budget", 2.5)
    assert parse_assignment("csr.step=1/255") == ("csr.step", 1.0)
    with pytest.raises(SettingError, match="views is a whole number from 1 to 256; got '4/255'"):
        parse_assignment("views=4/255")


def test_every_door_takes_a_strength_with_its_unit(tmp_path: Path) -> None:
    def settings_of(line: str) -> list[int]:
        args = build_parser().parse_args(line.split())
        if line.startswith("explain"):
            return [run_request_of(args).settings.budget]
        return [point.budget for point in request_of(args).points]

    (tmp_path / "one.json").write_text(json.dumps({"settings": {"budget": "8/255"}}))
    assert settings_of(f"{EXPLAIN} --budget 8/255") == [8]
    assert settings_of(f"{EXPLAIN} --set budget=8/255") == [8]
    assert settings_of(f"{EXPLAIN} --settings {tmp_path}/one.json") == [8]
    assert settings_of(f"{EVALUATE} --budget 1/255,8/255,2") == [1, 8, 2]
    assert settings_of(f"{EVALUATE} --budget 1 --sweep budget=4/255,8/255") == [4, 8]
    assert build_parser().parse_args(["budget", "a.png", "--classes", "a,b", "--most", "8/255"]).most == 8
    assert read_settings(tmp_path / "one.json") == {"budget": 8}
    assert RunRequest.parse(b"", classes="a,b", budget="8/255").settings.budget == 8
    assert RECOMMENDED.replace(budget="8/255").budget == 8
    for words in ("8/255", ["8/255", 8], [np.int64(8)], np.int64(8), 8.0):
        assert [point.budget for point in points(attacks="pgd", budget=words, protocols="off")[0]] == [8]
    with pytest.raises(SettingError, match="did you mean 4"):
        points(attacks="pgd", budget=0.0157)
    assert len(only_right(STREAMS, method=("rita", "clip"), protocol=("stream", "off"), budget="4/255"))
    with pytest.raises(DataError, match="Nothing in the first run fits"):
        only_right(STREAMS, method=("rita", "clip"), protocol=("stream", "off"), budget="8/255")
    with pytest.raises(SettingError, match="did you mean 4"):
        only_right(STREAMS, method=("rita", "clip"), protocol=("stream", "off"), budget=0.0157)


def test_the_split_test_is_measured_unless_another_is_named() -> None:
    def split_of(line: str) -> str:
        return request_of(build_parser().parse_args(line.split())).split

    assert split_of(f"{EVALUATE} --budget 4") == "test"
    assert split_of(f"{EVALUATE} --budget 4 --split val") == "val"
