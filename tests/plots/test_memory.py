"""The memory's figures as data, against the records they draw (TEST DATA)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.analysis import plane
from rita_demo.plots import COLOURS, cache_distances, plain, procrustes_plane
from rita_demo.records import Story


def test_every_class_shows_its_cost_with_and_without_the_memory(story: Story) -> None:
    trace = story.attacked.trace
    empty = replace(trace, cache_distance=trace.cache_distance + 0.01)
    figure = cache_distances(story, empty, selected=3)
    without, with_ = figure.data[-2:]
    classes = [d[0] for d in with_.customdata]
    assert 3 in classes
    assert list(with_.x) == pytest.approx(list(trace.cache_distance[classes]))
    assert list(without.x) == pytest.approx(list(empty.cache_distance[classes]))
    assert list(with_.y) == list(without.y)
    assert "instead of" in plain(figure)


def test_another_memory_than_the_storys_can_be_drawn(story: Story) -> None:
    trace = story.attacked.trace
    other = replace(trace, cache_distance=trace.cache_distance + 0.02)
    figure = cache_distances(story, trace, full=other)
    without, with_ = figure.data[-2:]
    assert np.array(with_.x) - np.array(without.x) == pytest.approx(0.02)


def test_a_memory_that_changes_nothing_is_said_to(story: Story) -> None:
    assert "changes no class" in plain(cache_distances(story, story.attacked.trace))


def test_the_plane_draws_every_view_three_times() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (3, 12)) + 1
    drawn = plane(X / np.linalg.norm(X, axis=1, keepdims=True), rng.normal(0, 1, 12))
    assert drawn is not None
    figure = procrustes_plane(drawn, "<b>cup</b>", selected=1)
    marks = {t.name: t for t in figure.data if t.mode == "markers"}
    for stage in ("before", "smallest", "svd"):
        points = np.stack([marks[stage].x, marks[stage].y], 1)
        assert points == pytest.approx(getattr(drawn, stage))
        assert [d[0] for d in marks[stage].customdata] == [0, 1, 2]
        assert marks[stage].marker.size[1] > marks[stage].marker.size[0]
    assert not any("<b>cup" in a.text for a in figure.layout.annotations)
    assert f"{np.degrees(drawn.angle):.0f} degrees" in plain(figure)
    assert f"({100 * drawn.share[0, 0]:.0f} % before)" in figure.layout.xaxis.title.text
    assert f"({100 * drawn.share[0, 1]:.0f} % before)" in figure.layout.yaxis.title.text


def test_the_arc_turns_the_views_mean_onto_the_prompts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (3, 12)) + 1
    drawn = plane(X / np.linalg.norm(X, axis=1, keepdims=True), rng.normal(0, 1, 12))
    assert drawn is not None
    arc = next(t for t in procrustes_plane(drawn, "cup").data if t.name == "rotation")
    ends = np.stack([arc.x, arc.y], 1)[[0, -1]]
    ends /= np.linalg.norm(ends, axis=1, keepdims=True)
    assert ends[0] == pytest.approx(drawn.mean)
    assert ends[1] == pytest.approx([1, 0])


@pytest.mark.parametrize("angle", [0.3, 1.3])
def test_no_words_of_the_plane_lie_over_the_arc_or_the_circle(angle: float) -> None:
    X = np.array([[np.cos(angle), np.sin(angle), 0.0]])
    figure = procrustes_plane(plane(X, np.array([1.0, 0.0, 0.0])), "cup")
    arc = next(t for t in figure.data if t.name == "rotation")
    words = {a.text: a for a in figure.layout.annotations}
    prompts, mean = words["prompts of cup"], words["mean of the cached views"]
    assert min(arc.y) > -1e-9  # the arc is above the line,
    assert (prompts.y, prompts.yanchor, prompts.xanchor) == (0, "top", "right")  # these words below
    assert prompts.x < 1
    assert mean.y > max(arc.y) or mean.xanchor == "left"
    inside = mean.xanchor == "right"
    assert inside == (angle < 0.9)
    assert np.hypot(mean.x, mean.y) < 1 if inside else np.hypot(mean.x, mean.y) == pytest.approx(1)


def test_unselected_views_go_grey_and_none_disappears() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (3, 12)) + 1
    drawn = plane(X / np.linalg.norm(X, axis=1, keepdims=True), rng.normal(0, 1, 12))
    assert drawn is not None
    for chosen in (None, 1):
        marks = {t.name: t for t in procrustes_plane(drawn, "cup", chosen).data}
        tones = marks["before"].marker.color
        assert len(tones) == 3
        assert [t == COLOURS["other"] for t in tones] == [
            chosen is not None and j != 1 for j in range(3)
        ]
