"""A run as one HTML file: its figures and texts, nothing from a network, no markup from names."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from rita_demo import plots
from rita_demo.records import Run
from rita_demo.ui.header.standalone_page import standalone


@pytest.fixture(scope="module")
def crops(example_run: Run) -> dict[str, np.ndarray]:
    count = len(example_run.attacked.encoded_views.features)
    return {side: np.zeros((count, 8, 8, 3), np.uint8) for side in ("clean", "attacked")}


def figures(html: str) -> dict[str, dict]:
    """What each figure's script is given, by the element's id."""
    given = re.findall(r"getElementById\('(\w+)'\), (\{.*?\}), \(\) => 0, \(\) => 0\);</script>", html)
    return {name: json.loads(data) for name, data in given}


def test_standalone_figures_equal_the_record(example_run: Run, crops: dict) -> None:
    drawn = figures(standalone(example_run, crops))
    assert set(drawn) == {"field", "steps", "entropies", "costs", "plan"}
    k = example_run.attacked.verdicts["rita"].label
    assert json.loads(drawn["costs"]["value"]) == json.loads(plots.class_costs(example_run, k).to_json())


def test_standalone_page_shows_verdicts_threat_model_and_every_setting(example_run: Run, crops: dict) -> None:
    html = standalone(example_run, crops)
    for text in (
        "CLIP was fooled",
        "RITA says motorbike, and so does the plain average",
        "The attacker knows",
        "no pixel value moves",
        "entropy_weight",
        "Here are 64 crops",
    ):
        assert text in html, text
    assert html.count("<img src='data:image/png;base64,") == 3


def test_standalone_page_loads_nothing_from_the_network(example_run: Run, crops: dict) -> None:
    html = standalone(example_run, crops)
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=['\"](?!data:)", html)


def test_a_class_name_is_never_markup(example_run: Run, crops: dict) -> None:
    evil = "</script><script>alert(1)</script>"
    named = replace(
        example_run,
        class_prompts=replace(example_run.class_prompts, names=(evil, *example_run.class_prompts.names[1:])),
    )
    assert "<script>alert(1)" not in standalone(named, crops)


def test_a_defend_only_page_shows_no_attack(defend_only_run: Run, crops: dict) -> None:
    html = standalone(defend_only_run, crops)
    assert set(figures(html)) == {"field", "entropies", "costs", "plan"}
    assert "Nothing was added here" in html
