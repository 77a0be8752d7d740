"""Algorithm 1 of the paper: one decision from the views of one picture.

``decide`` is a pure function. The same views, prompts, cache and settings give the same trace. The given cache is not
changed; the updated one is returned beside the trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice

import torch
from torch import Tensor

from rita_demo.method import cache as cache_state
from rita_demo.method.confidence import assess, view_weight
from rita_demo.method.cost import text_mean, unit, view_cost, view_log_probability
from rita_demo.method.procrustes import align
from rita_demo.method.sinkhorn import Problem, differentiable_distance, transport_options, transports
from rita_demo.method.step_back import crop_offset, step_back
from rita_demo.method.tuning import Prompts, tune
from rita_demo.process.cpu_threads import single_threaded
from rita_demo.process.cuda_graphs import exact_products
from rita_demo.process.host_copies import on_host
from rita_demo.records import CacheState, CacheUpdate, Confidence, Trace, Transport, Tuning, Verdict
from rita_demo.settings import Settings


def decide(
    view_features: Tensor,
    prompts: Prompts,
    cache: CacheState,
    settings: Settings,
    tuning: Tuning | None = None,
    view_mask: Tensor | None = None,
    area_fraction: Tensor | None = None,
) -> tuple[Trace, CacheState]:
    """``argmin_k d_OT(k) + alpha d_cOT(k)`` (definition 12), in the order of Algorithm 1. Returns the trace, and the
    cache after this picture. The caller decides whether to keep that cache: the clean and the attacked picture are both
    decided from the same earlier cache.

    Args:
        view_features: (N, D) features of the views, view 0 first.
        prompts: the class prompts.
        cache: the cache before this picture; it is not changed.
        settings: all settings of the method.
        tuning: the ``tuning`` of an earlier trace with the same views, prompts and tuning settings. It saves the prompt
            update when another setting changes.
        view_mask: (N,) bool, the views that take part; None: all. The others carry no mass, enter neither cache nor
            loss, and keep their row in the trace.
        area_fraction: (N,) area of each view as a share of the square, in (0, 1], for ``view_weight`` ``area`` and
            ``shown`` and for ``step_back``. None: unknown; the views have equal weight and there is no step."""
    one = Views(view_features, tuning, view_mask, area_fraction)
    return decide_in_turn([one], prompts, cache, settings)[0]


@dataclass(frozen=True)
class Views:
    """The views of one picture, as :func:`decide` takes them."""

    features: Tensor
    tuning: Tuning | None = None
    mask: Tensor | None = None
    area_fraction: Tensor | None = None


def decide_in_turn(
    pictures: Sequence[Views], prompts: Prompts, cache: CacheState, settings: Settings
) -> list[tuple[Trace, CacheState]]:
    """:func:`decide` on several pictures with the same number of views, each from the cache after the one before.

    What enters the cache depends on the views' confidence and not on the transport: the caches come first, and then the
    transports of all pictures are solved at once. ``seconds`` of a trace has an equal share of what is done for all."""
    timers, device = [_StageTimer(one.features.device) for one in pictures], prompts.features.device
    together = _StageTimer(device)
    with torch.no_grad():
        moved = [_step_views_back(one, prompts, settings, stage) for one, stage in zip(pictures, timers)]
        with single_threaded(), exact_products(device):  # dozens of small operations per stage
            judged = [_judge(one, prompts, settings, stage) for one, stage in zip(moved, timers)]
            with together("cache"):
                known = _known_on_host(judged)
            prepared = []
            for one, seen, stage in zip(judged, known, timers):
                prepared.append(_prepare(one, *seen, prompts, cache, settings, stage))
                cache = prepared[-1].after
            with together("transport"):
                solved = transports([p for one in prepared for p in one.problems], **transport_options(settings))
                distances = torch.stack([one.distance for one in solved]).cpu()
            for timer in timers:
                for name, seconds in together.seconds.items():
                    timer.add(name, seconds / len(timers))
            each = iter(zip(solved, distances))
            return [(one.finish(list(islice(each, len(one.problems)))), one.after) for one in prepared]


@dataclass(frozen=True)
class _Moved:
    """Views (N, D) after the step back, and before (``unmoved``). ``offset``: how far the whole square was from the mean of
    its crops; ``tuning``: the prompt update."""

    x: Tensor
    unmoved: Tensor
    offset: float
    tuning: Tuning
    views: Views


def _step_views_back(views: Views, prompts: Prompts, settings: Settings, stage: _StageTimer) -> _Moved:
    """The prompt update and the step back."""
    with stage("views"):
        x = unit(views.features)  # x_1..x_N, at least float32
    with stage("tuning"):  # omega <- AdamW(omega), s times
        tuning = views.tuning or tune(prompts, x if views.mask is None else x[views.mask], settings)
    with stage("views"):
        offset = float(crop_offset(x, views.area_fraction, views.mask).norm())
        return _Moved(step_back(x, settings.step_back, views.area_fraction, views.mask), x, offset, tuning, views)


@dataclass(frozen=True)
class _Judged:
    """What the prompts z (K, M, D), or the initial ones, say of moved views: ``judges`` are these prompts, ``zbar`` (K, D) their
    means, ``weight`` (N,) the views' masses."""

    moved: _Moved
    judges: Tensor
    zbar: Tensor
    confidence: Confidence
    weight: Tensor


def _judge(moved: _Moved, prompts: Prompts, settings: Settings, stage: _StageTimer) -> _Judged:
    """p_n, H_n and the pseudo-labels."""
    x, views = moved.x, moved.views
    judges = moved.tuning.features if settings.cache_text == "tuned" else prompts.features
    with stage("confidence"):
        confidence = assess(x, judges, prompts.weight, prompts.temperature, settings)
        if views.mask is not None:
            confidence = replace(confidence, kept=confidence.kept & views.mask)
        zbar = text_mean(judges, prompts.weight)
        a = view_weight(x, confidence, settings.view_weight, views.area_fraction, views.mask)
    return _Judged(moved, judges, zbar, confidence, a)


def _known_on_host(judged: Sequence[_Judged]) -> list[tuple[Tensor, Confidence]]:
    """Views and confidence of each picture where the cache is kept; its bookkeeping asks for single numbers."""
    parts = [(one.moved.x, c.entropy, c.label, c.kept) for one in judged for c in [one.confidence]]
    host = iter(on_host(list(chain(*parts))))
    known = zip(judged, host, host, host, host)  # four tensors of each
    return [(x, replace(one.confidence, entropy=H, label=k, kept=kept)) for one, x, H, k, kept in known]


@dataclass(frozen=True)
class _Prepared:
    """A decision that waits for its transports. ``after``: the cache for the next picture. ``finish``: from the solved
    ``problems``, each with its distances (K,) on the CPU, to the trace."""

    problems: list[Problem]
    after: CacheState
    finish: Callable[[list[tuple[Transport, Tensor]]], Trace]


def _prepare(
    judged: _Judged,
    views: Tensor,
    known: Confidence,
    prompts: Prompts,
    cache: CacheState,
    settings: Settings,
    stage: _StageTimer,
) -> _Prepared:
    """Algorithm 1 after the confidence: cache, d_OT, d_cOT, argmin. ``views``, ``known``: of the judged ones, on the CPU."""
    moved, judges, zbar, a = judged.moved, judged.judges, judged.zbar, judged.weight
    x, tuning, z, off = moved.x, moved.tuning, moved.tuning.features, settings.protocol == "off"
    before = cache_state.resize(cache, settings.slots)
    if settings.protocol != "stream":
        before = cache_state.cleared(before)
    cost_to = partial(_cost_to, x, prompts.temperature, settings)
    with stage("cache"):  # the confident views enter
        after, cache_update = before, CacheUpdate((), ())
        if not off:
            after, cache_update = cache_state.update(before, views, known, views_per_image=settings.views_per_image)
        used = after if settings.order == "update_first" else before
        # the cache lies where its bookkeeping is done, on the CPU; its features may be needed elsewhere
        alignment = align(used.features.to(x.device), used.count.to(x.device), zbar, settings.completion)
    with stage("transport"):  # d_OT(k) and d_cOT(k) for all k
        tuned = not torch.equal(z, prompts.features)
        both = [prompts.features, z] if tuned else [z]
        problems = [(cost_to(one, prompts.weight), a, prompts.weight) for one in both]
        if not off:
            atoms, weight = cache_state.cache_atoms(used, alignment, zbar, settings.empty_class)
            problems.append((cost_to(atoms, weight), a, weight))

    def finish(solved: list[tuple[Transport, Tensor]]) -> Trace:
        with stage("decision"):  # argmin
            cache_transport, cache_distance = (None, torch.zeros_like(solved[0][1])) if off else solved.pop()
            untuned, (prompt_transport, distance) = solved[0][0], solved[-1]
            alpha = 0.0 if off else settings.cache_weight
            total = distance + alpha * cache_distance
            verdict = _verdict(total, alpha, prompts.temperature)
            cache_verdict = None if cache_transport is None else _verdict(cache_distance, 0.0, prompts.temperature)
            before_step = None
            if settings.step_back:
                seen = view_log_probability(moved.unmoved, judges, prompts.weight, prompts.temperature)
                before_step = seen.argmax(-1)
        return Trace(
            view_features=x,
            crop_offset=moved.offset,
            step_back_distance=settings.step_back * moved.offset**3,
            confidence=judged.confidence,
            view_weight=a,
            tuning=tuning,
            prompt_features=z,
            prompt_weight=prompts.weight,
            untuned_prompt_transport=untuned,
            prompt_transport=prompt_transport,
            cache=used,
            alignment=alignment,
            cache_transport=cache_transport,
            cache_distance=cache_distance,
            total=total,
            verdict=verdict,
            cache_update=cache_update,
            seconds=stage.seconds,
            cache_verdict=cache_verdict,
            label_before_step=before_step,
        )

    return _Prepared(problems, cache if off else after, finish)


def _verdict(total: Tensor, alpha: float, temperature: float) -> Verdict:
    """``softmax_k(-total_k / ((1 + alpha) tau))``; the margin is the second lowest total minus the lowest. The division
    by 1 + alpha keeps the probability unchanged when the cache distance equals the prompt distance."""
    ordered = total.sort(stable=True)
    margin = float(ordered.values[1] - ordered.values[0]) if len(total) > 1 else 0.0
    probability = (-total / ((1 + alpha) * temperature)).softmax(0)
    return Verdict(int(ordered.indices[0]), probability, margin, "cosine distance")


def decision_logits(
    x: Tensor,
    prompts: Prompts,
    cache: CacheState,
    settings: Settings,
    area_fraction: Tensor | None = None,
    through_plan: bool = False,
) -> Tensor:
    """``-(d_OT + alpha d_cOT) / ((1 + alpha) tau)`` (K,), whose softmax is RITA's probability.

    The values are those of :func:`rita_demo.method.rita.decide`. In the gradient the transport plans, the tuned
    prompts, the views' weights and the cache are constants: by the envelope theorem the derivative of the entropic
    value with respect to the cost is the plan, divided by the moved mass, and the first step of AdamW is a sign, whose
    derivative is zero almost everywhere. The gradient includes ``step_back``.

    Args:
        x: (N, D) unit view features, view 0 first, part of a graph.
        prompts, cache, settings, area_fraction: as for :func:`rita_demo.method.rita.decide`.
        through_plan: the plan also depends on the cost, as the ``linear`` objective needs
            (:func:`rita_demo.method.sinkhorn.linear_gradient`). Without it the plan is a constant."""
    lam = settings.entropy_weight if through_plan and settings.objective == "linear" else None
    trace, _ = decide(x.detach(), prompts, cache, settings, area_fraction=area_fraction)
    x = step_back(x, settings.step_back, area_fraction)
    cost_to = partial(_cost_to, x, prompts.temperature, settings)
    total = differentiable_distance(trace.prompt_transport, cost_to(trace.prompt_features, prompts.weight), lam)
    alpha = 0.0 if settings.protocol == "off" else settings.cache_weight
    if trace.cache_transport is not None and alpha:
        judges = trace.prompt_features if settings.cache_text == "tuned" else prompts.features
        zbar = text_mean(judges, prompts.weight)
        atoms = cache_state.cache_atoms(trace.cache, trace.alignment, zbar, settings.empty_class)
        total = total + alpha * differentiable_distance(trace.cache_transport, cost_to(*atoms), lam)
    return -total / ((1 + alpha) * prompts.temperature)


def _cost_to(x: Tensor, temperature: float, settings: Settings, atoms: Tensor, weight: Tensor) -> Tensor:
    """The cost (K, N, M) of moving the views ``x`` (N, D) onto atoms (K, M, D) with weights (K, M)."""
    return view_cost(settings.cost, x, atoms, weight, temperature)


class _StageTimer:
    """``with timer(name):`` adds the wall time of a stage to ``seconds``; it waits for the accelerator."""

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = {}
        self._device = device

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self._wait()
        start = time.perf_counter()
        yield
        self._wait()
        self.add(name, time.perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to a stage."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
