"""A lone surrogate in user input breaks no connection."""

import json

import numpy as np
import orjson
import pytest
from gradio import routes

from rita_demo.server.gradio_patches import patch_gradio


@pytest.fixture
def json_writer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "orjson", orjson)  # put back afterwards
    patch_gradio()
    return routes.orjson


def test_text_without_surrogates_is_serialised_unchanged(json_writer) -> None:
    value = {"a": [1.5, float("nan"), "ä😀"], "b": np.arange(3)}
    option = orjson.OPT_SERIALIZE_NUMPY
    assert json_writer.dumps(value, option=option) == orjson.dumps(value, option=option)
    assert json_writer.loads(b"[1]") == [1]
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_writer.dumps(object())


def test_a_lone_surrogate_survives_a_round_trip(json_writer) -> None:
    value = {"said": ["cat \ud83d", "😀"], "with": object}
    answer = json.loads(json_writer.dumps(value, default=str))
    assert answer["said"] == value["said"]
