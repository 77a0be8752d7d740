"""A run as one HTML file: the Story with its values, nothing from a network, no markup from names."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from markupsafe import Markup

from rita_demo.pipeline.attack_steps import attack_step_results
from rita_demo.pipeline.export import to_json
from rita_demo.records import Run
from rita_demo.ui.header.standalone_page import standalone
from rita_demo.ui.story.record import story_steps, story_value
from rita_demo.ui.story.view import dump
from tests.toy_model import ToyEngine
from tests.ui.conftest import shown


@pytest.fixture(scope="module")
def crops(example_run: Run) -> dict[str, np.ndarray]:
    count = len(example_run.attacked.encoded_views.features)
    return {side: np.zeros((count, 8, 8, 3), np.uint8) for side in ("clean", "attacked")}


def given(html: str) -> dict[str, str]:
    """What the Story's script is given."""
    (data,) = re.findall(r"tellStory\(document.querySelector\('#story'\), (\{.*?\}), \(\) => 0, \(\) => 0\);", html)
    return json.loads(data)


def test_the_page_tells_the_story_has_the_answers_and_loads_nothing(example_run: Run, crops: dict) -> None:
    html = standalone(example_run, crops)
    claim = "".join(text for text, _ in json.loads(given(html)["value"])["claim"])
    assert claim == "This is a motorbike. Change every pixel by at most 4 of 255, and CLIP sees a crab."
    assert "attack: Many steps (PGD), at most 4/255" in html
    assert "make setup" in html
    (answers,) = re.findall(r"<pre>(\{.*?)</pre>", html, re.DOTALL)
    assert json.loads(Markup(answers).unescape()) == json.loads(json.dumps(to_json(example_run)))
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=['\"](?!data:)", html)
    assert len(html) < 1_500_000, "no library is inside"


@pytest.mark.slow
def test_the_saved_page_has_the_values_of_the_page_with_the_stored_steps_and_without(
    example_run: Run, crops: dict
) -> None:
    steps = tuple(attack_step_results(ToyEngine(spread=0.2), example_run))
    session = shown(example_run)
    for stored in ((), steps):
        session.attack_steps = stored
        values = given(standalone(example_run, crops, stored))
        assert values["value"] == dump(story_value(session))
        assert values["steps"] == dump(story_steps(session))
        assert bool(values["steps"]) == bool(stored)


def test_a_class_name_is_never_markup(example_run: Run, crops: dict) -> None:
    prompts = example_run.class_prompts
    evil = replace(prompts, names=("</script><script>alert(1)</script>", *prompts.names[1:]))
    assert "<script>alert(1)" not in standalone(replace(example_run, class_prompts=evil), crops)
