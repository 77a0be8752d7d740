"""The classes' costs as data, against the records they draw (TEST DATA stories)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.plots import class_costs, plain
from rita_demo.plots.costs import shown_classes
from rita_demo.records import Story
from tests.plots.synthetic import make_story


def _totals(figure):
    return [t for t in figure.data if t.customdata is not None]


def test_both_sides_show_the_same_classes_in_the_same_rows_on_the_same_scale(story: Story):
    figure = class_costs(story)
    clean, attacked = _totals(figure)
    assert [d[0] for d in clean.customdata] == [d[0] for d in attacked.customdata]
    assert clean.y == attacked.y
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range


def test_marks_carry_the_records_numbers_and_the_memory_is_what_the_total_adds(story: Story):
    for side, trace in zip(("clean", "attacked"), _totals(class_costs(story))):
        run = getattr(story, side).trace
        for (k, prompt, memory, total, _), x in zip(trace.customdata, trace.x):
            assert prompt == pytest.approx(run.prompt.distance[k])
            assert total == x == pytest.approx(run.total[k])
            assert memory == pytest.approx(story.settings.cache_weight * run.cache_distance[k])


def test_rows_go_from_cheapest_to_dearest_on_the_delivered_picture(story: Story):
    shown = shown_classes(story, None, 10)
    assert np.all(np.diff(story.attacked.trace.total[shown]) >= 0)


@pytest.mark.parametrize("top", [2, 5, 10, 400])
def test_at_most_so_many_classes_and_the_true_one_always(story: Story, top):
    shown = shown_classes(story, 13, top)
    assert len(shown) == len(set(shown)) <= top
    assert {story.label, 13} <= set(shown)


def test_the_fooled_class_is_among_the_rows(story: Story):
    assert story.attacked.verdicts["clip"].label in shown_classes(story, None, 4)


def test_the_true_class_is_outlined_and_the_selected_one_has_a_band(story: Story):
    shown = shown_classes(story, 3, 10)
    outline, band = class_costs(story, 3).layout.shapes[:2]
    row = len(shown) - 1 - shown.index(story.label)
    assert (outline.y0 + outline.y1) / 2 == pytest.approx(row)
    assert (band.y0 + band.y1) / 2 == pytest.approx(len(shown) - 1 - shown.index(3))
    assert band.layer == "below"
    totals = [t for t in class_costs(story, 3).data if (t.name or "").endswith("total")]
    for trace in totals:
        clear = [d[0] for d, alpha in zip(trace.customdata, trace.marker.opacity) if alpha == 1]
        assert clear == [3]


def test_words_mark_ritas_and_clips_answers(story: Story):
    words = [a.text for a in class_costs(story).layout.annotations]
    assert sum("RITA" in w for w in words) == 2
    assert sum("CLIP" in w for w in words) == 2


def test_a_story_without_an_attack_has_one_panel():
    figure = class_costs(make_story(attack=False))
    assert len(_totals(figure)) == 1
    assert "xaxis2" not in figure.layout


def test_the_text_alternative_names_the_cheapest_class(story: Story):
    assert "cheapest is cup" in plain(class_costs(story))


def test_a_pinned_state_stands_in_the_same_rows_on_the_same_scale(story: Story):
    pinned = make_story(seed=9)
    figure = class_costs(story, 2, pinned=pinned)
    for side, axis in (("Clean", "xaxis"), ("Attacked", "xaxis2")):
        (squares,) = [t for t in figure.data if t.name == f"{side}: pinned"]
        (now,) = [t for t in figure.data if t.name == f"{side}: total"]
        assert list(squares.y) == list(now.y)
        totals = getattr(pinned, side.lower()).trace.total
        assert list(squares.x) == pytest.approx([totals[d[0]] for d in now.customdata])
        low, high = figure.layout[axis].range
        assert all(low < x < high for x in squares.x)
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range


def test_a_class_that_the_pinned_state_does_not_have_gets_no_square(story: Story):
    names = tuple(f"other {n}" if i else n for i, n in enumerate(story.bank.names))
    pinned = replace(story, bank=replace(story.bank, names=names))
    squares = [t for t in class_costs(story, 2, pinned=pinned).data if "pinned" in (t.name or "")]
    assert [[d[0] for d in t.customdata] for t in squares] == [[0], [0]]
