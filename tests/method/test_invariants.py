"""Invariants of the method over random problems."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from rita_demo.method import cache as cache_state
from rita_demo.method.cost import cosine_cost
from rita_demo.method.procrustes import align
from rita_demo.method.rita import decide
from rita_demo.method.sinkhorn import transport
from rita_demo.method.theorem import theorem_bounds
from rita_demo.records import Confidence, Transport
from rita_demo.settings import PRESETS
from tests.oracles import theorem
from tests.oracles.algorithm1 import plane_rotation
from tests.oracles.toy_model import D, K, make_toy_model, unit
from tests.oracles.transport import cost_matrix, exact_value

F = np.ndarray
quantified = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)
sizes = st.integers(1, 7)


def leaning_unit_vectors(seed: int, *shape: int) -> torch.Tensor:
    """Unit vectors around one direction, as features are."""
    rng = np.random.default_rng(seed)
    return torch.tensor(unit(rng.normal(size=shape) + 1.0), dtype=torch.float32)


def plan_of(cost: torch.Tensor, **settings_: object) -> Transport:
    classes, views, atoms = cost.shape
    options = {"entropy_weight": 0.05, "tolerance": 1e-6, "max_iterations": 20_000} | settings_
    return transport(cost, torch.full((views,), 1 / views), torch.full((classes, atoms), 1 / atoms), **options)


# --- transport


def test_a_view_of_weight_zero_equals_an_absent_view() -> None:
    cost = cosine_cost(leaning_unit_vectors(3, 5, 8), leaning_unit_vectors(4, 2, 3, 8))
    weight, columns = torch.tensor([0.25, 0.25, 0.0, 0.25, 0.25]), torch.full((2, 3), 1 / 3)
    with_it = transport(cost, weight, columns, entropy_weight=0.05)
    without = plan_of(cost[:, [0, 1, 3, 4]])
    assert float(with_it.plan[:, 2].abs().sum()) == 0.0
    torch.testing.assert_close(with_it.distance, without.distance, atol=1e-5, rtol=0)


# --- Procrustes


def cached(seed: int, counts: list[int], slots: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    features = torch.zeros(len(counts), slots, width)
    for k, count in enumerate(counts):
        features[k, :count] = leaning_unit_vectors(seed + k, count, width)
    return features, torch.tensor(counts)


@quantified
@given(seeds, st.integers(1, 5), st.sampled_from(["svd", "smallest_rotation"]))
def test_alignment_is_orthogonal_reaches_zbar_and_is_as_good_as_scipys(seed: int, count: int, completion: str) -> None:
    features, counts = cached(seed, [count, 5], 5, 8)
    mean = leaning_unit_vectors(seed + 50, 2, 8) * 0.9
    result = align(features, counts, mean, completion)
    assert result.notes == ("", "")
    for k, n in enumerate(counts.tolist()):
        before = features[k, :n].numpy().astype(float)
        after = result.aligned[k, :n].numpy().astype(float)
        zbar = mean[k].numpy().astype(float)
        np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-5)
        reached = after.sum(0)
        np.testing.assert_allclose(unit(reached), unit(zbar), atol=1e-5)
        target = np.tile(zbar, (n, 1))
        best, _ = orthogonal_procrustes(before, target)
        ours = np.linalg.norm(after - target)
        assert ours == pytest.approx(np.linalg.norm(before @ best - target), abs=1e-5)
        assert float(result.resultant_length[k]) == pytest.approx(np.linalg.norm(before.sum(0)) / n, abs=1e-5)
        cosine = float(unit(before.sum(0)) @ unit(zbar))
        assert float(result.angle[k]) == pytest.approx(np.arccos(cosine), abs=1e-3)
        assert float(result.aligned[k, n:].abs().sum()) == 0.0


@quantified
@given(seeds)
def test_the_smallest_rotation_is_the_rotation_in_one_plane(seed: int) -> None:
    features, counts = cached(seed, [3], 3, 8)
    mean = leaning_unit_vectors(seed + 9, 1, 8) * 0.7
    x = features[0].numpy().astype(float)
    w = plane_rotation(unit(x.sum(0)), unit(mean[0].numpy().astype(float)))
    np.testing.assert_allclose(w @ w.T, np.eye(8), atol=1e-12)
    ours = align(features, counts, mean, "smallest_rotation").aligned[0].numpy()
    np.testing.assert_allclose(ours, x @ w, atol=1e-5)


# --- cache


def random_confidence(rng: np.random.Generator, views: int, classes: int) -> Confidence:
    entropy = torch.tensor(rng.permutation(views) / views + rng.uniform(0, 0.5 / views))
    return Confidence(
        probability=torch.full((views, classes), 1 / classes),
        entropy=entropy.float(),
        label=torch.tensor(rng.integers(0, classes, size=views)),
        kept=entropy <= 0.8,
        limit=0.8,
    )


@quantified
@given(seeds, st.integers(1, 4), st.integers(1, 6), st.sampled_from([0, 1, 2]))
def test_the_cache_holds_the_j_most_confident_views(seed: int, slots: int, pictures: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    state = cache_state.empty(3, slots, 4, "key", torch.device("cpu"))
    offered: list[list[tuple[float, int, int]]] = [[], [], []]
    for picture in range(pictures):
        seen = random_confidence(rng, 10, 3)
        before = state
        kept_before = before.entropy.clone()
        state, change = cache_state.update(
            state, leaning_unit_vectors(seed + picture, 10, 4), seen, views_per_image=limit
        )
        assert torch.equal(before.entropy, kept_before), "the input is not changed"
        assert limit == 0 or len(change.events) <= limit
        for n in range(10):
            if bool(seen.kept[n]):
                offered[int(seen.label[n])].append((float(seen.entropy[n]), picture, n))
    assert state.pictures == pictures
    for k in range(3):
        count = int(state.count[k])
        assert count <= slots
        held = [(float(state.entropy[k, j]), int(state.born[k, j]), int(state.view[k, j])) for j in range(count)]
        assert set(held) <= set(offered[k])
        assert torch.isinf(state.entropy[k, count:]).all()
        assert (state.born[k, count:] == -1).all()
        assert float(state.features[k, count:].abs().sum()) == 0.0
        for entropy, picture, n in held:
            assert entropy <= 0.8
            kept_feature = state.features[k, held.index((entropy, picture, n))]
            given_feature = leaning_unit_vectors(seed + picture, 10, 4)[n]
            torch.testing.assert_close(kept_feature, given_feature, atol=1e-6, rtol=0)
        if limit == 0:
            assert sorted(held) == sorted(offered[k])[:slots]


# --- the decision


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_order_of_the_views_changes_nothing(preset: str) -> None:
    toy = make_toy_model()
    prompts = toy.prompts()
    state = cache_state.empty(K, 3, D, "toy", torch.device("cpu"), torch.float64)
    x = torch.tensor(toy.pictures[0])
    mixed = torch.tensor(np.random.default_rng(2).permutation(len(x)))
    plain, after = decide(x, prompts, state, PRESETS[preset])
    other, after_mixed = decide(x[mixed], prompts, state, PRESETS[preset])
    torch.testing.assert_close(other.total, plain.total, atol=1e-5, rtol=0)
    torch.testing.assert_close(other.prompt_transport.plan, plain.prompt_transport.plan[:, mixed], atol=1e-5, rtol=0)
    torch.testing.assert_close(after_mixed.features, after.features, atol=0, rtol=0)


# --- theorem 1


@quantified
@given(seeds, st.integers(2, 8), st.integers(1, 4))
def test_theorem_one_bounds_contain_twice_the_exact_distance(seed: int, views: int, atoms: int) -> None:
    x, z = leaning_unit_vectors(seed, views, 6), leaning_unit_vectors(seed + 1, 2, atoms, 6)
    lower, upper, gap, bures = theorem_bounds(x, z)
    for k in range(2):
        xx, zz = x.numpy().astype(float), z[k].numpy().astype(float)
        slow = theorem.theorem_bounds(xx, zz)
        fast = [float(part[k]) for part in (lower, upper, gap, bures)]
        # square roots of nearly singular covariances: sqrt(1e-8) in float32
        np.testing.assert_allclose(fast, slow, atol=5e-4)
        exact = exact_value(cost_matrix(xx, zz), np.full(views, 1 / views), np.full(atoms, 1 / atoms))
        assert fast[0] <= 2 * exact + 5e-4
        assert 2 * exact <= fast[1] + 1e-5
