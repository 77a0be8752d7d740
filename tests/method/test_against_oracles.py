"""RITA's decision against the slow oracle: a stream of pictures for every setting, one changed at a time; and its gradient."""

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo.method import cache as cache_state
from rita_demo.method import decide, decision_logits, empty
from rita_demo.method.theorem import kl_to_one_hot
from rita_demo.records import CacheState, Trace
from rita_demo.settings import PRESETS, RECOMMENDED, SETTINGS, Settings
from tests.oracles import algorithm1 as slow
from tests.oracles.compare import DECISIVE_MARGIN, TOLERANCES, check_cache, check_decision
from tests.oracles.toy_model import TAU, D, K, ToyModel, make_toy_model

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
    "cost": ("cosine", "loglik"),
    "transported_mass": (1.0, 0.5, 0.25, 0.05),
    "view_weight": ("uniform", "confidence", "agreement", "area", "shown"),
    "step_back": (0.0, 0.3, 5.0),
    "tuning_steps": (0, 1, 4),
    "tuning_rate": (0.0, 0.005, 0.05),
    "tuning_loss": ("marginal", "pointwise", "transport", "none"),
    "subset_size": (1, 8, 64),
}
#: Pixels, crops, texts and limits of the solver do not act on given features; they are tested elsewhere.
TESTED_ELSEWHERE = {n for n, s in SETTINGS.items() if s.group in ("attack", "views", "prompts", "baselines")}
TESTED_ELSEWHERE |= {"sinkhorn_tolerance", "sinkhorn_iterations"}
ROWS: list[tuple[str, dict[str, Any]]] = [
    (base, {name: value})
    for base, settings in PRESETS.items()
    for name, values in ALTERNATIVES.items()
    for value in values
    if value != getattr(settings, name)
]
COMBINATIONS: list[tuple[str, dict[str, Any]]] = [
    ("recommended", {}),
    ("paper", {}),
    ("recommended", {"view_weight": "area"}),
    ("recommended", {"view_weight": "shown"}),
    ("recommended", {"step_back": 0.4, "order": "update_first", "cost": "loglik", "tuning_loss": "transport"}),
    ("recommended", {"cache_text": "tuned", "order": "update_first", "tuning_rate": 0.05}),
    ("recommended", {"objective": "entropic", "view_weight": "confidence", "tuning_loss": "transport"}),
    ("recommended", {"objective": "kl", "empty_class": "zero", "cache_weight": 1.0, "slots": 1}),
    ("recommended", {"cost": "loglik", "empty_class": "zero", "tuning_loss": "transport", "entropy_weight": 0.1}),
    ("paper", {"tuning_loss": "pointwise", "subset_size": 6, "tuning_steps": 3, "entropy_weight": 0.02}),
]


def named(row: tuple[str, dict[str, Any]]) -> str:
    return "-".join([row[0], *(f"{name}={value}" for name, value in row[1].items())])


@cache
def toy_model_of(padded: bool) -> ToyModel:
    return make_toy_model(padded=padded)


def ours(x: F, toy: ToyModel, state: CacheState, settings: Settings) -> tuple[Trace, CacheState]:
    """The implementation, in the number type of the given cache."""
    dtype = state.features.dtype
    prompts = toy.prompts(dtype)
    shown = torch.tensor(toy.area_fraction)
    return decide(torch.tensor(x, dtype=dtype), prompts, state, settings, area_fraction=shown)


def compare_stream(
    row: tuple[str, dict[str, Any]], *, padded: bool = False, dtype: torch.dtype = torch.float64, pictures: int = 6
) -> list[SimpleNamespace]:
    """Both implementations decide the same stream with their own caches; every stage is compared."""
    toy, atol = toy_model_of(padded), TOLERANCES[dtype]
    tolerance = 1e-9 if dtype == torch.float64 else 1e-6
    settings = PRESETS[row[0]].replace(**row[1], sinkhorn_tolerance=tolerance, sinkhorn_iterations=20_000)
    state = cache_state.empty(K, settings.slots, D, "toy", torch.device("cpu"), dtype)
    slow_cache = slow.empty_cache(K)
    decisions = []
    for x in toy.pictures[:pictures]:
        trace, state = ours(x, toy, state, settings)

        def aligned_by(k: int, trace: Trace = trace) -> F:
            return trace.alignment.aligned[k, : int(trace.cache.count[k])].double().numpy()

        expected, slow_cache = slow.decide(
            x,
            toy.encode,
            toy.context,
            toy.z_weight,
            TAU,
            slow_cache,
            settings,
            toy.area_fraction,
            aligned_by if settings.completion == "svd" else None,
        )
        check_decision(trace, expected, settings, toy, atol)
        check_cache(state, slow_cache, atol)
        decisions.append(expected)
    assert sum(d.margin < DECISIVE_MARGIN for d in decisions) <= 1, "too many decisions depend on rounding"
    return decisions


def test_every_setting_is_tested_here_or_listed_as_tested_elsewhere() -> None:
    assert set(ALTERNATIVES) | TESTED_ELSEWHERE == set(SETTINGS)
    assert not set(ALTERNATIVES) & TESTED_ELSEWHERE
    for name, values in ALTERNATIVES.items():
        assert set(SETTINGS[name].choices) <= set(values), name


@pytest.mark.slow
@pytest.mark.parametrize("row", COMBINATIONS + ROWS, ids=named)
def test_stream_decisions_equal_the_oracle(row: tuple[str, dict[str, Any]]) -> None:
    # settings that do not concern the cache act from the first picture on: three pictures are enough
    uses_cache = row in COMBINATIONS or any(SETTINGS[name].group == "cache" for name in row[1])
    compare_stream(row, pictures=6 if uses_cache else 3)


@pytest.mark.parametrize("row", COMBINATIONS[:4], ids=named)
def test_float32_decisions_equal_the_float64_oracle(row: tuple[str, dict[str, Any]]) -> None:
    compare_stream(row, dtype=torch.float32)


@pytest.mark.slow
@pytest.mark.parametrize("row", COMBINATIONS, ids=named)
def test_decisions_with_fewer_prompts_equal_the_oracle(row: tuple[str, dict[str, Any]]) -> None:
    compare_stream(row, padded=True, pictures=3)


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_stream_covers_the_important_cases(preset: str) -> None:
    """Views on both sides of the limit, full and empty classes, and replacements occur in the tests above."""
    decisions = compare_stream((preset, {}))
    sizes = [len(items) for items in decisions[-1].used.classes]
    assert all(0 < sum(d.confident) < len(d.confident) for d in decisions)
    assert len({d.label for d in decisions}) > 1
    assert max(sizes) == 3
    assert any(not items for d in decisions for items in d.used.classes)
    assert sum(len(d.entered) for d in decisions) > sum(sizes)
    assert max(np.abs(d.update.movement).max() for d in decisions) > 1e-3


@pytest.mark.parametrize("padded", [False, True])
def test_kl_to_one_hot_equals_the_oracle(padded: bool) -> None:
    toy = toy_model_of(padded)
    x = np.concatenate(toy.pictures)
    labels = np.random.default_rng(0).integers(0, K - 1, size=len(x))  # the last class has none
    z = toy.encode(toy.context)
    fast = kl_to_one_hot(
        torch.tensor(x), torch.tensor(labels), torch.tensor(z), torch.tensor(toy.z_weight), temperature=TAU
    )
    expected = slow.kl_to_one_hot(x, labels.tolist(), z, toy.z_weight, TAU)
    np.testing.assert_allclose(fast.numpy(), expected, atol=1e-8)
    assert np.isnan(expected[-1])


TIGHT = {"sinkhorn_tolerance": 1e-9, "sinkhorn_iterations": 5000, "max_entropy": 0.6}


def cache_after(toy: ToyModel, settings: Settings, pictures: int = 3) -> CacheState:
    K, _, D = toy.encode(toy.context).shape
    state = empty(K, settings.slots, D, dtype=torch.float64)
    for cloud in toy.pictures[:pictures]:
        _, state = decide(torch.tensor(cloud), toy.prompts(), state, settings)
    return state


@pytest.mark.parametrize("cost", ["cosine", "loglik"])
@pytest.mark.parametrize(
    "changes", [{}, {"empty_class": "zero", "cache_weight": 2.0, "step_back": 2.0}, {"objective": "kl"}], ids=str
)
def test_gradient_through_the_plans_of_prompts_and_memory_is_that_of_the_linear_cost(cost: str, changes: dict) -> None:
    """Without tuning, finite differences of the decision from a filled memory agree for both costs of a view."""
    toy = make_toy_model(padded=True)
    settings = RECOMMENDED.replace(cost=cost, tuning_steps=0, cache_weight=1.0, **TIGHT).replace(**changes)
    prompts, cache, shown = toy.prompts(), cache_after(toy, settings), torch.tensor(toy.area_fraction)
    assert 0 < (cache.count > 0).sum() < len(cache.count)
    x = torch.tensor(toy.pictures[4], requires_grad=True)
    along = torch.tensor(np.random.default_rng(1).normal(size=x.shape))
    answer = decision_logits(x, prompts, cache, settings, shown)
    decided = [
        decide(x.detach() + h * along, prompts, cache, settings, area_fraction=shown)[0].total for h in (0, 1e-5, -1e-5)
    ]
    scale = -1 / ((1 + settings.cache_weight) * TAU)
    assert torch.allclose(answer, scale * decided[0], atol=1e-9)
    for k, slope in enumerate(scale * (decided[1] - decided[2]) / 2e-5):
        (gradient,) = torch.autograd.grad(answer[k], x, retain_graph=True)
        assert float((gradient * along).sum()) == pytest.approx(float(slope), rel=1e-3, abs=1e-3)
