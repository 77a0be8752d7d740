"""Compares RITA's traces with the slow decisions; the tolerances with their reasons."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rita_demo.records import CacheState, Trace
from rita_demo.settings import Settings
from tests.oracles import algorithm1 as slow
from tests.oracles.toy_model import ToyModel

F = np.ndarray

# Labels are compared from this margin of the slow decision on; one picture of a stream may have less.
DECISIVE_MARGIN = 5e-4


# Absolute tolerances; ``context``: movement of a context and loss after it, ``prompts``: entries of a tuned prompt.
# In float64 the errors are Sinkhorn's tolerance (1e-9 of the mass, divided by rho = 0.05) and that of central
# differences, 1e-9 of a gradient, which AdamW's division by |g| magnifies for entries near zero.
FLOAT64 = SimpleNamespace(
    plan=1e-7, distance=1e-6, entropy=1e-7, weight=1e-9, context=1e-6, prompts=1e-6, probability=1e-4, feature=1e-9
)
# In float32 cosines have an error of 2e-7; entropies divide them by tau = 0.01; Sinkhorn stops at 1e-6. The error
# of a distance is about 1e-5, that of total / tau 1e-3.
FLOAT32 = SimpleNamespace(
    plan=1e-5, distance=3e-5, entropy=1e-4, weight=2e-5, context=1e-4, prompts=3e-5, probability=5e-3, feature=1e-6
)
TOLERANCES = {torch.float64: FLOAT64, torch.float32: FLOAT32}


def assert_close(mine: torch.Tensor, theirs: F | list, tolerance: float) -> None:
    np.testing.assert_allclose(mine.numpy(), np.asarray(theirs), atol=tolerance, rtol=0)


def check_decision(
    trace: Trace, expected: SimpleNamespace, settings: Settings, toy: ToyModel, tolerance: SimpleNamespace
) -> None:
    """Every stage of one decision, in order."""
    seen, update, tuning = trace.confidence, expected.update, trace.tuning
    assert_close(trace.view_features, expected.views, tolerance.feature)
    assert_close(seen.entropy, expected.entropy, tolerance.entropy)
    assert seen.label.tolist() == expected.pseudo_label
    assert seen.kept.tolist() == expected.confident
    assert seen.limit == pytest.approx(expected.limit)
    assert_close(trace.view_weight, expected.view_weight, tolerance.weight)
    assert_close(trace.prompt_features, update.features, tolerance.prompts)
    assert_close(tuning.movement, update.movement, tolerance.context)
    assert len(tuning.gradient) == len(update.gradient)
    if settings.tuning_loss != "none" and settings.tuning_steps:
        assert_close(tuning.loss, update.loss, 10 * tolerance.entropy)
        limits = {"rtol": 10 * tolerance.prompts, "atol": tolerance.context}
        np.testing.assert_allclose(tuning.gradient.numpy(), update.gradient, **limits)
    for mine, theirs in ((trace.untuned_prompt_transport, expected.before), (trace.prompt_transport, expected.prompt)):
        assert mine.converged, mine.outcome
        assert_close(mine.plan, [solution.plan for solution in theirs], tolerance.plan)
        assert_close(mine.distance, [solution.value for solution in theirs], tolerance.distance)
        assert mine.mass == pytest.approx(settings.transported_mass)
    assert trace.cache.count.tolist() == [len(items) for items in expected.used.classes]
    judge = update.features if settings.cache_text == "tuned" else toy.encode(toy.context)
    assert [(event.label, event.view) for event in trace.cache_update.events] == expected.entered
    _check_alignment(trace, expected, slow.text_mean(judge, toy.z_weight), tolerance)
    assert_close(trace.cache_distance, expected.cache_distance, tolerance.distance)
    limit = tolerance.distance * (1 + settings.cache_weight)
    assert_close(trace.total, expected.total, limit)
    assert trace.verdict.label == expected.label or expected.margin < DECISIVE_MARGIN
    assert expected.total[trace.verdict.label] <= expected.total.min() + 2 * limit
    assert trace.verdict.margin == pytest.approx(expected.margin, abs=2 * limit)
    assert_close(trace.verdict.probability, expected.probability, tolerance.probability)


def check_cache(state: CacheState, expected: slow.Cache, tolerance: SimpleNamespace) -> None:
    """The same views of the same pictures in the same classes; the order of the slots may differ."""
    assert state.pictures == expected.pictures
    assert state.count.tolist() == [len(items) for items in expected.classes]
    for k, items in enumerate(expected.classes):
        theirs = sorted(items, key=lambda item: (item.born, item.view))
        order = _by_age(state, k)
        assert state.born[k, order].tolist() == [item.born for item in theirs]
        assert state.view[k, order].tolist() == [item.view for item in theirs]
        assert_close(state.entropy[k, order], [item.entropy for item in theirs], tolerance.entropy)
        for slot, item in zip(order, theirs):
            assert_close(state.features[k, slot], item.feature, tolerance.feature)


def _by_age(state: CacheState, k: int) -> list[int]:
    slots = range(int(state.count[k]))
    return sorted(slots, key=lambda j: (int(state.born[k, j]), int(state.view[k, j])))


def _check_alignment(trace: Trace, expected: SimpleNamespace, mean: F, tolerance: SimpleNamespace) -> None:
    """Properties of every minimiser; where it is unique, the aligned vectors themselves."""
    for k, items in enumerate(expected.used.classes):
        if not items:
            continue
        after = trace.alignment.aligned[k, _by_age(trace.cache, k)].double().numpy()
        by_age = sorted(range(len(items)), key=lambda j: (items[j].born, items[j].view))
        before = np.array([items[j].feature for j in by_age])
        np.testing.assert_allclose(after @ after.T, before @ before.T, atol=10 * tolerance.feature)
        reached = np.linalg.norm(before.sum(0)) * mean[k] / np.linalg.norm(mean[k])
        np.testing.assert_allclose(after.sum(0), reached, atol=10 * tolerance.prompts)
        length = float(trace.alignment.resultant_length[k])
        assert length == pytest.approx(expected.strength[k], abs=10 * tolerance.feature)
        if not expected.free:
            np.testing.assert_allclose(after, expected.aligned[k][by_age], atol=10 * tolerance.prompts)
