"""The costs of the classes, and what the views say, as data against their records (TEST DATA)."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rita_demo.figures import class_costs, view_answers, view_entropies
from rita_demo.figures.decision.costs import shown_classes
from rita_demo.records import Run


def _totals(figure):
    return [t for t in figure.data if t.customdata is not None]


def test_both_sides_show_the_same_classes_on_one_scale_with_the_numbers_and_answers_of_the_record(example_run: Run):
    figure = class_costs(example_run)
    clean, attacked = _totals(figure)
    assert [d[0] for d in clean.customdata] == [d[0] for d in attacked.customdata]
    assert clean.y == attacked.y
    for side, trace in zip(("clean", "attacked"), (clean, attacked)):
        run = getattr(example_run, side).trace
        for (k, prompt, memory, total, _), x in zip(trace.customdata, trace.x):
            assert prompt == pytest.approx(run.prompt_transport.distance[k])
            assert total == x == pytest.approx(run.total[k])
            assert memory == pytest.approx(example_run.settings.cache_weight * run.cache_distance[k])
    assert (clean.name, attacked.name) == ("clean", "attacked")
    answers = {"RITA’s answer": "rita", "CLIP’s": "clip"}
    shown = shown_classes(example_run, None, 10)
    for note in figure.layout.annotations:
        assert shown[len(shown) - 1 - int(note.y)] == example_run.attacked.verdicts[answers[note.text]].label
    assert len(figure.layout.annotations) == 2
    assert "cheapest is cup" in figure.meta["alt"]


@pytest.mark.parametrize("top", [2, 5, 10, 400])
def test_rows_are_limited_sorted_by_cost_and_include_the_true_the_selected_and_the_fooled_class(example_run: Run, top):
    shown = shown_classes(example_run, 13, top)
    assert len(shown) == len(set(shown)) <= top
    assert {example_run.label, 13} <= set(shown)
    assert np.all(np.diff(example_run.attacked.trace.total[shown]) >= 0)
    assert top == 2 or example_run.attacked.verdicts["clip"].label in shown


def test_the_true_class_is_tagged_and_the_selected_one_has_a_band(example_run: Run):
    shown = shown_classes(example_run, 3, 10)
    layout = class_costs(example_run, 3).layout
    assert "(true)" in layout.yaxis.ticktext[shown.index(example_run.label)]
    (band,) = layout.shapes
    assert (band.y0 + band.y1) / 2 == pytest.approx(len(shown) - 1 - shown.index(3))
    assert band.layer == "below"


def test_the_scale_is_that_of_the_run_whatever_steps_are_stored_and_what_lies_outside_stands_at_its_end(
    example_run: Run,
):
    trace = example_run.attacked.trace
    moved = replace(trace.prompt_transport, distance=trace.prompt_transport.distance * 9 - 4)
    far = replace(example_run.attacked, trace=replace(trace, prompt_transport=moved, total=trace.total * 9 - 4))
    alone = class_costs(example_run, 3)
    first, between = (
        class_costs(replace(example_run, attacked=side), 3, along=(far, example_run.attacked))
        for side in (example_run.attacked, far)
    )
    low, high = alone.layout.xaxis.range
    for figure in (first, between):
        assert figure.layout.xaxis.range == (low, high)
    assert all(low < x < high for trace in _totals(first) for x in trace.x)
    outside = _totals(between)[1]
    assert set(outside.x) <= {low, high} | set(far.trace.total.tolist())
    assert low in outside.x
    assert min(d[3] for d in outside.customdata) < low, "the number is told as it is"


def test_every_view_has_one_bar_as_high_as_its_entropy_and_the_unselected_are_dimmed(example_run: Run):
    confidence = example_run.attacked.trace.confidence
    figure = view_entropies(example_run, "attacked", 7)
    order = [d[0] for d in figure.data[-1].customdata]
    bars = {x: (y, shade) for t in figure.data[:-1] for x, y, shade in zip(t.x, t.y, t.marker.opacity)}
    assert sorted(order) == list(range(64))
    assert [bars[i][0] for i in range(64)] == pytest.approx(confidence.entropy[order])
    assert [x for x, (_, shade) in bars.items() if shade == 1] == [order.index(7)]
    assert min(shade for _, shade in bars.values()) > 0.2


def test_views_are_split_into_the_true_class_the_attacks_class_and_others(example_run: Run):
    says, wrong = view_answers(example_run, "attacked")
    labels = example_run.attacked.trace.confidence.label
    assert wrong == example_run.attacked.verdicts["clip"].label == 1
    assert [s == "true" for s in says] == [k == example_run.label for k in labels]
    assert [s == "fooled" for s in says] == [k == 1 for k in labels]


def test_the_limit_is_a_line_whose_label_does_not_overlap_a_bar(example_run: Run):
    layout, limit = view_entropies(example_run, "clean").layout, example_run.clean.trace.confidence.limit
    assert layout.yaxis.range[1] >= math.log(len(example_run.class_prompts.names))
    words = layout.annotations[1]
    assert words.text.startswith("limit γ")
    assert (words.xref, words.x, words.xanchor) == ("paper", 1, "left")
    assert words.y == layout.shapes[0].y0 == limit


def test_a_class_without_a_given_label_is_called_assumed(example_run: Run):
    assert "(true)" in view_entropies(example_run, "clean").layout.annotations[0].text
    unnamed = replace(example_run, label_given=False)
    assert "(assumed)" in view_entropies(unnamed, "clean").layout.annotations[0].text
