"""Views and repeats with other view seeds as data, against their records (TEST DATA)."""

import math
from dataclasses import replace

import pytest

from rita_demo.plots import view_answers, view_entropies, view_seed_results
from rita_demo.records import Run
from tests.plots.synthetic import make_run, make_view_seed_results


def test_every_view_has_one_bar_as_high_as_its_entropy(example_run: Run):
    confidence = example_run.attacked.trace.confidence
    figure = view_entropies(example_run, "attacked")
    order = [d[0] for d in figure.data[-1].customdata]
    bars = {x: y for t in figure.data[:-1] for x, y in zip(t.x, t.y)}
    assert sorted(order) == list(range(64))
    assert [bars[i] for i in range(64)] == pytest.approx(confidence.entropy[order])


def test_a_selected_view_keeps_its_colour_and_the_others_are_dimmed(example_run: Run):
    figure = view_entropies(example_run, "attacked", selected=7)
    place = [d[0] for d in figure.data[-1].customdata].index(7)
    alpha = {x: a for t in figure.data[:-1] for x, a in zip(t.x, t.marker.opacity)}
    assert [x for x, a in alpha.items() if a == 1] == [place]
    assert min(alpha.values()) > 0.2


def test_views_are_split_into_the_true_class_the_attacks_class_and_others(example_run: Run):
    says, wrong = view_answers(example_run, "attacked")
    labels = example_run.attacked.trace.confidence.label
    assert wrong == example_run.attacked.verdicts["clip"].label == 1
    assert [s == "true" for s in says] == [k == example_run.label for k in labels]
    assert [s == "fooled" for s in says] == [k == 1 for k in labels]
    says, wrong = view_answers(make_run(attack=False), "clean")
    assert wrong is None
    assert "fooled" not in says


def test_the_limit_is_a_line_whose_label_does_not_overlap_a_bar(example_run: Run):
    layout, limit = view_entropies(example_run, "clean").layout, example_run.clean.trace.confidence.limit
    assert layout.yaxis.range[1] >= math.log(len(example_run.class_prompts.names))
    words = layout.annotations[1]
    assert words.text.startswith("limit γ")
    assert (words.xref, words.x, words.xanchor) == ("paper", 1, "left")
    assert words.y == layout.shapes[0].y0 == limit


def test_view_seed_results_are_counted_in_marks_and_text(example_run: Run):
    repeats = make_view_seed_results(example_run, 10)
    right = sum(d.verdicts["rita"].label == example_run.label for d in repeats)
    figure = view_seed_results(example_run, repeats)
    rita = next(t for t in figure.data if t.name == "RITA")
    assert list(rita.marker.symbol).count("circle") == right
    assert f"RITA {right} of 10" in figure.meta["alt"]
    assert any(a.text == f"<b>{right}</b> of 10" for a in figure.layout.annotations)
    assert "not been tried" in view_seed_results(example_run, []).meta["alt"]


def test_a_class_without_a_given_label_is_called_assumed(example_run: Run):
    assert "(true)" in view_entropies(example_run, "clean").layout.annotations[0].text
    unnamed = replace(example_run, label_given=False)
    assert "(assumed)" in view_entropies(unnamed, "clean").layout.annotations[0].text
