"""The plane of Procrustes against the method's own alignment, and against its closed form."""

import numpy as np
import pytest
import torch

from rita_demo.analysis import project_to_plane, resultant_length, text_mean
from rita_demo.method import align
from rita_demo.method.cost import text_mean as method_text_mean


def views(seed: int, count: int = 3, width: int = 24) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (count, width)) + 1
    return X / np.linalg.norm(X, axis=1, keepdims=True), rng.normal(0, 1, width)


@pytest.mark.parametrize("seed", range(5))
def test_both_solutions_rotate_the_mean_onto_the_prompts_and_the_smallest_is_that_of_the_method(seed: int) -> None:
    X, z = views(seed)
    drawn = project_to_plane(X, z)
    r = resultant_length(X)
    for points in (drawn.smallest, drawn.svd):
        assert points.mean(0) == pytest.approx([r, 0], abs=1e-9)
    assert drawn.moved_smallest == pytest.approx(0, abs=1e-9)
    assert drawn.moved_svd.max() > 0.1  # only the SVD moves views outside the plane
    assert drawn.mean @ drawn.mean == pytest.approx(1)
    assert drawn.mean[0] == pytest.approx(np.cos(drawn.angle))
    assert drawn.mean[1] >= 0
    made = align(torch.tensor(X[None]), torch.tensor([len(X)]), torch.tensor(z[None]), "smallest_rotation")
    direction = z / np.linalg.norm(z)
    assert drawn.smallest[:, 0] == pytest.approx(made.aligned[0].numpy() @ direction, abs=1e-5)
    assert drawn.angle == pytest.approx(float(made.angle[0]), abs=1e-5)
    assert r == pytest.approx(float(made.resultant_length[0]), abs=1e-6)


def test_views_that_cancel_out_have_no_plane() -> None:
    X, z = views(0, 1)
    assert project_to_plane(np.concatenate([X, -X]), z) is None
    assert project_to_plane(X, 0 * z) is None
    assert resultant_length(np.concatenate([X, -X])) == pytest.approx(0)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_single_view_lies_wholly_in_the_plane_also_in_parallel_directions(sign: int) -> None:
    X, _ = views(0, 1)
    drawn = project_to_plane(X, sign * X[0])
    assert drawn.smallest[0] == pytest.approx([sign, 0], abs=1e-9)  # opposite: nothing is turned
    assert drawn.share.sum(1) == pytest.approx(1)
    assert drawn.spread == pytest.approx(0)


@pytest.mark.parametrize("seed", range(3))
def test_the_shares_of_variance_are_those_of_a_projection_matrix(seed: int) -> None:
    X, z = views(seed, 4)
    drawn = project_to_plane(X, z)
    u, v = X.sum(0) / np.linalg.norm(X.sum(0)), z / np.linalg.norm(z)
    both = np.linalg.qr(np.stack([v, u], 1))[0]
    project = both @ both.T
    assert drawn.share[0].sum() == pytest.approx(np.trace(X @ project @ X.T) / len(X))
    assert drawn.share[0, 0] == pytest.approx(float(((X @ v) ** 2).mean()))
    around = X - X.mean(0)
    wanted = np.trace(around @ project @ around.T) / np.trace(around @ around.T)
    assert drawn.spread[0] == pytest.approx(wanted)
    # The smallest rotation turns the plane into itself: what lies in it stays in it.
    assert drawn.share[1].sum() == pytest.approx(drawn.share[0].sum())
    assert drawn.spread[1] == pytest.approx(drawn.spread[0])
    assert drawn.share[2].sum() >= resultant_length(X) ** 2 - 1e-9  # the mean itself always lies in it


def test_the_mean_prompt_is_the_methods_own() -> None:
    rng = np.random.default_rng(0)
    z, weight = rng.normal(0, 1, (2, 4, 6)), rng.dirichlet(np.ones(4), 2)
    z /= np.linalg.norm(z, axis=2, keepdims=True)
    theirs = method_text_mean(torch.tensor(z), torch.tensor(weight)).numpy()
    assert np.stack([text_mean(z[k], weight[k]) for k in range(2)]) == pytest.approx(theirs, abs=1e-6)
