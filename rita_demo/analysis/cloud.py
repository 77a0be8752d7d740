"""The paper's motivation as numbers: do the classes come apart again in the views of attacked pictures?"""

from __future__ import annotations

import numpy as np

from rita_demo.analysis.plane import text_mean
from rita_demo.surveys import Cloud, Marks, Separation

#: What a mark is: the whole picture before and after the attack, a crop of the attacked one, a view in
#: the memory, a class's mean prompt.
KINDS = ("clean", "attacked", "view", "cached", "prompt")
NEIGHBOURS = 5


def cached(cloud: Cloud) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the memory holds: features (c, D), class filed under (c,), picture (c,), slot (c,)."""
    k, slot = np.nonzero(
        np.arange(cloud.memory.entropy.shape[1])[None, :] < cloud.memory.count[:, None]
    )
    return cloud.memory.features[k, slot], k, cloud.memory.born[k, slot], slot


def marks(cloud: Cloud) -> Marks:
    """The cloud as one list: clean and attacked pictures, views, memory, prompts of the classes shown."""
    n, shown, _ = cloud.views.shape
    whole, each = np.arange(n), np.repeat(np.arange(n), shown)
    held, filed, born, slot = cached(cloud)
    here = np.unique(np.concatenate([cloud.label, filed]))
    bank = cloud.bank
    prompts = _unit(np.stack([text_mean(bank.features[k], bank.weight[k]) for k in here]))
    parts = (
        ("clean", whole, cloud.label, np.zeros(n, int), cloud.clean),
        ("attacked", whole, cloud.label, np.zeros(n, int), cloud.attacked),
        ("view", each, cloud.label[each], np.tile(np.arange(shown), n), cloud.views.reshape(n * shown, -1)),
        ("cached", born, filed, slot, held),
        ("prompt", np.full(len(here), -1), here, np.zeros(len(here), int), prompts),
    )  # fmt: skip
    kinds = np.concatenate([np.full(len(part[1]), part[0]) for part in parts])
    columns = [np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(1, 5)]
    return Marks(kinds, columns[0], columns[1], columns[2], columns[3], cloud.whole)


def separations(cloud: Cloud, neighbours: int = NEIGHBOURS) -> tuple[Separation, ...]:
    """Silhouette and neighbour purity, in the original space, of (a) attacked pictures and (b) their views.

    Crops of one picture lie close together for a reason that has nothing to do with its class, so
    purity looks at other pictures only, and (b) is also given with one point per picture, the mean of
    its views: that line and (a) compare like with like. At most ``neighbours`` are asked, and no more
    than another picture of the smallest class can be: with more, 100 % would be out of reach.
    """
    n, shown, width = cloud.views.shape
    each = np.repeat(np.arange(n), shown)
    mean = _unit(cloud.views.mean(1))
    rows = (
        ("clean pictures", cloud.clean, np.arange(n)),
        (f"(a) {cloud.whole}", cloud.attacked, np.arange(n)),
        ("(b) their views", cloud.views.reshape(-1, width), each),
        ("(b) one point per picture: the mean of its views", mean, np.arange(n)),
    )
    return tuple(
        separation(what, features, cloud.label[picture], picture, neighbours)
        for what, features, picture in rows
    )


def separation(
    what: str, features: np.ndarray, label: np.ndarray, picture: np.ndarray, neighbours: int
) -> Separation:
    """One row of :func:`separations`. features (P, D) unit rows; label, picture (P,) int."""
    from sklearn.metrics import silhouette_score  # a second to import: not when the page starts

    classes = np.unique(label)
    score = np.nan
    if 2 <= len(classes) < len(label):
        score = float(silhouette_score(features, label, metric="cosine"))
    cosine = np.asarray(features, np.float64) @ np.asarray(features, np.float64).T
    other = picture[:, None] != picture[None, :]
    fewest = min(len(np.unique(picture[label == k])) for k in classes)  # pictures of a class
    enough = min(neighbours, max(fewest - 1, 1), int(other.sum(1).min()))
    purity = chance = np.nan
    if enough:
        nearest = np.argsort(np.where(other, -cosine, np.inf), axis=1, kind="stable")[:, :enough]
        purity = float((label[nearest] == label[:, None]).mean())
        same = (label[:, None] == label[None, :]) & other
        chance = float((same.sum(1) / other.sum(1)).mean())
    return Separation(what, len(label), score, purity, enough, chance)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True).clip(1e-12)
