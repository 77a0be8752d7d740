"""Half a letter in what somebody sends breaks no connection."""

from __future__ import annotations

import json

import numpy as np
import orjson
import pytest
from gradio import routes

from rita_demo.ui.letters import any_letters


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "orjson", orjson)  # put back afterwards
    any_letters()
    return routes.orjson


def test_what_has_no_half_letter_is_written_as_before(writer) -> None:
    value = {"a": [1.5, float("nan"), "ä😀"], "b": np.arange(3)}
    option = orjson.OPT_SERIALIZE_NUMPY
    assert writer.dumps(value, option=option) == orjson.dumps(value, option=option)
    assert writer.loads(b"[1]") == [1]
    with pytest.raises(TypeError, match="not JSON serializable"):
        writer.dumps(object())


def test_a_half_letter_comes_back_as_it_went(writer) -> None:
    value = {"said": ["cat \ud83d", "😀"], "with": object}
    answer = json.loads(writer.dumps(value, default=str))
    assert answer["said"] == value["said"]
