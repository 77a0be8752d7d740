"""Every figure, drawn by one call, is the stored drawing: its numbers, words, colours and axes (TEST DATA).

``PYTHONPATH=. python -m tests.figures.test_golden`` writes golden.json anew: read what changed before it is kept."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo import figures
from rita_demo.figures import analysis
from rita_demo.figures.figure import Figure
from rita_demo.figures.paper.method_overview import method_overview
from rita_demo.figures.stream import stream_accuracy
from rita_demo.figures.theme import DARK_COLOURS
from rita_demo.pipeline import rerun
from rita_demo.records import Exclusions, Run, TheoremBounds
from rita_demo.records.measurement import AblationSweep, AccuracyChart, KlToOneHot, RememberedView, RunTime
from rita_demo.settings import RECOMMENDED
from tests.figures.clouds import NAMES as CLOUD_NAMES
from tests.figures.clouds import make_cloud
from tests.figures.synthetic import make_attack_steps, make_run, make_trajectory, measured_cell, printed_pair
from tests.toy_model import ToyEngine

GOLDEN = Path(__file__).with_name("golden.json")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
OWN_MARKUP = re.compile(r"</?(b|br|sub|span|extra)( style=\"(color:#[0-9a-f]{6}|opacity:[0-9.]+)\")?>|< [0-9.]+ %")
SMALL = RECOMMENDED.replace(views=8, steps=4)


@cache
def run(attack: bool = True) -> Run:
    return make_run(settings=SMALL, attack=attack)


@cache
def excluded() -> Run:
    left_out = Exclusions(views=frozenset({5}), prompts=frozenset({(2, 1)}))
    return rerun.rescore(ToyEngine(), run(), run().settings, left_out)


def plan(at: Run, k: int, *chosen: int) -> Figure:
    return figures.plan_matrix(at, k, *chosen, order=np.arange(8)[::-1], ends=("crab", "<b>cup</b>"))


def entropy_change() -> Figure:
    changes = {side: analysis.entropies(getattr(run(), side), 0.05) for side in ("clean", "attacked")}
    return figures.entropy_change(run(), changes, view=None)


def kl(classes: int, selected: int | None = None) -> Figure:
    """Of seven or more classes there is a density, with a spike for the memory."""
    values, names = np.linspace(1, 4, classes), tuple(f"<b>class {k}</b>" for k in range(classes))
    spike = 0.01234 + np.linspace(0, 4e-4, classes)
    one = KlToOneHot(names, values, spike, values / 3, (2.5, 0.0, 0.8), 1.0, 0.999, classes, classes - 1)
    return figures.kl_to_one_hot(one, selected)


def cloud(pictures_name: str = "attacked pictures", **more: Any) -> Figure:
    points = replace(analysis.to_points(make_cloud()), pictures_name=pictures_name)
    positions = np.random.default_rng(0).normal(size=(len(points.kind), 2))
    return figures.feature_cloud(points, positions, CLOUD_NAMES, projection="PCA", **more)


def theorem(**chosen: int) -> Figure:
    lower = np.random.default_rng(5).random(4)
    bounds = TheoremBounds(lower, lower + 1, lower / 3, 2 * lower / 3, lower + 0.4, lower + 0.9)
    unknown = replace(bounds, exact=np.full(4, np.nan), used=np.full(4, np.nan))
    return figures.theorem_bounds({"clean": bounds, "attacked": unknown}, CLOUD_NAMES, [2, 0, 1], **chosen)


SWEEPS = [
    AblationSweep("slots", (1, 3, 16), (measured_cell(10), measured_cell(20), measured_cell(30))),
    AblationSweep("slots", (3, 8), (measured_cell(50, attack="none"), measured_cell(60, attack="none"))),
    AblationSweep("slots", (3, 8), (measured_cell(58, protocol="off"),) * 2, (("entropy_weight", 0.5),)),
]
CHART = AccuracyChart(
    "dtd, <b>bold</b>",
    "budget",
    ("no attack", "a group with a long name", "8/255"),
    {
        "0 steps": (measured_cell(55), measured_cell(10), measured_cell(15)),
        "1 step": (measured_cell(60), measured_cell(20), None),
        "rita": (None, measured_cell(33), None),
        "ensemble": (measured_cell(5, method="ensemble"),) * 3,
        "own": (None, None, measured_cell(44, method="own", title="My own")),
        "never": (None, None, None),
    },
    ("embedded no attack",),
)
TIMES = [RunTime("clip", 0.01, 0.0, 5), RunTime("rita", 0.3, 0.2, 5), RunTime("gone", 0.9, 0.9, 5, "Gone")]
LIVES = (
    RememberedView(0, 0, "a", 0, False, 0, 0, 5, 0.5, 1, 1, 1.0, replaced_by=2, left=3),
    RememberedView(1, 1, "b", 2, True, 1, 0, 0, 0.9, 1, 0, 1.0),
    RememberedView(2, 3, "d", 0, False, 0, 0, 63, 0.4, 1, 1, 1.0, replaced=0, gain=0.1),
)
FIGURES: dict[str, Callable[[], Figure]] = {
    "empty": lambda: figures.message_figure("Nothing is here, and this says so."),
    "attack steps": lambda: figures.attack_steps(run(), make_attack_steps(run()), 3),
    "costs": lambda: figures.class_costs(run()),
    "costs, defended": lambda: figures.class_costs(run(False)),
    "plan": lambda: plan(run(), 1),
    "plan, view": lambda: plan(run(), 0, 5),
    "plan, left out": lambda: plan(excluded(), 2),
    "cost change": lambda: figures.cost_change(run(), k=3),
    "entropy change": entropy_change,
    "entropies": lambda: figures.view_entropies(run(), "attacked", 2),
    "memory accuracy": lambda: figures.memory_accuracy(make_trajectory(without_memory=True), 2),
    "cache growth": lambda: figures.cache_growth(make_trajectory(), 4),
    "insertions": lambda: figures.cache_insertions(make_trajectory(), 4),
    "timeline": lambda: figures.class_timeline(make_trajectory(), LIVES, 2, 0),
    "stream": lambda: stream_accuracy(make_trajectory(without_memory=True)),
    "sweep": lambda: figures.sweep_lines(SWEEPS, "Places per class J", recommended=3),
    "bars": lambda: figures.grouped_accuracy(CHART, ""),
    "printed": lambda: figures.printed_beside_measured([printed_pair("PGD", 1), printed_pair("none", 0)], ""),
    "times": lambda: figures.run_times(TIMES, "a run"),
    "cloud": lambda: cloud(ids=make_cloud().ids, picture=2),
    "cloud, class": lambda: cloud("clean pictures", k=1, picture=2, point=40, pictures=["data:0", "", "data:2", ""]),
    "kl": lambda: kl(9),
    "kl, selected": lambda: kl(6, 1),
    "theorem": lambda: theorem(selected=0, label=1),
    "overview": lambda: method_overview(run(), "attacked", "data:0", "data:1"),
}


def drawing(name: str) -> Any:
    """A figure without the parts of its layout that the figure ``empty`` has as well."""
    drawn, common = (json.loads(FIGURES[one]().to_json()) for one in (name, "empty"))
    if name != "empty":
        drawn["layout"] = {key: value for key, value in drawn["layout"].items() if common["layout"].get(key) != value}
    return rounded(drawn)


def rounded(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: rounded(value) for key, value in node.items()}
    if isinstance(node, list):
        return [rounded(value) for value in node]
    return float(f"{node:.5g}") if isinstance(node, float) else node


def check(drawn: Any, stored: Any, at: str) -> None:
    """Words are the same, numbers also inside words nearly: another processor rounds otherwise."""
    if isinstance(stored, dict):
        assert drawn.keys() == stored.keys(), at
        for key, value in stored.items():
            check(drawn[key], value, f"{at}.{key}")
    elif isinstance(stored, list):
        assert len(drawn) == len(stored), at
        for number, (one, other) in enumerate(zip(drawn, stored)):
            check(one, other, f"{at}.{number}")
    elif isinstance(stored, str):
        assert NUMBER.sub("0", drawn) == NUMBER.sub("0", stored), at
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (drawn, stored)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=2e-4), at
    elif isinstance(stored, float):
        assert drawn == pytest.approx(stored, rel=1e-3, abs=1e-5), at
    else:
        assert drawn == stored, at


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_the_stored_one(name: str) -> None:
    check(drawing(name), json.loads(GOLDEN.read_text("utf-8"))[name], name)


def strings(node: Any) -> list[str]:
    """All texts but the text alternative, which is plain text, set as textContent."""
    if isinstance(node, dict):
        node = [value for key, value in node.items() if key != "alt"]
    if isinstance(node, list):
        return [text for value in node for text in strings(value)]
    return [node] if isinstance(node, str) else []


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_valid_for_plotly_has_our_colours_a_text_and_no_name_as_markup(name: str) -> None:
    figure = FIGURES[name]()
    text = figure.to_json()
    for one in strings(json.loads(text)):
        assert "<" not in OWN_MARKUP.sub("", one), one
    assert not any("alert" in str(trace.hovertemplate) for trace in figure.data)
    assert {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", text)} <= set(DARK_COLOURS)
    assert len(figure.meta["alt"]) > 20
    assert figure.layout.uirevision == figure.meta["kind"]


NOTHING = replace(make_trajectory(), insertions=())


@pytest.mark.parametrize(
    ("figure", "sentence"),
    [
        (lambda: figures.attack_steps(run(False), [], 0), "only defended"),
        (lambda: figures.class_timeline(NOTHING, (), 1), "Nothing has entered the memory yet."),
        (lambda: figures.sweep_lines([], "x"), "No run varies this setting"),
        (lambda: figures.kl_to_one_hot(nothing_held()), "The memory holds nothing"),
    ],
)
def test_without_data_a_figure_is_a_sentence(figure: Callable[[], Figure], sentence: str) -> None:
    assert sentence in figure().meta["alt"]


def nothing_held() -> KlToOneHot:
    return analysis.kl_to_one_hot(make_cloud(cached=False), lambda *_: np.full(4, np.nan))


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(drawing(name), ensure_ascii=False, sort_keys=True)}" for name in FIGURES)
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
