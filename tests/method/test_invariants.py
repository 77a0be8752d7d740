"""Invariants of the method over random problems."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rita_demo.method.theorem import theorem_bounds
from tests.oracles import transport as slow_transport
from tests.oracles.toy_model import unit
from tests.oracles.transport import cost_matrix, exact_value

F = np.ndarray
quantified = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def leaning_unit_vectors(seed: int, *shape: int) -> torch.Tensor:
    """Unit vectors around one direction, as features are."""
    rng = np.random.default_rng(seed)
    return torch.tensor(unit(rng.normal(size=shape) + 1.0), dtype=torch.float32)


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
