"""The figures of a stream as data (TEST DATA)."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.figures import cache_growth, cache_insertions, class_timeline, memory_accuracy
from rita_demo.figures.memory.stream import MAX_MARKS, thinned_indices
from rita_demo.records.measurement import AccuracyCurve, RememberedView, StreamTrajectory

NAMES = ("cat", "<b>dog</b>", "cup")


def curve(right: list[bool]) -> AccuracyCurve:
    share = np.cumsum(right) / np.arange(1, len(right) + 1)
    return AccuracyCurve(np.array(right), share, share - 0.1, share + 0.2)


@pytest.fixture
def trajectory() -> StreamTrajectory:
    right = {"clip": [False, True, False, False], "rita": [True, True, False, True]}
    return StreamTrajectory(
        names=NAMES,
        pictures=("a", "b", "c", "d"),
        label=np.array([0, 2, 0, 1]),
        attacked=np.array([False, True, False, True]),
        answers={"clip": np.array([1, 2, 1, 0]), "rita": np.array([0, 2, 1, 1])},
        curves={name: curve(value) for name, value in right.items()},
        titles={"clip": "CLIP", "rita": "RITA"},
        insertions=(
            RememberedView(0, 0, "a", 0, False, 0, 0, 5, 0.1, 1, 1, 1.0),
            RememberedView(1, 1, "b", 2, True, 1, 0, 0, 0.9, 1, 0, 1.0),
            RememberedView(2, 3, "d", 1, True, 1, 1, 63, 0.4, 2, 1, 0.8),
        ),
        cache_size=np.array([1, 2, 2, 3]),
        purity=np.array([1.0, 0.5, 0.5, 2 / 3]),
        mean_entropy=np.array([0.1, 0.5, 0.5, 1.4 / 3]),
        seconds=np.ones(4),
        slots=2,
        expected_pictures=10,
    )


def test_the_memory_kept_lies_under_the_dashed_line_without_it_and_the_axis_has_a_place_for_every_picture(
    trajectory,
) -> None:
    curves, answers = trajectory.curves, trajectory.answers
    without = {"rita:off": curves["rita"]}
    more = replace(trajectory, curves=curves | without, answers=answers | {"rita:off": answers["rita"]})
    more = replace(more, titles=more.titles | {"rita:off": "RITA, without memory"})
    figure = memory_accuracy(more, 2)
    kept, dashed, clip = figure.data
    assert list(kept.y) == list(dashed.y) == pytest.approx([100, 100, 200 / 3, 75])
    assert list(clip.y) == pytest.approx([0, 50, 100 / 3, 25])
    assert dashed.line.dash == "dash" != kept.line.dash
    assert kept.line.width > dashed.line.width
    assert tuple(figure.layout.xaxis.range) == (0.5, 10.5)
    assert figure.layout.margin.l == figure.layout.margin.r == 0, "the pictures below stand under their places"
    assert figure.layout.shapes[0].x0 == 2
    assert [one.name for one in memory_accuracy(trajectory, 1).data] == ["RITA", "CLIP"]


def test_fill_is_relative_to_all_slots_and_purity_to_used_slots(trajectory) -> None:
    fill, purity = cache_growth(trajectory, 4).data
    assert list(fill.y) == pytest.approx([100 / 6, 200 / 6, 200 / 6, 50])
    assert list(purity.y) == pytest.approx([100, 50, 50, 200 / 3])
    assert "holds 3 of 6 views, 67 % of them of the right class" in purity.customdata[3][1]


def test_a_view_under_its_true_class_is_a_circle_and_another_a_cross(trajectory) -> None:
    right, wrong, held = cache_insertions(trajectory, 4).data
    assert list(held.y) == pytest.approx([0.1, 0.5, 0.5, 1.4 / 3])
    assert (list(right.x), list(right.y)) == ([1, 4], [0.1, 0.4])
    assert (list(wrong.x), list(wrong.y)) == ([2], [0.9])
    assert right.marker.symbol != wrong.marker.symbol
    assert "&lt;b&gt;dog" in wrong.customdata[0][1]  # a class name is text, never markup
    assert "true class: cup, attacked" in wrong.customdata[0][1]


def test_figures_of_an_empty_memory_show_a_message(trajectory) -> None:
    bare = replace(trajectory, insertions=())
    for figure in (cache_insertions(bare, 1), cache_growth(bare, 1)):
        assert figure.meta["alt"] == "Nothing has entered the memory yet."


def test_a_long_stream_is_thinned_with_both_ends() -> None:
    kept = thinned_indices(50_000)
    assert (len(kept), kept[0], kept[-1]) == (MAX_MARKS, 0, 49_999)
    assert list(thinned_indices(3)) == [0, 1, 2]


def test_every_view_is_a_bar_from_its_picture_to_the_one_it_left_at_in_the_row_of_its_class(trajectory) -> None:
    views = (
        RememberedView(0, 0, "a", 0, False, 0, 0, 5, 0.5, 1, 1, 1.0, replaced_by=2, left=3),
        RememberedView(1, 1, "b", 2, True, 1, 0, 0, 0.9, 1, 0, 1.0),
        RememberedView(2, 3, "d", 0, False, 0, 0, 63, 0.4, 1, 1, 1.0, replaced=0, gain=0.1),
    )
    figure = class_timeline(trajectory, views, 2, 0)
    right, wrong = figure.data
    assert [*right.base, *right.x] == [0.5, 3.5, 3, 1]  # the first until picture 4, the other to the end
    assert [*wrong.base, *wrong.x] == [1.5, 3]
    assert right.y[0] == right.y[1] != wrong.y[0]
    assert min(right.marker.opacity) == 1 > max(wrong.marker.opacity)
    assert [data[0] for data in (*right.customdata, *wrong.customdata)] == [1, 4, 2]
    assert "left at picture 4" in right.customdata[0][1]
    assert "&lt;b&gt;dog" in wrong.customdata[0][1]
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;dog&lt;/b&gt;", "cat"]  # cat on top
    assert figure.layout.shapes[0].x0 == 2


@pytest.mark.parametrize(("classes", "named"), [(3, 3), (47, 47), (100, 50)])
def test_a_timeline_is_as_high_as_its_names_need(trajectory, classes: int, named: int) -> None:
    many = replace(trajectory, names=tuple(f"class {k:03d}" for k in range(classes)))
    views = tuple(RememberedView(k, 0, "a", 0, False, k, 0, 5, 0.5, 1, 1, 1.0) for k in range(classes))
    figure = class_timeline(many, views, 1)
    assert len(figure.layout.yaxis.ticktext) == named
    high = max(figure.meta["height"], 480)
    margin = figure.layout.margin
    assert (high - margin.t - margin.b) / named >= 12, "no name touches the next"
    assert high <= 1000, "and the figure fits a printed page"
