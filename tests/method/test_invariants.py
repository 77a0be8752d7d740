"""Invariants of the method over random problems."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from rita_demo.method import cache as cache_state
from rita_demo.method.procrustes import align
from rita_demo.method.rita import decide
from rita_demo.method.theorem import theorem_bounds
from rita_demo.settings import PRESETS
from tests.oracles import transport as slow_transport
from tests.oracles.toy_model import D, K, make_toy_model, unit
from tests.oracles.transport import cost_matrix, exact_value

F = np.ndarray
quantified = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def leaning_unit_vectors(seed: int, *shape: int) -> torch.Tensor:
    """Unit vectors around one direction, as features are."""
    rng = np.random.default_rng(seed)
    return torch.tensor(unit(rng.normal(size=shape) + 1.0), dtype=torch.float32)


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


@quantified
@given(seeds, st.integers(2, 8), st.integers(1, 4))
def test_theorem_one_bounds_contain_twice_the_exact_distance(seed: int, views: int, atoms: int) -> None:
    x, z = leaning_unit_vectors(seed, views, 6), leaning_unit_vectors(seed + 1, 2, atoms, 6)
    lower, upper, gap, bures = theorem_bounds(x, z)
    for k in range(2):
        xx, zz = x.numpy().astype(float), z[k].numpy().astype(float)
        slow = slow_transport.theorem_bounds(xx, zz)
        fast = [float(part[k]) for part in (lower, upper, gap, bures)]
        # square roots of nearly singular covariances: sqrt(1e-8) in float32
        np.testing.assert_allclose(fast, slow, atol=5e-4)
        exact = exact_value(cost_matrix(xx, zz), np.full(views, 1 / views), np.full(atoms, 1 / atoms))
        assert fast[0] <= 2 * exact + 5e-4
        assert 2 * exact <= fast[1] + 1e-5
    weight = torch.tensor([*[1.0] * atoms, 0]).expand(2, -1)
    padded = theorem_bounds(x, torch.cat([z, 0 * z[:, :1]], 1), weight)
    torch.testing.assert_close(padded, (lower, upper, gap, bures))
