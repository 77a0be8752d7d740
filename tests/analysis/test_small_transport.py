"""The small plan: its distances are those of the run, and its crops and sentences the ones it names."""

import numpy as np
import pytest

from rita_demo.analysis.crop_field import rival_class
from rita_demo.analysis.small_transport import small_transport
from rita_demo.records import Run
from tests.plots.synthetic import make_run


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


@pytest.mark.parametrize("side", ["clean", "attacked"])
def test_half_the_squared_distance_and_the_hidden_part_are_the_cost_of_the_run(run: Run, side: str) -> None:
    one = getattr(run, side)
    small = small_transport(run, one, rival_class(run))
    for c, k in enumerate(small.classes):
        expected = one.trace.prompt_transport.cost[k][np.ix_(small.views, small.atoms[c])]
        shown = ((small.crop_at[:, None] - small.sentence_at[c]) ** 2).sum(-1) / 2
        assert shown + small.hidden[c] == pytest.approx(expected, abs=1e-6)


def test_it_shows_the_crops_that_fit_the_rival_best_middling_and_worst(run: Run) -> None:
    side = run.attacked
    small = small_transport(run, side, rival_class(run))
    truth, other = small.classes
    assert truth == run.label != other
    assert other == rival_class(run)
    mean = (side.trace.prompt_transport.cost * side.trace.prompt_weight[:, None]).sum(2)
    ranks = np.argsort(np.argsort(mean[other] - mean[truth], kind="stable"))[small.views]
    count = len(side.trace.view_weight)
    assert ranks[0] == 0
    assert abs(ranks[1] - (count - 1) / 2) <= 1
    assert ranks[2] == count - 1


def test_the_true_class_is_to_the_right_of_the_rival(run: Run) -> None:
    small = small_transport(run, run.attacked, rival_class(run))
    assert small.sentence_at[0, :, 0].mean() > small.sentence_at[1, :, 0].mean()
