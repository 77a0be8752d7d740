"""The agreement of a class's views against the method's own."""

import numpy as np
import pytest
import torch

from rita_demo.figures.analysis import resultant_length
from rita_demo.method import align


@pytest.mark.parametrize("seed", range(5))
def test_the_agreement_is_that_of_the_method_and_views_that_cancel_out_have_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, z = rng.normal(0, 1, (3, 24)) + 1, rng.normal(0, 1, 24)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    made = align(torch.tensor(X[None]), torch.tensor([len(X)]), torch.tensor(z[None]), "smallest_rotation")
    assert resultant_length(X) == pytest.approx(float(made.resultant_length[0]), abs=1e-6)
    assert resultant_length(np.concatenate([X, -X])) == pytest.approx(0)
    assert resultant_length(X[:0]) == 0
