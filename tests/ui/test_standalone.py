"""A story as one file: the record's own figures and words, nothing from a network, no markup but ours."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from rita_demo import plots
from rita_demo.records import Story
from rita_demo.ui.standalone import standalone


@pytest.fixture(scope="module")
def crops(story: Story) -> dict[str, np.ndarray]:
    count = len(story.attacked.glance.features)
    return {side: np.zeros((count, 8, 8, 3), np.uint8) for side in ("clean", "attacked")}


def figures(html: str) -> dict[str, dict]:
    """What each figure's script is given, by the element's id."""
    given = re.findall(
        r"getElementById\('(\w+)'\), (\{.*?\}), \(\) => 0, \(\) => 0\);</script>", html
    )
    return {name: json.loads(data) for name, data in given}


def test_its_figures_are_those_of_the_record(story: Story, crops: dict) -> None:
    drawn = figures(standalone(story, crops))
    assert set(drawn) == {"steps", "entropies", "costs", "plan"}
    k = story.attacked.verdicts["rita"].label
    assert json.loads(drawn["costs"]["value"]) == json.loads(plots.class_costs(story, k).to_json())


def test_it_tells_verdicts_threat_model_and_every_setting(story: Story, crops: dict) -> None:
    html = standalone(story, crops)
    for told in ("CLIP was fooled", "restored: motorbike", "The attacker knows", "no pixel value moves",
                 "entropy_weight", "Here are 64 crops"):  # fmt: skip
        assert told in html, told
    assert html.count("<img src='data:image/png;base64,") == 3


def test_it_asks_no_network_for_anything(story: Story, crops: dict) -> None:
    html = standalone(story, crops)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=['\"](?!data:)", html)


def test_a_class_name_is_never_markup(story: Story, crops: dict) -> None:
    evil = "</script><script>alert(1)</script>"
    named = replace(story, bank=replace(story.bank, names=(evil, *story.bank.names[1:])))
    assert "<script>alert(1)" not in standalone(named, crops)


def test_a_picture_that_was_only_defended_has_no_attack_in_it(defended: Story, crops: dict) -> None:
    html = standalone(defended, crops)
    assert set(figures(html)) == {"entropies", "costs", "plan"}
    assert "Nothing was added here" in html
