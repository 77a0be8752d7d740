"""Separation, placing and the list of marks against slow second versions (TEST DATA)."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rita_demo.figures import analysis
from rita_demo.figures.analysis.feature_cloud import KINDS, separability
from rita_demo.records.errors import DemoError
from tests.figures.clouds import NAMES, VIEWS_SHOWN, make_cloud

ROOT = Path(__file__).parents[2]


def slow_silhouette(features: np.ndarray, label: np.ndarray) -> float:
    """Rousseeuw 1987, point by point, by cosine distance."""
    scores, distance = [], 1 - features.astype(float) @ features.astype(float).T
    for i, own in enumerate(label):
        mean = {k: distance[i, (label == k) & (np.arange(len(label)) != i)].mean() for k in np.unique(label)}
        a = mean.pop(own)
        b = min(mean.values())
        scores.append((b - a) / max(a, b))
    return float(np.mean(scores))


def slow_purity(features: np.ndarray, label: np.ndarray, picture: np.ndarray, k: int) -> float:
    shares = []
    for i, x in enumerate(features.astype(float)):
        others = np.flatnonzero(picture != picture[i])
        nearest = sorted(others, key=lambda j: 1 - float(x @ features[j].astype(float)))[:k]
        shares.append(np.mean(label[nearest] == label[i]))
    return float(np.mean(shares))


def test_silhouette_and_purity_agree_with_a_loop_over_the_points() -> None:
    cloud = make_cloud()
    _, attacked, views, mean = analysis.separabilities(cloud)
    assert mean.chance == pytest.approx(4 / 14), "of 15 pictures, five of each class"
    whole = np.arange(len(cloud.label))
    each, crops = whole.repeat(VIEWS_SHOWN), cloud.views.reshape(-1, cloud.views.shape[-1])
    for row, features, picture in ((attacked, cloud.attacked, whole), (views, crops, each)):
        label = cloud.label[picture]
        assert row.count == len(picture)
        assert row.silhouette == pytest.approx(slow_silhouette(features, label), abs=1e-5)
        assert row.purity == pytest.approx(slow_purity(features, label, picture, 4))


LABEL = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2])  # the smallest class has 3 pictures


@pytest.mark.parametrize(
    ("what", "label", "picture", "neighbours", "purity"),
    [
        ("counted by pictures, not by their crops", LABEL.repeat(4), np.arange(11).repeat(4), 2, 1.0),
        ("one picture per class: nothing to find", np.arange(3), np.arange(3), 0, np.nan),
        ("a single class", np.zeros(1, int), np.zeros(1, int), 0, np.nan),
    ],
)
def test_well_separated_classes_reach_full_purity_among_other_pictures(
    what: str, label: np.ndarray, picture: np.ndarray, neighbours: int, purity: float
) -> None:
    one = separability(what, np.eye(3)[label], label, picture)
    assert one.neighbours == neighbours, what
    assert np.isnan(one.chance) == np.isnan(purity), what
    assert one.purity == pytest.approx(purity, nan_ok=True), what
    assert np.isnan(one.silhouette) == (len(set(label)) in (1, len(label))), what


def test_points_hold_every_picture_view_cached_view_and_prompt_once() -> None:
    cloud = make_cloud()
    marks = analysis.to_points(cloud)
    n = len(cloud.label)
    counts = {kind: int((marks.kind == kind).sum()) for kind in KINDS}
    assert counts == {"clean": n, "attacked": n, "view": n * VIEWS_SHOWN, "cached": 2, "prompt": 3}
    held = marks.kind == "cached"
    assert marks.label[held].tolist() == [0, 1]
    assert marks.picture[held].tolist() == [0, 2]
    view = np.flatnonzero((marks.kind == "view") & (marks.picture == 4))[2]
    assert np.array_equal(marks.features[view], cloud.views[4, 2])
    text = marks.features[marks.kind == "prompt"]
    mean = cloud.class_prompts.features[0].mean(0)
    assert np.allclose(text[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert len(NAMES) == 4  # the class without pictures has no mark


def test_pca_equals_scikit_learn_up_to_sign() -> None:
    from sklearn.decomposition import PCA

    X = np.random.default_rng(3).normal(size=(40, 7)) * np.arange(1, 8)
    places, share = analysis.pca(X)
    theirs = PCA(2).fit(X)
    assert np.allclose(np.abs(places), np.abs(theirs.transform(X)))
    assert share == pytest.approx(theirs.explained_variance_ratio_.sum())
    assert np.array_equal(places, analysis.pca(X)[0])


def test_pictures_and_prompts_are_centred_separately() -> None:
    marks = analysis.to_points(make_cloud())
    moved = analysis.centre_by_kind(marks)
    for mine in (marks.kind == "prompt", marks.kind != "prompt"):
        assert np.allclose(moved[mine].mean(0), 0, atol=1e-6)
        assert np.allclose(moved[mine] - moved[mine][0], marks.features[mine] - marks.features[mine][0])


def doubled(x: np.ndarray) -> np.ndarray:
    if x.sum() < 0:
        raise ValueError("negative")
    return 2 * x


def test_umap_process_returns_results_and_errors_and_goes_on() -> None:
    worker = analysis.UmapProcess(doubled)
    worker.warm_up()
    assert worker.compute(np.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(DemoError, match="negative"):
        worker.compute(-np.ones(3))
    first = worker._process
    assert worker.compute(np.ones(1)).tolist() == [2]
    assert worker._process is first
    worker.close()


FIRST_UMAP = """
import numpy as np, torch
from rita_demo.figures.analysis.projection import umap
torch.set_num_threads(1)
torch.get_num_threads()  # a thread takes torch's number when it first asks
umap(np.random.default_rng(0).normal(size=(45, 10)), 8, np.arange(45))
print(torch.get_num_threads())
"""


@pytest.mark.nightly
def test_umap_restores_the_number_of_threads() -> None:
    """Numba sets it when it is first used, here in a process of its own. Sums in another order are other numbers:
    an attack then differs in single pixels."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_UMAP],
        env=os.environ | {"NUMBA_NUM_THREADS": "2"},
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    assert done.stdout.split() == ["1"], done.stderr
