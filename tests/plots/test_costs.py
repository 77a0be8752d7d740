"""The classes' costs as data, against their records (TEST DATA)."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.plots import class_costs
from rita_demo.plots.decision.costs import shown_classes
from rita_demo.records import Run
from tests.plots.synthetic import make_run


def _totals(figure):
    return [t for t in figure.data if t.customdata is not None]


def test_both_sides_show_the_same_classes_on_one_scale_with_the_numbers_of_the_record(example_run: Run):
    figure = class_costs(example_run)
    clean, attacked = _totals(figure)
    assert [d[0] for d in clean.customdata] == [d[0] for d in attacked.customdata]
    assert clean.y == attacked.y
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range
    for side, trace in zip(("clean", "attacked"), (clean, attacked)):
        run = getattr(example_run, side).trace
        for (k, prompt, memory, total, _), x in zip(trace.customdata, trace.x):
            assert prompt == pytest.approx(run.prompt_transport.distance[k])
            assert total == x == pytest.approx(run.total[k])
            assert memory == pytest.approx(example_run.settings.cache_weight * run.cache_distance[k])


@pytest.mark.parametrize("top", [2, 5, 10, 400])
def test_rows_are_limited_sorted_by_cost_and_include_the_true_the_selected_and_the_fooled_class(example_run: Run, top):
    shown = shown_classes(example_run, 13, top)
    assert len(shown) == len(set(shown)) <= top
    assert {example_run.label, 13} <= set(shown)
    assert np.all(np.diff(example_run.attacked.trace.total[shown]) >= 0)
    assert top == 2 or example_run.attacked.verdicts["clip"].label in shown


def test_the_true_class_is_outlined_and_the_selected_one_has_a_band(example_run: Run):
    shown = shown_classes(example_run, 3, 10)
    figure = class_costs(example_run, 3)
    outline, band = figure.layout.shapes[:2]
    row = len(shown) - 1 - shown.index(example_run.label)
    assert (outline.y0 + outline.y1) / 2 == pytest.approx(row)
    assert (band.y0 + band.y1) / 2 == pytest.approx(len(shown) - 1 - shown.index(3))
    assert band.layer == "below"
    for trace in _totals(figure):
        clear = [d[0] for d, alpha in zip(trace.customdata, trace.marker.opacity) if alpha == 1]
        assert clear == [3]


def test_labels_mark_the_answers_and_the_text_alternative_names_the_cheapest_class(example_run: Run):
    figure = class_costs(example_run)
    words = [a.text for a in figure.layout.annotations]
    assert [sum(method in w for w in words) for method in ("RITA", "CLIP")] == [2, 2]
    assert "cheapest is cup" in figure.meta["alt"]


def test_a_run_without_an_attack_has_one_panel():
    figure = class_costs(make_run(attack=False))
    assert len(_totals(figure)) == 1
    assert "xaxis2" not in figure.layout


def test_a_pinned_state_is_drawn_in_the_same_rows_on_the_same_scale(example_run: Run):
    pinned = make_run(seed=9)
    figure = class_costs(example_run, 2, pinned=pinned)
    for side, axis in (("Clean", "xaxis"), ("Attacked", "xaxis2")):
        (squares,) = [t for t in figure.data if t.name == f"{side}: pinned"]
        (now,) = [t for t in figure.data if t.name == f"{side}: total"]
        assert list(squares.y) == list(now.y)
        totals = getattr(pinned, side.lower()).trace.total
        assert list(squares.x) == pytest.approx([totals[d[0]] for d in now.customdata])
        low, high = figure.layout[axis].range
        assert all(low < x < high for x in squares.x)
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range


def test_a_class_missing_from_the_pinned_state_has_no_mark(example_run: Run):
    names = tuple(f"other {n}" if i else n for i, n in enumerate(example_run.class_prompts.names))
    pinned = replace(example_run, class_prompts=replace(example_run.class_prompts, names=names))
    squares = [t for t in class_costs(example_run, 2, pinned=pinned).data if "pinned" in (t.name or "")]
    assert [[d[0] for d in t.customdata] for t in squares] == [[0], [0]]
