"""RITA's decision against the slow oracle: a stream of pictures for every setting, one changed at a time."""

from __future__ import annotations

from functools import cache as remember
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo.baselines.zero_shot import zero_shot
from rita_demo.method import cache as memory
from rita_demo.method.kl import kl_to_one_hot
from rita_demo.method.rita import Prompts, decide
from rita_demo.records import CacheState, Trace
from rita_demo.settings import KNOBS, PRESETS, Settings
from tests.oracles import algorithm1 as slow
from tests.oracles.compare import DECISIVE, ROOMS, check_cache, check_decision
from tests.oracles.world import TAU, D, K, World, make_world

F = np.ndarray

ALTERNATIVES: dict[str, tuple[Any, ...]] = {
    "max_entropy": (0.0, 0.3, 10.0),
    "entropy_unit": ("nats", "share_of_log_k"),
    "slots": (1, 2, 8),
    "cache_weight": (0.0, 0.1, 1.0, 10.0),
    "empty_class": ("zero", "text_mean"),
    "completion": ("svd", "smallest_rotation"),
    "order": ("update_first", "predict_first"),
    "cache_text": ("initial", "tuned"),
    "views_per_image": (0, 1, 3),
    "protocol": ("off", "reset", "stream"),
    "entropy_weight": (0.003, 0.01, 0.1, 10.0),
    "objective": ("linear", "entropic", "kl"),
    "transported_mass": (1.0, 0.5, 0.25, 0.05),
    "view_weight": ("uniform", "confidence", "agreement", "area", "shown"),
    "step_back": (0.0, 0.3, 5.0),
    "tuning_steps": (0, 1, 4),
    "tuning_rate": (0.0, 0.005, 0.05),
    "tuning_loss": ("marginal", "pointwise", "transport", "none"),
    "subset_size": (1, 8, 64),
}
ELSEWHERE = {  # pixels, crops, prompts' words, and how long the solver may run: not on given features
    "attack", "attack_views", "autoattack", "budget", "steps", "attack_seed", "adversarial_roundtrip", "square", "views", "view_seed",
    "view_scale", "views_augmix", "prompts", "context_init", "context_seed", "sinkhorn_tolerance",
    "sinkhorn_iterations", "descriptions", "ensemble_average", "ensemble_weight", "ensemble_step_back", "ensemble_text", "ctpt_weight",
    "hand_prompt",
}  # fmt: skip
ROWS: list[tuple[str, dict[str, Any]]] = [
    (base, {name: value})
    for base, settings in PRESETS.items()
    for name, values in ALTERNATIVES.items()
    for value in values
    if value != getattr(settings, name)
]
TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("recommended", {}),
    ("paper", {}),
    ("recommended", {"view_weight": "area"}),
    ("recommended", {"view_weight": "shown"}),
    ("paper", {"view_weight": "area", "step_back": 2.0}),
    ("recommended", {"protocol": "reset", "order": "update_first"}),
    ("recommended", {"cache_text": "tuned", "order": "update_first", "tuning_rate": 0.05}),
    ("recommended", {"objective": "entropic", "view_weight": "confidence", "tuning_loss": "transport"}),
    ("recommended", {"objective": "kl", "empty_class": "zero", "cache_weight": 1.0, "slots": 1}),
    ("paper", {"transported_mass": 0.3, "view_weight": "agreement", "completion": "smallest_rotation"}),
    ("paper", {"tuning_loss": "pointwise", "subset_size": 6, "tuning_steps": 3, "entropy_weight": 0.02}),
]  # fmt: skip


def named(row: tuple[str, dict[str, Any]]) -> str:
    return "-".join([row[0], *(f"{name}={value}" for name, value in row[1].items())])


@remember
def world_of(padded: bool) -> World:
    return make_world(padded=padded)


def ours(x: F, world: World, cache: CacheState, settings: Settings) -> tuple[Trace, CacheState]:
    """The implementation, in the number type of the cache."""
    dtype = cache.features.dtype
    context = torch.tensor(world.context, dtype=dtype)
    prompts = Prompts(
        encode=world.encode_torch,
        context=context,
        features=world.encode_torch(context),
        weight=torch.tensor(world.z_weight, dtype=dtype),
        temperature=TAU,
    )
    shown = torch.tensor(world.shown)
    return decide(torch.tensor(x, dtype=dtype), prompts, cache, settings, shown=shown)


def compare_stream(
    row: tuple[str, dict[str, Any]],
    *,
    padded: bool = False,
    dtype: torch.dtype = torch.float64,
    pictures: int = 6,
) -> list[slow.Decision]:
    """Both readings decide the same stream, each from its own cache; every stage is compared."""
    world, room = world_of(padded), ROOMS[dtype]
    tolerance = 1e-9 if dtype == torch.float64 else 1e-6
    settings = PRESETS[row[0]].but(
        **row[1], sinkhorn_tolerance=tolerance, sinkhorn_iterations=20_000
    )
    state = memory.empty(K, settings.slots, D, "toy", torch.device("cpu"), dtype)
    notes = slow.Cache.empty(K)
    decisions = []
    for x in world.pictures[:pictures]:
        trace, state = ours(x, world, state, settings)

        def aligned_by(k: int, trace: Trace = trace) -> F:
            return trace.alignment.aligned[k, : int(trace.cache.count[k])].double().numpy()

        expected, notes = slow.decide(
            x, world.encode, world.context, world.z_weight, TAU, notes, settings, world.shown,
            aligned_by if settings.completion == "svd" else None,
        )  # fmt: skip
        check_decision(trace, expected, settings, world, room)
        check_cache(state, notes, room)
        decisions.append(expected)
    assert sum(d.margin < DECISIVE for d in decisions) <= 1, "too much hangs on rounding here"
    return decisions


def test_every_knob_is_tried_or_is_named_as_somebody_elses() -> None:
    assert set(ALTERNATIVES) | ELSEWHERE == set(KNOBS)
    assert not set(ALTERNATIVES) & ELSEWHERE
    for name, values in ALTERNATIVES.items():
        assert set(KNOBS[name].choices) <= set(values), name


@pytest.mark.parametrize("row", TOGETHER + ROWS, ids=named)
def test_a_stream_of_pictures_is_decided_as_the_slow_reading_decides_it(
    row: tuple[str, dict[str, Any]],
) -> None:
    # what does not touch the memory shows from the first picture on: three spare half a minute
    of_the_memory = row in TOGETHER or any(KNOBS[name].group == "cache" for name in row[1])
    compare_stream(row, pictures=6 if of_the_memory else 3)


@pytest.mark.parametrize("row", TOGETHER[:4], ids=named)
def test_float32_decides_as_the_slow_reading_in_float64(row: tuple[str, dict[str, Any]]) -> None:
    compare_stream(row, dtype=torch.float32)


@pytest.mark.parametrize("row", TOGETHER, ids=named)
def test_classes_with_fewer_prompts_are_decided_as_the_slow_reading_decides_them(
    row: tuple[str, dict[str, Any]],
) -> None:
    compare_stream(row, padded=True, pictures=3)


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_stream_exercises_what_it_should(preset: str) -> None:
    """Guards the tests above: views on both sides of the limit, full and empty classes, replacements."""
    decisions = compare_stream((preset, {}))
    sizes = [len(items) for items in decisions[-1].used.classes]
    assert all(0 < sum(d.kept) < len(d.kept) for d in decisions)
    assert len({d.label for d in decisions}) > 1
    assert max(sizes) == 3
    assert any(not items for d in decisions for items in d.used.classes)
    assert sum(len(d.entered) for d in decisions) > sum(sizes)
    assert max(np.abs(d.update.movement).max() for d in decisions) > 1e-3


@pytest.mark.parametrize("picture", range(6))
def test_plain_clip_answers_from_view_zero_as_row_one_says(picture: int) -> None:
    world = world_of(padded=False)
    x, hand = world.pictures[picture], world.encode(world.context)[:, 0]
    verdict = zero_shot(torch.tensor(x), torch.tensor(hand), TAU)
    expected = slow.zero_shot(x[0], hand, TAU)
    np.testing.assert_allclose(verdict.probability.numpy(), expected, atol=1e-9)
    assert verdict.label == expected.argmax()
    assert verdict.margin == pytest.approx(np.sort(expected)[-1] - np.sort(expected)[-2])


@pytest.mark.parametrize("padded", [False, True])
def test_the_kl_to_one_hot_is_the_slow_one(padded: bool) -> None:
    world = world_of(padded)
    x = np.concatenate(world.pictures)
    labels = np.random.default_rng(0).integers(0, K - 1, size=len(x))  # the last class has none
    z = world.encode(world.context)
    fast = kl_to_one_hot(
        torch.tensor(x), torch.tensor(labels), torch.tensor(z), torch.tensor(world.z_weight),
        temperature=TAU,
    )  # fmt: skip
    expected = slow.kl_to_one_hot(x, labels.tolist(), z, world.z_weight, TAU)
    np.testing.assert_allclose(fast.numpy(), expected, atol=1e-8)
    assert np.isnan(expected[-1])
