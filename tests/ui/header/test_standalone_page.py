"""A run as one HTML file: its figures and texts, nothing from a network, no markup from names."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from rita_demo import plots
from rita_demo.pipeline.attack_steps import attack_step_results
from rita_demo.records import Run
from rita_demo.ui.header.standalone_page import standalone
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.record import story_steps, story_value
from rita_demo.ui.story.view import dump
from tests.toy_model import ToyEngine


@pytest.fixture(scope="module")
def crops(example_run: Run) -> dict[str, np.ndarray]:
    count = len(example_run.attacked.encoded_views.features)
    return {side: np.zeros((count, 8, 8, 3), np.uint8) for side in ("clean", "attacked")}


def figures(html: str) -> dict[str, dict]:
    """What each figure's script is given, by the element's id."""
    given = re.findall(r"getElementById\('(\w+)'\), (\{.*?\}), \(\) => 0, \(\) => 0\);</script>", html)
    return {name: json.loads(data) for name, data in given}


def test_standalone_page_shows_the_record_and_loads_nothing_from_the_network(example_run: Run, crops: dict) -> None:
    html, k = standalone(example_run, crops), example_run.attacked.verdicts["rita"].label
    drawn = figures(html)
    assert set(drawn) == {"story", "steps", "entropies", "costs", "plan"}
    assert json.loads(drawn["costs"]["value"]) == json.loads(plots.class_costs(example_run, k).to_json())
    claim = "".join(text for text, _ in json.loads(drawn["story"]["value"])["claim"])
    assert claim == "This is a motorbike. Change every pixel by at most 4 of 255, and CLIP sees a crab."
    for text in ("Here are 64 crops", "The attacker knows", "no pixel value moves", "entropy_weight"):
        assert text in html, text
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=['\"](?!data:)", html)


def test_the_saved_page_has_the_axes_of_the_page_with_the_stored_steps_and_without(
    example_run: Run, crops: dict
) -> None:
    steps = tuple(attack_step_results(ToyEngine(spread=0.2), example_run))
    session = Session()
    session.show(example_run)
    for stored in ((), steps):
        session.attack_steps = stored
        drawn = figures(standalone(example_run, crops, stored))
        live = plots.class_costs(example_run, session.selection.k, along=session.attacked_by_step)
        assert drawn["story"]["value"] == dump(story_value(session))
        assert drawn["story"]["steps"] == dump(story_steps(session))
        assert bool(drawn["story"]["steps"]) == bool(stored)
        assert json.loads(drawn["costs"]["value"]) == json.loads(live.to_json())
        assert live.layout.xaxis.range == plots.class_costs(example_run, session.selection.k).layout.xaxis.range


def test_a_class_name_is_never_markup(example_run: Run, crops: dict) -> None:
    prompts = example_run.class_prompts
    evil = replace(prompts, names=("</script><script>alert(1)</script>", *prompts.names[1:]))
    assert "<script>alert(1)" not in standalone(replace(example_run, class_prompts=evil), crops)


def test_a_defend_only_page_shows_no_attack(defend_only_run: Run, crops: dict) -> None:
    html = standalone(defend_only_run, crops)
    drawn = figures(html)
    assert set(drawn) == {"story", "entropies", "costs", "plan"}
    assert "Nothing was changed yet." in drawn["story"]["value"]
