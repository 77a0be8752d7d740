"""Every view that entered a stream's cache, and a comparison of two streams' answers and caches."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from rita_demo.evaluation.report.mcnemar import compare_paired, picture_key
from rita_demo.evaluation.store.stream_runs import StreamRun
from rita_demo.records.measurement import (
    AnswerComparison,
    CacheComparison,
    CacheInsertions,
    DifferentAnswer,
    RememberedView,
    StreamTrajectory,
)
from rita_demo.views.boxes import draw_boxes

WITHOUT_CACHE = "rita_prompts"  # RITA with the memory off


def remembered_views(trajectory: StreamTrajectory, t: int) -> tuple[RememberedView, ...]:
    """Every view that entered the cache in the first ``t`` pictures, in order: its place in the tuple is its id."""
    e = trajectory.insertions
    count = int(np.searchsorted(e.picture, t))
    holder: dict[tuple[int, int], int] = {}  # class and slot -> id
    replaced, replaced_by = dict[int, int](), dict[int, int]()
    for number, place in enumerate(zip(e.label[:count].tolist(), e.slot[:count].tolist())):
        if place in holder:
            replaced[number], replaced_by[holder[place]] = holder[place], number
        holder[place] = number
    return tuple(
        RememberedView(
            id=n,
            picture=int(e.picture[n]),
            name=trajectory.pictures[int(e.picture[n])],
            truth=int(trajectory.label[e.picture[n]]),
            attacked=bool(trajectory.attacked[e.picture[n]]),
            label=int(e.label[n]),
            slot=int(e.slot[n]),
            view=int(e.view[n]),
            entropy=float(e.entropy[n]),
            replaced=replaced.get(n),
            gain=None if n not in replaced else float(e.entropy[replaced[n]] - e.entropy[n]),
            replaced_by=replaced_by.get(n),
            left=None if n not in replaced_by else int(e.picture[replaced_by[n]]),
        )
        for n in range(count)
    )


def mean_entropy(insertions: CacheInsertions, pictures: int) -> np.ndarray:
    """(T,) mean entropy in nats of the cached views after each of T ``pictures``; NaN while there are none."""
    total, count = np.zeros(pictures), np.zeros(pictures, int)
    holder: dict[tuple[int, int], float] = {}
    rows = zip(insertions.picture, insertions.label, insertions.slot, insertions.entropy, strict=True)
    for picture, k, slot, entropy in rows:
        place = (int(k), int(slot))
        total[picture] += float(entropy) - holder.get(place, 0.0)
        count[picture] += place not in holder
        holder[place] = float(entropy)
    total, count = total.cumsum(), count.cumsum()
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def view_boxes(one: StreamRun, views: Iterable[RememberedView]) -> dict[int, tuple[float, ...]]:
    """Id -> left, top, right, bottom of a remembered view as fractions of its picture's square, in [0, 1]."""
    rows, found = one.rows(), dict[int, tuple[float, ...]]()
    for view in views:
        settings = one.settings_for(rows[view.picture])
        boxes, _ = draw_boxes(view.view + 1, settings.view_seed, settings.view_scale)
        found[view.id] = tuple(boxes[view.view].tolist())
    return found


def compare_answers(one: StreamRun, other: StreamRun, method: str, t: int) -> AnswerComparison | None:
    """RITA's answers in ``one`` against a method's in ``other``, on the first ``t`` pictures of ``one`` that both have
    and that were attacked alike; None if there are none."""
    if method not in other.cells:
        return None
    first, second = one.rows()[:t], {picture_key(row): row for row in other.rows(method)}
    paired = compare_paired(first, second.values())
    index = {name: k for k, name in enumerate(one.header["names"])}
    if paired is None:
        return None
    different = tuple(_different(first, second, index))
    return AnswerComparison(paired.n, paired.gained, paired.lost, paired.p_value, different)


def _different(
    first: Iterable[dict[str, Any]], second: dict[Any, dict[str, Any]], index: dict[str, int]
) -> Iterable[DifferentAnswer]:
    for number, row in enumerate(first):
        other = second.get(picture_key(row))
        if other is not None and row["answer"] != other["answer"]:
            answers = index[row["label"]], index[row["answer"]], index[other["answer"]]
            yield DifferentAnswer(number, row["picture"], *answers)


def compare_caches(first: Iterable[RememberedView], second: Iterable[RememberedView]) -> CacheComparison:
    """Two caches' held views: which are in both (the same view of the same picture under the same class), and which in
    one only. Both streams have the same class names."""
    here, there = ({(v.name, v.view, v.label): v for v in views if v.left is None} for views in (first, second))
    return CacheComparison(
        both=tuple(here[name] for name in here if name in there),
        only_first=tuple(here[name] for name in here if name not in there),
        only_second=tuple(there[name] for name in there if name not in here),
        purity=(_purity(here.values()), _purity(there.values())),
        entropy=(_mean(v.entropy for v in here.values()), _mean(v.entropy for v in there.values())),
    )


def _purity(views: Iterable[RememberedView]) -> float:
    return _mean(view.truth == view.label for view in views)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")
