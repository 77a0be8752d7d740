"""The cache's figures as data, against their records (TEST DATA)."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.analysis import project_to_plane
from rita_demo.plots import cache_distances, procrustes_plane
from rita_demo.plots.theme import COLOURS
from rita_demo.records import ProcrustesPlane, Run
from tests.plots.clouds import unit


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


@pytest.fixture
def example_plane() -> ProcrustesPlane:
    rng = np.random.default_rng(0)
    return project_to_plane(unit(rng.normal(0, 1, (3, 12)) + 1), rng.normal(0, 1, 12))


def test_the_plane_draws_every_view_three_times_and_unselected_ones_grey(example_plane: ProcrustesPlane) -> None:
    figure = procrustes_plane(example_plane, "<b>cup</b>", selected=1)
    marks = {t.name: t for t in figure.data if t.mode == "markers"}
    for stage in ("before", "smallest", "svd"):
        points = np.stack([marks[stage].x, marks[stage].y], 1)
        assert points == pytest.approx(getattr(example_plane, stage))
        assert [d[0] for d in marks[stage].customdata] == [0, 1, 2]
        assert marks[stage].marker.size[1] > marks[stage].marker.size[0]
        assert [tone == COLOURS["other"] for tone in marks[stage].marker.color] == [True, False, True]
    assert not any("<b>cup" in a.text for a in figure.layout.annotations)
    assert f"{np.degrees(example_plane.angle):.0f} degrees" in figure.meta["alt"]
    assert f"({100 * example_plane.share[0, 0]:.0f} % before)" in figure.layout.xaxis.title.text
    assert f"({100 * example_plane.share[0, 1]:.0f} % before)" in figure.layout.yaxis.title.text


def test_the_arc_turns_the_views_mean_onto_the_prompts(example_plane: ProcrustesPlane) -> None:
    arc = next(t for t in procrustes_plane(example_plane, "cup").data if t.name == "rotation")
    ends = np.stack([arc.x, arc.y], 1)[[0, -1]]
    ends /= np.linalg.norm(ends, axis=1, keepdims=True)
    assert ends[0] == pytest.approx(example_plane.mean)
    assert ends[1] == pytest.approx([1, 0])


@pytest.mark.parametrize("angle", [0.3, 1.3])
def test_labels_of_the_plane_do_not_overlap_the_arc_or_the_circle(angle: float) -> None:
    X = np.array([[np.cos(angle), np.sin(angle), 0.0]])
    figure = procrustes_plane(project_to_plane(X, np.array([1.0, 0.0, 0.0])), "cup")
    arc = next(t for t in figure.data if t.name == "rotation")
    words = {a.text: a for a in figure.layout.annotations}
    prompts, mean = words["prompts of cup"], words["mean of the cached views"]
    assert min(arc.y) > -1e-9  # the arc is above the line,
    assert (prompts.y, prompts.yanchor, prompts.xanchor) == (0, "top", "right")  # these words below
    assert prompts.x < 1
    assert mean.y > max(arc.y) or mean.xanchor == "left"
    assert (mean.xanchor == "right") == (angle < 0.9) == (np.hypot(mean.x, mean.y) < 1 - 1e-9)
