"""What each cached view contributes, against a slow loop that removes one view and decides again."""

import numpy as np
import pytest

from rita_demo.pipeline.rerun import leave_one_out_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import CacheState, Run
from tests.toy_model import ToyEngine


def filled(run: Run, seed: int) -> CacheState:
    """A cache whose first two classes are full, whose third holds one view and whose others are empty."""
    rng, empty = np.random.default_rng(seed), run.cache_before
    arrays = {n: np.array(getattr(empty, n)) for n in ("features", "entropy", "born", "view", "count")}
    views = run.attacked.encoded_views.features
    slots = empty.features.shape[1]
    for k, count in ((0, slots), (1, slots), (2, 1)):
        chosen = rng.choice(len(views), count, replace=False)
        arrays["features"][k, :count], arrays["entropy"][k, :count] = views[chosen], rng.random(count)
        arrays["born"][k, :count], arrays["view"][k, :count], arrays["count"][k] = 0, chosen, count
    return CacheState(**arrays, pictures=1, key=empty.key)


def test_each_views_contribution_equals_a_decision_without_it(example_run: Run) -> None:
    engine = ToyEngine(spread=0.2)
    run, state = example_run, filled(example_run, 0)
    steps, side = leave_one_out_steps(engine, run, state), run.attacked

    def decide(cache: CacheState):
        return engine.decide(side.encoded_views, run.class_prompts, cache, run.settings, tuning=side.trace.tuning)[0]

    def lead(total: np.ndarray) -> float:
        return min(float(v) for k, v in enumerate(total) if k != run.label) - float(total[run.label])

    full, found = decide(state), run_to_end(steps)
    places = [(k, slot) for k in range(3) for slot in range(int(state.count[k]))]
    assert [(one.k, one.slot) for one in found] == places
    for one in found:
        less = decide(engine.remove_cache_item(state, one.k, one.slot))
        assert one.distance == pytest.approx(float(full.cache_distance[one.k] - less.cache_distance[one.k]), abs=1e-5)
        assert one.lead == pytest.approx(lead(full.total) - lead(less.total), abs=1e-5)
        assert (one.label, one.label_without) == (full.verdict.label, less.verdict.label)
    assert max(abs(one.distance) for one in found) > 1e-3  # leaving one out is felt
