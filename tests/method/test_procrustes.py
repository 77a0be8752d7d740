import math

import pytest
import torch

from rita_demo.method import align
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
