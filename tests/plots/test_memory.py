"""The memory's figures as data, against the records they draw (TEST DATA)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.analysis import plane
from rita_demo.plots import cache_distances, plain, procrustes_plane
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
