import math
from dataclasses import replace

import pytest
import torch

from rita_demo.method import align, empty
from rita_demo.method.cost import unit
from rita_demo.method.procrustes import align_together
from tests.method.toy_models import units


@pytest.mark.parametrize("gap", [1e-7, 1e-5, 1e-3])
def test_nearly_parallel_and_nearly_opposite_directions_stay_exact(gap):
    u, aside = units(0, 16), units(1, 16)
    zbar = torch.stack([u + gap * aside, -u + max(gap, 1e-3) * aside])
    X = u.expand(2, 1, 16)
    result = align(X, torch.tensor([1, 1]), zbar)
    wanted = torch.nn.functional.normalize(zbar, dim=-1)
    torch.testing.assert_close(result.aligned[:, 0], wanted, atol=1e-6, rtol=0)


def test_opposite_directions_and_cancelling_views_are_not_rotated_and_reported():
    u = units(0, 16)
    X = torch.stack([torch.stack([u, u]), torch.stack([u, -u]), torch.stack([u, u])])
    zbar = torch.stack([-u, units(1, 16), torch.zeros(16)])
    result = align(X, torch.tensor([2, 2, 2]), zbar)
    torch.testing.assert_close(result.aligned, X)
    assert "away" in result.notes[0]
    assert "cancel" in result.notes[1]
    assert "no direction" in result.notes[2]
    assert result.angle[0] == pytest.approx(math.pi)
    assert result.aligned.isfinite().all()


@pytest.mark.parametrize("completion", ["smallest_rotation", "svd"])
def test_caches_that_are_aligned_together_are_aligned_as_each_alone(completion: str) -> None:
    """Each has its own prompts; one class is empty, and one cancels out."""
    generator = torch.Generator().manual_seed(0)
    caches, means = [], torch.randn(3, 4, 8, generator=generator).unbind()
    for _ in means:
        features = unit(torch.randn(4, 2, 8, generator=generator))
        features[1, 1] = -features[1, 0]
        caches.append(replace(empty(4, 2, 8), features=features, count=torch.tensor([2, 2, 0, 1])))
    for found, cache, mean in zip(align_together(caches, means, completion), caches, means, strict=True):
        alone = align(cache.features, cache.count, mean, completion)
        for name in ("aligned", "resultant_length", "angle"):
            assert torch.equal(getattr(found, name), getattr(alone, name))
        assert found.notes == alone.notes
        assert found.notes[1]
