"""What each cached view contributes to a decision: the same picture decided without it."""

from collections.abc import Generator

import numpy as np

from rita_demo.engine.protocol import Engine
from rita_demo.records import CacheState, Exclusions, Run, Trace, ViewContribution


def lead(total: np.ndarray, label: int) -> float:
    """By how much the class ``label`` is ahead of the best other one, in cosine distance; negative: behind."""
    return float(np.delete(total, label).min() - total[label])


def leave_one_out_steps(
    engine: Engine, run: Run, state: CacheState
) -> Generator[int, None, tuple[ViewContribution, ...]]:
    """Decide the run's delivered picture from the cache ``state``, and without each of its views.

    A view only enters the cost of the class that it is stored under, so the views of one slot are left out of all classes
    at once: J decisions instead of one per view. The prompt update is the run's, so nothing is encoded. Yields how many
    slots are done; returns one record per view, class after class."""
    counts = np.asarray(state.count)

    def decide(slot: int | None) -> Trace:
        left_out = () if slot is None else ((k, slot) for k in np.flatnonzero(counts > slot).tolist())
        side, exclusions = run.attacked, Exclusions(cache_items=frozenset(left_out))
        return engine.decide(
            side.encoded_views, run.class_prompts, state, run.settings, tuning=side.trace.tuning, exclusions=exclusions
        )[0]

    full, found = decide(None), list[ViewContribution]()
    for slot in range(int(counts.max(initial=0))):
        without = decide(slot)
        for k in np.flatnonzero(counts > slot).tolist():
            total = np.array(full.total)
            total[k] = without.total[k]
            gained = lead(full.total, run.label) - lead(total, run.label)
            distance = float(full.cache_distance[k] - without.cache_distance[k])
            found.append(ViewContribution(k, slot, gained, distance, full.verdict.label, int(total.argmin())))
        yield slot + 1
    return tuple(sorted(found, key=lambda one: (one.k, one.slot)))
