"""The printed accuracy of a stream: intervals that can be told apart, and a colour for every method (TEST DATA)."""

import numpy as np

from rita_demo.figures.stream import INTERVALS, stream_accuracy
from rita_demo.figures.theme import COLOURS
from rita_demo.records.intervals import wilson
from rita_demo.records.measurement import AccuracyCurve, StreamTrajectory

N = 20
METHODS = {
    "clip": "CLIP",
    "ensemble": "Ensemble",
    "tpt": "TPT",
    "rtpt": "R-TPT",
    "rita": "RITA",
    "rita:off": "RITA, off",
}


def course() -> StreamTrajectory:
    rng, curves = np.random.default_rng(0), {}
    for name in METHODS:
        right = rng.random(N) < 0.6
        count = np.cumsum(right)
        ends = np.array([wilson(int(k), t) for t, k in enumerate(count, 1)])
        curves[name] = AccuracyCurve(right, count / np.arange(1, N + 1), ends[:, 0], ends[:, 1])
    none, answers = np.zeros(N), dict.fromkeys(METHODS, np.zeros(N, int))
    pictures = tuple(str(n) for n in range(N))
    return StreamTrajectory(
        *(("a", "b"), pictures, np.zeros(N, int), none > 0, answers, curves, METHODS, (), none, none, none, none, 3, N)
    )


def test_every_method_has_its_own_colour_and_none_is_a_second_grey() -> None:
    figure = stream_accuracy(course())
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    colours = [trace.line.color for trace in lines]
    assert len(set(colours)) == len(METHODS)
    greys = {COLOURS[name] for name in ("text", "quiet", "other", "faint", "axis")}
    assert len(greys.intersection(colours)) == 1
    assert colours[4] == COLOURS["defence"]
    assert len({trace.line.dash for trace in lines}) == len(METHODS), "also without colours"


def test_the_intervals_of_two_methods_stand_beside_each_other() -> None:
    one, figure = course(), stream_accuracy(course())
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert all(len(trace.x) == INTERVALS for trace in marks)
    places = np.concatenate([trace.x for trace in marks])
    assert np.diff(np.sort(places)).min() > 0.2, "pictures; no bar covers another"
    last = marks[0]
    assert np.isclose(last.y[-1] + last.error_y.array[-1], 100 * one.curves["clip"].high[-1])
    assert np.isclose(last.y[-1] - last.error_y.arrayminus[-1], 100 * one.curves["clip"].low[-1])
    assert figure.layout.xaxis.range[0] < places.min() < places.max() < figure.layout.xaxis.range[1]
