"""User input in figures, the colours, and what a drawing (``test_golden``) does not show (TEST DATA)."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo import figures
from rita_demo.figures.attack import MIN_LABEL_GAP, _spread_labels
from rita_demo.figures.decision.plan import ratio_to_product_plan
from rita_demo.figures.decision.views import moved_shares
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, percent, printable
from rita_demo.figures.paper.measurements import time_text
from rita_demo.figures.stream import MAX_MARKS, thinned_indices
from rita_demo.figures.theme import CLASS_STYLES, DARK_COLOURS, PALETTE
from rita_demo.records import Run
from rita_demo.records.measurement import RememberedView
from rita_demo.settings import PAPER
from tests.figures.synthetic import make_run, make_trajectory

#: Text, what it is made of, and what it says: a name is cut, escaped and on one line; a share is never rounded to 0 or 100.
WORDS: list[tuple[Callable[..., str], tuple[Any, ...], str]] = [
    (escaped, ("<" * 300,), "&lt;" * 119 + "…"),
    (escaped, ("<b>x</b>",), "&lt;b&gt;x&lt;/b&gt;"),
    (escaped, ("a & b",), "a &amp; b"),
    (escaped, ("two\nlines\t here",), "two lines here"),
    (escaped, ("right\u202eleft",), "rightleft"),
    (escaped, ("lone \ud800 half",), "lone  half"),
    (escaped, ("🦀",), "🦀"),
    (escaped, ("",), ""),
    (percent, (0.912,), "91 %"),
    (percent, (0.999,), "> 99 %"),
    (percent, (1.0,), "100 %"),
    (percent, (0.001,), "< 1 %"),
    (percent, (0.0,), "0 %"),
    (percent, (0.12345, 1), "12.3 %"),
    (percent, (0.99999, 1), "> 99.9 %"),
    (time_text, (0.00043,), "0.43 ms"),
    (time_text, (0.0095,), "9.5 ms"),
    (time_text, (0.994,), "990 ms"),
    (time_text, (0.996,), "1.0 s"),
    (time_text, (9.94,), "9.9 s"),
    (time_text, (12.3,), "12 s"),
]


@pytest.mark.parametrize(("function", "given", "words"), WORDS)
def test_a_name_a_share_and_a_time_in_words(function: Callable[..., str], given: tuple[Any, ...], words: str) -> None:
    assert function(*given) == words
    printable(str(given[0])).encode("utf-8")


def test_every_light_colour_has_one_dark_partner_and_css_has_both() -> None:
    assert len(DARK_COLOURS) == len(PALETTE) + len(CLASS_STYLES)
    assert all(re.fullmatch(r"#[0-9a-f]{6}", shade) for pair in PALETTE.values() for shade in pair)
    assert len({figures.class_style(k)[1:3] for k in range(100)}) == 100, "no two of a hundred classes look alike"
    assert all(figures.css_variables().count(f"--rita-{role}:") == 2 for role in PALETTE)


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_text_and_class_marks_have_enough_contrast_to_the_background(shade: int) -> None:
    words = [PALETTE[role][shade] for role in ("clean", "attack", "defence", "cache", "text", "quiet")]
    marks = [style[shade] for style in CLASS_STYLES]
    for colours, least in ((words, 4.5), (marks, 3)):  # WCAG AA
        for colour in colours:
            low, high = sorted((luminance(colour), luminance(PALETTE["surface"][shade])))
            assert (high + 0.05) / (low + 0.05) >= least, colour


def test_labels_that_would_overlap_are_moved_apart_in_their_order() -> None:
    placed = _spread_labels({"clip": (7, 50.0), "rita": (7, 52.0), "ensemble": (7, 51.0)})
    assert np.diff([placed[m] for m in ("clip", "ensemble", "rita")]) == pytest.approx([MIN_LABEL_GAP, MIN_LABEL_GAP])
    assert max(_spread_labels({"a": (0, 100.0), "b": (0, 100.0)}).values()) <= 100


def test_what_is_sent_is_what_was_added_and_checking_finds_a_value_unknown_to_plotly() -> None:
    figure = Figure()
    figure.add_scatter(x=np.array([1.0, np.nan]), y=[2, 3])
    figure.layers = {"meta": {"alt": "two"}}
    sent = json.loads(figure.to_json())
    assert sent == {"data": [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}], "layout": {"meta": {"alt": "two"}}}
    figure.add_bar(y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        _ = figure.checked


def test_the_figures_of_the_documents_have_the_colours_of_today() -> None:
    """Plotly writes black and white, and each colour as hex or as decimal numbers."""
    known = {*DARK_COLOURS, "#000000", "#ffffff"}
    files = sorted((Path(__file__).parents[2] / "docs/figures").glob("*.svg"))
    assert files
    for file in files:
        text = re.sub(r"base64,[^)\"]*", "", file.read_text(encoding="utf-8"))
        decimal = re.findall(r"rgb\((\d+), (\d+), (\d+)\)", text)
        used = {*re.findall(r"#[0-9a-f]{6}\b", text), *(f"#{bytes(map(int, one)).hex()}" for one in decimal)}
        assert used <= known, (file.name, used - known)
        assert PALETTE["right"][0] not in used, f"{file.name}: green means right, and RITA is violet"


def test_the_shares_of_a_plan_are_those_of_the_mass_that_moves(example_run: Run) -> None:
    trace = example_run.attacked.trace
    moved = trace.prompt_transport
    even = moved.mass * np.outer(trace.view_weight, trace.prompt_weight[1])
    assert ratio_to_product_plan(example_run.attacked, 1) == pytest.approx(moved.plan[1] / even, rel=1e-4)
    shares = moved_shares(example_run.attacked, 0)
    assert shares @ trace.view_weight == pytest.approx(moved.mass, abs=1e-6)
    assert shares.min() < 0.05
    assert moved_shares(make_run(settings=PAPER).clean, 0) == pytest.approx(1.0, abs=1e-3), "all moves"


@pytest.mark.parametrize(("classes", "named"), [(3, 3), (47, 47), (100, 50)])
def test_a_timeline_is_as_high_as_its_names_need(classes: int, named: int) -> None:
    many = replace(make_trajectory(), names=tuple(f"class {k:03d}" for k in range(classes)))
    views = tuple(RememberedView(k, 0, "a", 0, False, k, 0, 5, 0.5, 1, 1, 1.0) for k in range(classes))
    figure = figures.class_timeline(many, views, 1)
    assert len(figure.layout.yaxis.ticktext) == named
    high, margin = max(figure.meta["height"], 480), figure.layout.margin
    assert (high - margin.t - margin.b) / named >= 12, "no name touches the next"
    assert high <= 1000, "and the figure fits a printed page"


def test_a_long_stream_is_thinned_with_both_ends() -> None:
    kept = thinned_indices(50_000)
    assert (len(kept), kept[0], kept[-1]) == (MAX_MARKS, 0, 49_999)
    assert list(thinned_indices(3)) == [0, 1, 2]
