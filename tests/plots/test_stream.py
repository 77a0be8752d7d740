"""The figures of a stream as data (TEST DATA)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.plots import (
    class_memory,
    entering,
    memory_growth,
    plain,
    running_accuracy,
)
from rita_demo.plots.stream import MOST_MARKS, thinned
from rita_demo.surveys import Course, Curve, Entered, Held

NAMES = ("cat", "<b>dog</b>", "cup")


def curve(right: list[bool]) -> Curve:
    share = np.cumsum(right) / np.arange(1, len(right) + 1)
    return Curve(np.array(right), share, share - 0.1, share + 0.2)


@pytest.fixture
def course() -> Course:
    right = {"clip": [False, True, False, False], "rita": [True, True, False, True]}
    entered = Entered(
        picture=np.array([0, 1, 3]), label=np.array([0, 1, 1]), slot=np.array([0, 0, 1]),
        view=np.array([5, 0, 63]), entropy=np.array([0.1, 0.9, 0.4]), true=np.array([True, False, True]),
        held=np.array([1, 1, 2]), pure=np.array([1, 0, 1]), strength=np.array([1.0, 1.0, 0.8]),
    )  # fmt: skip
    return Course(
        names=NAMES, pictures=("a", "b", "c", "d"), label=np.array([0, 2, 0, 1]),
        attacked=np.array([False, True, False, True]),
        answers={"clip": np.array([1, 2, 1, 0]), "rita": np.array([0, 2, 1, 1])},
        curves={name: curve(value) for name, value in right.items()}, entered=entered,
        fill=np.array([1, 2, 2, 3]), purity=np.array([1.0, 0.5, 0.5, 2 / 3]), seconds=np.ones(4),
        slots=2, wanted=10,
    )  # fmt: skip


def test_accuracy_is_a_line_with_its_band_per_method_on_the_axis_of_the_whole_stream(
    course,
) -> None:
    figure = running_accuracy(course, 2)
    band, line, _, other = figure.data
    assert list(line.y) == pytest.approx([0, 50, 100 / 3, 25])
    assert list(other.y) == pytest.approx([100, 100, 200 / 3, 75])
    assert list(band.y[:4]) == pytest.approx([20, 70, 160 / 3, 45])
    assert list(band.y[4:]) == pytest.approx([15, 70 / 3, 40, -10])
    assert line.customdata[1][0] == 2
    assert "50 % right (40 to 70), n = 2" in line.customdata[1][1]
    assert tuple(figure.layout.xaxis.range) == (0.5, 10.5)
    assert figure.layout.shapes[0].x0 == 2
    assert "RITA, first 2: 100 % right" in plain(figure)


def test_fill_is_of_all_places_and_purity_of_what_is_held(course) -> None:
    fill, purity = memory_growth(course, 4).data
    assert list(fill.y) == pytest.approx([100 / 6, 200 / 6, 200 / 6, 50])
    assert list(purity.y) == pytest.approx([100, 50, 50, 200 / 3])
    assert "held 3 of 6 views, 67 % of them of the right class" in purity.customdata[3][1]


def test_a_view_under_its_true_class_is_a_circle_and_another_a_cross(course) -> None:
    right, wrong = entering(course, 4).data
    assert (list(right.x), list(right.y)) == ([1, 4], [0.1, 0.4])
    assert (list(wrong.x), list(wrong.y)) == ([2], [0.9])
    assert right.marker.symbol != wrong.marker.symbol
    assert "&lt;b&gt;dog" in wrong.customdata[0][1]  # a class name is text, never markup
    assert "true class: cup, attacked" in wrong.customdata[0][1]


def test_classes_keep_their_place_when_another_moment_is_looked_at(course) -> None:
    end = Held(np.array([1, 2, 0]), np.array([1, 1, 0]), np.array([1.0, 0.8, 0.0]), ())
    start = Held(np.array([1, 0, 0]), np.array([1, 0, 0]), np.array([1.0, 0.0, 0.0]), ())
    late, early = class_memory(course, end, end), class_memory(course, start, end)
    assert late.layout.yaxis.ticktext == early.layout.yaxis.ticktext
    held, pure, strength = late.data
    assert (list(held.x), list(pure.x), list(strength.x)) == ([1, 2], [1, 1], [1.0, 0.8])
    assert list(early.data[0].x) == [1, 0]
    assert list(early.data[2].y) == [0]  # a class without views has no agreement
    chosen = class_memory(course, end, end, 1).data[0]
    assert [k for (k, _), pale in zip(chosen.customdata, chosen.marker.opacity) if pale == 1] == [1]
    assert set(class_memory(course, end, end, 2).data[0].marker.opacity) == {
        1.0
    }  # it holds nothing


def test_before_anything_entered_the_figures_say_so(course) -> None:
    none = Entered(*(np.zeros(0, int) for _ in range(9)))
    bare = replace(course, entered=none)
    nothing = Held(np.zeros(3, int), np.zeros(3, int), np.zeros(3), ())
    for figure in (entering(bare, 1), memory_growth(bare, 1), class_memory(bare, nothing, nothing)):
        assert plain(figure) == "Nothing has entered the memory yet."


def test_a_long_stream_is_thinned_with_both_ends() -> None:
    kept = thinned(50_000)
    assert len(kept) <= MOST_MARKS
    assert (kept[0], kept[-1]) == (0, 49_999)
    assert list(thinned(3)) == [0, 1, 2]
