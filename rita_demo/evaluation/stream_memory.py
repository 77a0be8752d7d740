"""Every view that entered a stream's cache, and a comparison of two streams' answers and caches."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rita_demo.evaluation.report.comparisons import compare_paired, picture_key
from rita_demo.evaluation.store.stream_runs import StreamRun
from rita_demo.records.measurement import (
    AnswerComparison,
    CacheComparison,
    DifferentAnswer,
    RememberedView,
    StreamTrajectory,
)
from rita_demo.views import boxes

WITHOUT_CACHE = "rita_prompts"  # RITA with the memory off


def memory_after(views: Sequence[RememberedView], pictures: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of cached views, share of correctly labelled ones and mean entropy in nats, each (T,), after each of T
    ``pictures``; the last two are NaN while there are no views. ``views``: all that entered, in order."""
    at = np.array([view.picture for view in views], int)

    def stored_sum(values: list[float]) -> np.ndarray:
        change = [x - (0 if view.replaced is None else values[view.replaced]) for x, view in zip(values, views)]
        return np.bincount(at, change, pictures).cumsum()

    size = stored_sum([1.0] * len(views))
    known = np.where(size > 0, size, np.nan)
    right, entropy = [float(view.truth == view.label) for view in views], [view.entropy for view in views]
    return size.astype(int), stored_sum(right) / known, stored_sum(entropy) / known


def remembered_views(trajectory: StreamTrajectory, t: int) -> tuple[RememberedView, ...]:
    """Every view that entered the cache in the first ``t`` pictures, in order, as it is known then."""
    return tuple(
        view if view.left is None or view.left < t else replace(view, replaced_by=None, left=None)
        for view in trajectory.insertions
        if view.picture < t
    )


def view_boxes(one: StreamRun, views: Iterable[RememberedView]) -> dict[int, tuple[float, ...]]:
    """Id -> left, top, right, bottom of a remembered view as fractions of its picture's square, in [0, 1]."""
    rows, found = one.rows(), dict[int, tuple[float, ...]]()
    for view in views:
        drawn, _ = boxes.view_boxes(one.settings_for(rows[view.picture]), view.view + 1)
        found[view.id] = tuple(drawn[view.view].tolist())
    return found


def compare_answers(one: StreamRun, other: StreamRun, method: str, t: int) -> AnswerComparison | None:
    """RITA's answers in ``one`` against a method's in ``other``, on the first ``t`` pictures of ``one`` that both have
    and that were attacked alike; None if there are none."""
    if method not in other.cells:
        return None
    first, second = one.rows()[:t], {picture_key(row): row for row in other.rows(method)}
    paired = compare_paired(first, second.values())
    if paired is None:
        return None
    index, different = {name: k for k, name in enumerate(one.header["names"])}, []
    for number, row in enumerate(first):
        theirs = second.get(picture_key(row), row)
        if row["answer"] != theirs["answer"]:
            classes = (index[name] for name in (row["label"], row["answer"], theirs["answer"]))
            different.append(DifferentAnswer(number, row["picture"], *classes))
    return AnswerComparison(paired.n, paired.gained, paired.lost, paired.p_value, tuple(different))


def compare_caches(first: Iterable[RememberedView], second: Iterable[RememberedView]) -> CacheComparison:
    """Two caches' held views: which are in both (the same view of the same picture under the same class), and which in
    one only. Both streams have the same class names."""
    here, there = ({(v.name, v.view, v.label): v for v in views if v.left is None} for views in (first, second))
    return CacheComparison(
        both=tuple(here[name] for name in here if name in there),
        only_first=tuple(here[name] for name in here if name not in there),
        only_second=tuple(there[name] for name in there if name not in here),
        purity=(_mean(v.truth == v.label for v in here.values()), _mean(v.truth == v.label for v in there.values())),
        entropy=(_mean(v.entropy for v in here.values()), _mean(v.entropy for v in there.values())),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")
