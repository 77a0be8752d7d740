"""KL, agreement, exact transport, entropies and neighbours against slow second versions."""

import math

import numpy as np
import ot
import pytest
import torch

from rita_demo.engine.conversion import to_numpy
from rita_demo.engine.engine import Engine
from rita_demo.figures import analysis
from rita_demo.figures.analysis.feature_cloud import cache_features
from rita_demo.figures.analysis.numbers import exact_cost
from rita_demo.method import align, decide, empty
from rita_demo.records import ImageResult
from rita_demo.settings import RECOMMENDED
from tests.figures.clouds import make_cloud
from tests.method.toy_models import prompts, views
from tests.oracles import algorithm1
from tests.oracles import transport as oracle
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


def slow_kl(features, labels, class_prompts) -> np.ndarray:
    z, weight = class_prompts.features.astype(float), class_prompts.weight.astype(float)
    return algorithm1.kl_to_one_hot(features.astype(float), list(labels), z, weight, class_prompts.temperature)


def test_kl_of_pictures_and_memory_agrees_with_the_definition_in_loops() -> None:
    cloud = make_cloud()
    one = analysis.kl_to_one_hot(cloud, ToyEngine().kl_to_one_hot)
    held, filed, born, _ = cache_features(cloud)
    for found, features, label in (
        (one.original, cloud.attacked, cloud.label),
        (one.cached, held, filed),
        (one.cached_true, held, cloud.label[born]),
    ):
        assert np.allclose(found, slow_kl(features, label, cloud.class_prompts), atol=1e-4, equal_nan=True)
    assert (one.classes, one.classes_true) == (2, 2)
    assert one.medians[1] == pytest.approx(np.median(one.cached[:2]))
    assert one.medians[0] == pytest.approx(np.median(one.original[:2]))
    assert one.improved == np.mean(one.cached[:2] < one.original[:2])
    assert one.improved_true == np.mean(one.cached_true[[0, 2]] < one.original[[0, 2]])
    empty = analysis.kl_to_one_hot(make_cloud(cached=False), ToyEngine().kl_to_one_hot)
    assert empty.classes == 0
    assert np.isnan(empty.medians).all()
    assert analysis.density(empty.cached, np.linspace(0, 1, 5)) is None


def test_a_density_integrates_to_one_and_six_values_are_better_seen_as_points() -> None:
    values, at = np.array([1.0, 2.0, 2.5, 4.0, 4.5, 5.0, 7.0, np.nan]), np.linspace(-10, 20, 4001)
    curve = analysis.density(values, at)
    assert np.trapezoid(curve, at) == pytest.approx(1)
    assert np.trapezoid(curve * at, at) == pytest.approx(np.nanmean(values))
    assert analysis.density(values[1:], at) is None


@pytest.mark.parametrize("seed", range(2))
def test_the_agreement_is_that_of_the_method_and_views_that_cancel_out_have_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, z = rng.normal(0, 1, (3, 24)) + 1, rng.normal(0, 1, 24)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    made = align(torch.tensor(X[None]), torch.tensor([len(X)]), torch.tensor(z[None]), "smallest_rotation")
    assert analysis.resultant_length(X) == pytest.approx(float(made.resultant_length[0]), abs=1e-6)
    assert analysis.resultant_length(np.concatenate([X, -X])) == pytest.approx(0)
    assert analysis.resultant_length(X[:0]) == 0


def test_exact_transport_agrees_with_pot() -> None:
    cost, rows = np.random.default_rng(1).random((12, 4)), np.full(12, 1 / 12)
    for weight in (np.full(4, 1 / 4), np.array([0.1, 0.2, 0.3, 0.4])):
        assert exact_cost(cost, rows, weight) == pytest.approx(ot.emd2(rows, weight, cost))


def test_theorem_bounds_contain_the_exact_cost_and_equal_the_oracle() -> None:
    side = completed_run(ToyEngine(spread=0.2)).attacked
    engine = ToyEngine()
    assert ToyEngine.theorem_bounds is Engine.theorem_bounds
    b = analysis.with_exact(engine.theorem_bounds(side.trace), side.trace, range(3))
    for k in range(3):
        lower, upper, gap, bures = oracle.theorem_bounds(
            side.encoded_views.features.astype(float), side.trace.prompt_features[k].astype(float)
        )
        assert [b.lower[k], b.upper[k], b.mean_gap[k], b.bures[k]] == pytest.approx(
            [lower, upper, gap, bures], abs=1e-5
        )
        assert lower - 1e-6 <= b.exact[k] <= upper + 1e-6
    assert np.isnan(b.exact[3])
    assert b.used == pytest.approx(2 * side.trace.prompt_transport.distance)


def by_hand(x, z, weight, tau: float) -> list[float]:
    """H_n of row 8 for views x (N, D) and prompts z (K, M, D)."""
    z, weight = np.asarray(z, float), np.asarray(weight, float)
    answers = algorithm1.view_probabilities(np.asarray(x, float), z, weight, tau)
    return [-sum(p * math.log(p) for p in answer if p > 0) for answer in answers]


@pytest.mark.parametrize("steps", [0, 4])
def test_entropies_before_and_after_equal_row_8_with_the_prompts_of_that_time(steps) -> None:
    p = prompts()
    settings = RECOMMENDED.replace(tuning_steps=steps, cache_text="tuned")
    x = views(p.features[1, 0])
    trace, _ = decide(x, p, empty(5, 3, 16), settings)
    before, after = analysis.entropies(ImageResult(None, None, to_numpy(trace), {}), p.temperature)
    assert before == pytest.approx(by_hand(x, p.features, p.weight, p.temperature), abs=1e-4)
    assert after == pytest.approx(by_hand(x, trace.prompt_features, p.weight, 0.05), abs=1e-4)
    assert after == pytest.approx(np.asarray(trace.confidence.entropy), abs=1e-4)
    assert np.allclose(before, after) == (steps == 0)


def test_the_neighbours_of_a_picture_and_of_its_crops_are_those_of_a_slow_search() -> None:
    cloud = make_cloud()
    for n in range(len(cloud.ids)):
        others = [i for i in range(len(cloud.ids)) if i != n]
        picture, crops = analysis.nearest_classes(cloud, n)
        near = sorted(others, key=lambda i: -float(cloud.clean[i] @ cloud.attacked[n]))[:5]
        assert picture.tolist() == cloud.label[near].tolist()
        assert crops.tolist() == [
            cloud.label[max(others, key=lambda i, view=view: float(cloud.clean[i] @ view))] for view in cloud.views[n]
        ]
    shown = analysis.clearest_picture(cloud)
    picture, crops = analysis.nearest_classes(cloud, shown)
    assert (picture != cloud.label[shown]).mean() > 0.5 < (crops == cloud.label[shown]).mean()
