"""The cache's figures as data, against their records (TEST DATA)."""

from dataclasses import replace

import pytest

from rita_demo.plots import cache_distances
from rita_demo.records import Run


def test_every_class_shows_its_cost_with_and_without_the_memory(example_run: Run) -> None:
    trace = example_run.attacked.trace
    empty, other = (replace(trace, cache_distance=trace.cache_distance + change) for change in (0.01, 0.02))
    for full in (None, other):  # that of the run, and another one
        figure = cache_distances(example_run, empty, selected=3, full=full)
        without, with_ = figure.data[-2:]
        classes = [d[0] for d in with_.customdata]
        assert 3 in classes
        assert list(with_.x) == pytest.approx(list((full or trace).cache_distance[classes]))
        assert list(without.x) == pytest.approx(list(empty.cache_distance[classes]))
        assert list(with_.y) == list(without.y)
        assert "instead of" in figure.meta["alt"]
    assert "None of the classes shown changes" in cache_distances(example_run, example_run.attacked.trace).meta["alt"]
