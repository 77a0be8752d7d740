"""Compares RITA's traces with the slow decisions; the tolerances with their reasons."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from rita_demo.records import CacheState, Trace, Transport
from rita_demo.settings import Settings
from tests.oracles import algorithm1 as slow
from tests.oracles.toy_model import ToyModel
from tests.oracles.transport import Solution

F = np.ndarray

# Labels are compared from this margin of the slow decision on; one picture of a stream may have less.
DECISIVE_MARGIN = 5e-4


@dataclass(frozen=True)
class Tolerance:
    """Absolute tolerances."""

    plan: float
    distance: float
    entropy: float
    weight: float
    context: float  # movement of a context and loss after it
    prompts: float  # entries of a tuned prompt
    probability: float
    feature: float


# In float64 the errors are Sinkhorn's tolerance (1e-9 of the mass, divided by rho = 0.05) and that of central
# differences, 1e-9 of a gradient, which AdamW's division by |g| magnifies for entries near zero.
FLOAT64 = Tolerance(
    plan=1e-7, distance=1e-6, entropy=1e-7, weight=1e-9, context=1e-6, prompts=1e-6, probability=1e-4, feature=1e-9
)
# In float32 cosines have an error of 2e-7; entropies divide them by tau = 0.01; Sinkhorn stops at 1e-6. The error
# of a distance is about 1e-5, that of total / tau 1e-3.
FLOAT32 = Tolerance(
    plan=1e-5, distance=3e-5, entropy=1e-4, weight=2e-5, context=1e-4, prompts=3e-5, probability=5e-3, feature=1e-6
)
TOLERANCES = {torch.float64: FLOAT64, torch.float32: FLOAT32}


def assert_close(mine: torch.Tensor, theirs: F | list, tolerance: float) -> None:
    np.testing.assert_allclose(mine.numpy(), np.asarray(theirs), atol=tolerance, rtol=0)


def check_decision(
    trace: Trace, expected: slow.Decision, settings: Settings, toy: ToyModel, tolerance: Tolerance
) -> None:
    """Every stage of one decision, in order."""
    seen = trace.confidence
    assert_close(trace.view_features, expected.views, tolerance.feature)
    assert_close(seen.entropy, expected.entropy, tolerance.entropy)
    assert seen.label.tolist() == expected.pseudo_label
    assert seen.kept.tolist() == expected.confident
    assert seen.limit == pytest.approx(expected.limit)
    assert_close(trace.view_weight, expected.view_weight, tolerance.weight)
    _check_update(trace, expected, settings, tolerance)
    _check_transport(trace.untuned_prompt_transport, expected.before, settings.transported_mass, tolerance)
    _check_transport(trace.prompt_transport, expected.prompt, settings.transported_mass, tolerance)
    assert trace.cache.count.tolist() == [len(items) for items in expected.used.classes]
    judge = expected.update.features if settings.cache_text == "tuned" else toy.encode(toy.context)
    assert [(event.label, event.view) for event in trace.cache_update.events] == expected.entered
    _check_alignment(trace, expected, slow.text_mean(judge, toy.z_weight), tolerance)
    assert_close(trace.cache_distance, expected.cache_distance, tolerance.distance)
    _check_verdict(trace, expected, tolerance, tolerance.distance * (1 + settings.cache_weight))


def check_cache(state: CacheState, expected: slow.Cache, tolerance: Tolerance) -> None:
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


def _check_update(trace: Trace, expected: slow.Decision, settings: Settings, tolerance: Tolerance) -> None:
    update, tuning = expected.update, trace.tuning
    assert_close(trace.prompt_features, update.features, tolerance.prompts)
    assert_close(tuning.movement, update.movement, tolerance.context)
    assert len(tuning.gradient) == len(update.gradient)
    if settings.tuning_loss != "none" and settings.tuning_steps:
        assert_close(tuning.loss, update.loss, 10 * tolerance.entropy)
        np.testing.assert_allclose(
            tuning.gradient.numpy(), update.gradient, rtol=10 * tolerance.prompts, atol=tolerance.context
        )


def _check_transport(mine: Transport, theirs: list[Solution], rho: float, tolerance: Tolerance) -> None:
    assert mine.converged, mine.outcome
    assert_close(mine.plan, [solution.plan for solution in theirs], tolerance.plan)
    assert_close(mine.distance, [solution.value for solution in theirs], tolerance.distance)
    assert mine.mass == pytest.approx(rho)


def _check_alignment(trace: Trace, expected: slow.Decision, mean: F, tolerance: Tolerance) -> None:
    """Properties of every minimiser; where it is unique, the aligned vectors themselves."""
    for k, items in enumerate(expected.used.classes):
        if not items:
            continue
        order = _by_age(trace.cache, k)
        after = trace.alignment.aligned[k, order].double().numpy()
        before = np.array([i.feature for i in sorted(items, key=lambda i: (i.born, i.view))])
        np.testing.assert_allclose(after @ after.T, before @ before.T, atol=10 * tolerance.feature)
        reached = np.linalg.norm(before.sum(0)) * mean[k] / np.linalg.norm(mean[k])
        np.testing.assert_allclose(after.sum(0), reached, atol=10 * tolerance.prompts)
        assert float(trace.alignment.resultant_length[k]) == pytest.approx(
            expected.strength[k], abs=10 * tolerance.feature
        )
        ours = trace.alignment.aligned[k, : len(items)].double().numpy()
        slots = [(int(trace.cache.born[k, j]), int(trace.cache.view[k, j])) for j in range(len(items))]
        place = {(item.born, item.view): row for item, row in zip(items, expected.aligned[k])}
        theirs = np.array([place[slot] for slot in slots])
        if not expected.free:
            np.testing.assert_allclose(ours, theirs, atol=10 * tolerance.prompts)


def _check_verdict(trace: Trace, expected: slow.Decision, tolerance: Tolerance, total: float) -> None:
    assert_close(trace.total, expected.total, total)
    assert trace.verdict.label == expected.label or expected.margin < DECISIVE_MARGIN
    assert expected.total[trace.verdict.label] <= expected.total.min() + 2 * total
    assert trace.verdict.margin == pytest.approx(expected.margin, abs=2 * total)
    assert_close(trace.verdict.probability, expected.probability, tolerance.probability)
