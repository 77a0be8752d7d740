"""Entropies before and after the prompt update, against row 8 written out view by view."""

import math

import numpy as np
import pytest

from rita_demo.analysis import entropies
from rita_demo.engine.conversion import to_numpy
from rita_demo.method import decide, empty
from rita_demo.records import ImageResult
from rita_demo.settings import RECOMMENDED
from tests.method.toy_models import prompts, views
from tests.oracles import algorithm1 as oracle


def by_hand(x, z, weight, tau: float) -> list[float]:
    """H_n of row 8 for views x (N, D) and prompts z (K, M, D)."""
    z, weight = np.asarray(z, float), np.asarray(weight, float)
    answers = oracle.view_probabilities(np.asarray(x, float), z, weight, tau)
    return [-sum(p * math.log(p) for p in answer if p > 0) for answer in answers]


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_entropies_before_and_after_equal_row_8_with_the_prompts_of_that_time(steps) -> None:
    p = prompts()
    settings = RECOMMENDED.replace(tuning_steps=steps, cache_text="tuned")
    x = views(p.features[1, 0])
    trace, _ = decide(x, p, empty(5, 3, 16), settings)
    before, after = entropies(ImageResult(None, None, to_numpy(trace), {}), p.temperature)
    assert before == pytest.approx(by_hand(x, p.features, p.weight, p.temperature), abs=1e-4)
    assert after == pytest.approx(by_hand(x, trace.prompt_features, p.weight, 0.05), abs=1e-4)
    assert after == pytest.approx(np.asarray(trace.confidence.entropy), abs=1e-4)
    assert np.allclose(before, after) == (steps == 0)
