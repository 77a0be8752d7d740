"""One comparer for RITA's traces and the slow decisions, with the tolerances and their reasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from rita_demo.records import CacheState, Trace, Transport
from rita_demo.settings import Settings
from tests.oracles import algorithm1 as slow
from tests.oracles.transport import Solution
from tests.oracles.world import World

F = np.ndarray

# A label is compared where the slow margin is at least this; one picture of a stream may be closer.
DECISIVE = 5e-4


@dataclass(frozen=True)
class Room:
    """How far apart two right answers may be, absolutely."""

    plan: float
    distance: float
    entropy: float
    weight: float
    context: float  # movement of a context and loss after it
    prompts: float  # entries of a tuned prompt
    probability: float
    feature: float


# The method computes in the type it is given.  In float64 what is left is Sinkhorn's tolerance (1e-9 of the
# mass, divided by rho = 0.05 and by what the last steps still gain) and the error of central differences,
# 1e-9 of a gradient, which AdamW's division by |g| magnifies for entries near zero.
FLOAT64 = Room(
    plan=1e-7, distance=1e-6, entropy=1e-7, weight=1e-9, context=1e-6, prompts=1e-6, probability=1e-4,
    feature=1e-9,
)  # fmt: skip
# In float32 cosines are right to 2e-7; entropies divide them by tau = 0.01; Sinkhorn stops at 1e-6.  So a
# distance is right to 1e-5 or so, and total / tau to 1e-3.
FLOAT32 = Room(
    plan=1e-5, distance=3e-5, entropy=1e-4, weight=2e-5, context=1e-4, prompts=3e-5, probability=5e-3,
    feature=1e-6,
)  # fmt: skip
ROOMS = {torch.float64: FLOAT64, torch.float32: FLOAT32}


def near(mine: torch.Tensor, theirs: F | list, room: float) -> None:
    np.testing.assert_allclose(mine.numpy(), np.asarray(theirs), atol=room, rtol=0)


def check_decision(
    trace: Trace, expected: slow.Decision, settings: Settings, world: World, room: Room
) -> None:
    """Every stage of one decision, in the order it happens."""
    seen = trace.confidence
    near(trace.view_features, expected.views, room.feature)
    near(seen.entropy, expected.entropy, room.entropy)
    assert seen.label.tolist() == expected.pseudo_label
    assert seen.kept.tolist() == expected.kept
    assert seen.limit == pytest.approx(expected.limit)
    near(trace.view_weight, expected.view_weight, room.weight)
    _check_update(trace, expected, settings, room)
    _check_transport(trace.prompt_before, expected.before, settings.transported_mass, room)
    _check_transport(trace.prompt, expected.prompt, settings.transported_mass, room)
    assert trace.cache.count.tolist() == [len(items) for items in expected.used.classes]
    judge = (
        expected.update.features if settings.cache_text == "tuned" else world.encode(world.context)
    )
    assert [(event.label, event.view) for event in trace.change.events] == expected.entered
    _check_alignment(trace, expected, slow.text_mean(judge, world.z_weight), room)
    near(trace.cache_distance, expected.cache_distance, room.distance)
    _check_verdict(trace, expected, room, room.distance * (1 + settings.cache_weight))


def check_cache(state: CacheState, expected: slow.Cache, room: Room) -> None:
    """The same views of the same pictures in the same classes; slots may be in another order."""
    assert state.pictures == expected.pictures
    assert state.count.tolist() == [len(items) for items in expected.classes]
    for k, items in enumerate(expected.classes):
        theirs = sorted(items, key=lambda item: (item.born, item.view))
        order = _by_age(state, k)
        assert state.born[k, order].tolist() == [item.born for item in theirs]
        assert state.view[k, order].tolist() == [item.view for item in theirs]
        near(state.entropy[k, order], [item.entropy for item in theirs], room.entropy)
        for slot, item in zip(order, theirs):
            near(state.features[k, slot], item.feature, room.feature)


def _by_age(state: CacheState, k: int) -> list[int]:
    slots = range(int(state.count[k]))
    return sorted(slots, key=lambda j: (int(state.born[k, j]), int(state.view[k, j])))


def _check_update(trace: Trace, expected: slow.Decision, settings: Settings, room: Room) -> None:
    update, tuning = expected.update, trace.tuning
    near(trace.prompt_features, update.features, room.prompts)
    near(tuning.movement, update.movement, room.context)
    assert len(tuning.gradient) == len(update.gradient)
    if settings.tuning_loss != "none" and settings.tuning_steps:
        near(tuning.loss, update.loss, 10 * room.entropy)
        np.testing.assert_allclose(
            tuning.gradient.numpy(), update.gradient, rtol=10 * room.prompts, atol=room.context
        )


def _check_transport(mine: Transport, theirs: list[Solution], rho: float, room: Room) -> None:
    assert mine.converged, mine.outcome
    near(mine.plan, [solution.plan for solution in theirs], room.plan)
    near(mine.distance, [solution.value for solution in theirs], room.distance)
    assert mine.mass == pytest.approx(rho)


def _check_alignment(trace: Trace, expected: slow.Decision, mean: F, room: Room) -> None:
    """What every minimiser satisfies; where it is unique, the slow aligned vectors themselves."""
    for k, items in enumerate(expected.used.classes):
        if not items:
            continue
        order = _by_age(trace.cache, k)
        after = trace.alignment.aligned[k, order].double().numpy()
        before = np.array([i.feature for i in sorted(items, key=lambda i: (i.born, i.view))])
        np.testing.assert_allclose(after @ after.T, before @ before.T, atol=10 * room.feature)
        reached = np.linalg.norm(before.sum(0)) * mean[k] / np.linalg.norm(mean[k])
        np.testing.assert_allclose(after.sum(0), reached, atol=10 * room.prompts)
        assert float(trace.alignment.strength[k]) == pytest.approx(
            expected.strength[k], abs=10 * room.feature
        )
        ours = trace.alignment.aligned[k, : len(items)].double().numpy()
        slots = [
            (int(trace.cache.born[k, j]), int(trace.cache.view[k, j])) for j in range(len(items))
        ]
        place = {(item.born, item.view): row for item, row in zip(items, expected.aligned[k])}
        theirs = np.array([place[slot] for slot in slots])
        if not expected.free:
            np.testing.assert_allclose(ours, theirs, atol=10 * room.prompts)


def _check_verdict(trace: Trace, expected: slow.Decision, room: Room, total: float) -> None:
    near(trace.total, expected.total, total)
    assert trace.verdict.label == expected.label or expected.margin < DECISIVE
    assert expected.total[trace.verdict.label] <= expected.total.min() + 2 * total
    assert trace.verdict.margin == pytest.approx(expected.margin, abs=2 * total)
    near(trace.verdict.probability, expected.probability, room.probability)
