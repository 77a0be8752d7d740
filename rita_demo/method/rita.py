"""Algorithm 1 of the paper: one decision from the views of one picture.

``decide`` is a pure function. The same views, prompts, cache and settings give the same trace. The given cache is not
changed; the updated one is returned beside the trace."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice

import torch
from torch import Tensor

from rita_demo.method import cache as cache_state
from rita_demo.method.confidence import assess, crop_offset, step_back, view_weight
from rita_demo.method.cost import text_mean, unit, view_cost, view_log_probability
from rita_demo.method.procrustes import align_together
from rita_demo.method.sinkhorn import Problem, differentiable_distance, transport_options, transports
from rita_demo.method.tuning import Prompts, tune
from rita_demo.process.cpu_threads import single_threaded
from rita_demo.process.gpu import exact_products, on_host
from rita_demo.records import Alignment, CacheState, CacheUpdate, Confidence, Trace, Transport, Tuning, Verdict
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
    transports of all pictures are solved at once. Every stage is done for all of them, so that a GPU is waited for at its end
    only; ``seconds`` of a trace is an equal share."""
    stage = _StageTimer(prompts.features.device)
    with torch.no_grad():
        moved = _step_views_back(pictures, prompts, settings, stage)
        with single_threaded(), exact_products(prompts.features.device):  # dozens of small operations per stage
            with stage("confidence"):  # p_n, H_n, pseudo-labels
                judged = [_judge(picture, prompts, settings) for picture in moved]
            with stage("cache"):  # the confident views enter
                remembered = _remember(judged, cache, settings)
            with stage("transport"):  # d_OT(k) and d_cOT(k) for all k
                problems = _problems(judged, remembered, prompts, settings)
                solved = transports([problem for own in problems for problem in own], **transport_options(settings))
                distances = torch.stack([transport.distance for transport in solved]).cpu()
            with stage("decision"):  # argmin
                each = iter(zip(solved, distances))
                own = [list(islice(each, len(picture))) for picture in problems]
                traces = [_trace(*parts, prompts, settings) for parts in zip(judged, remembered, own)]
    seconds = {name: taken / len(pictures) for name, taken in stage.seconds.items()}
    pairs = zip(traces, remembered, strict=True)
    return [(replace(trace, seconds=dict(seconds)), memory.next_cache) for trace, memory in pairs]


@dataclass(frozen=True)
class _Moved:
    """Views (N, D) after the step back, and before (``unmoved``). ``offset``: how far the whole square was from the mean of
    its crops; ``tuning``: the prompt update."""

    x: Tensor
    unmoved: Tensor
    offset: float
    tuning: Tuning
    views: Views


def _step_views_back(
    pictures: Sequence[Views], prompts: Prompts, settings: Settings, stage: _StageTimer
) -> list[_Moved]:
    """The prompt updates and the steps back."""
    with stage("views"):
        features = [unit(views.features) for views in pictures]  # x_1..x_N, at least float32
    with stage("tuning"):  # omega <- AdamW(omega), s times
        tunings = [
            views.tuning or tune(prompts, x if views.mask is None else x[views.mask], settings)
            for x, views in zip(features, pictures)
        ]
    with stage("views"):
        offsets = [crop_offset(x, views.area_fraction, views.mask).norm() for x, views in zip(features, pictures)]
        return [
            _Moved(step_back(x, settings.step_back, views.area_fraction, views.mask), x, offset, tuning, views)
            for x, offset, tuning, views in zip(features, torch.stack(offsets).tolist(), tunings, pictures)
        ]


@dataclass(frozen=True)
class _Judged:
    """What the prompts ``judges`` (K, M, D), tuned or initial, say of moved views; ``zbar`` (K, D) are their means,
    ``weight`` (N,) the views' masses."""

    moved: _Moved
    judges: Tensor
    zbar: Tensor
    confidence: Confidence
    weight: Tensor


def _judge(moved: _Moved, prompts: Prompts, settings: Settings) -> _Judged:
    x, views = moved.x, moved.views
    judges = moved.tuning.features if settings.cache_text == "tuned" else prompts.features
    confidence = assess(x, judges, prompts.weight, prompts.temperature, settings)
    if views.mask is not None:
        confidence = replace(confidence, kept=confidence.kept & views.mask)
    a = view_weight(x, confidence, settings.view_weight, views.area_fraction, views.mask)
    return _Judged(moved, judges, text_mean(judges, prompts.weight), confidence, a)


@dataclass(frozen=True)
class _Remembered:
    """The cache that a picture is decided with, what entered, and the cache for the next picture; with the alignment."""

    cache: CacheState
    update: CacheUpdate
    next_cache: CacheState
    alignment: Alignment


def _remember(judged: Sequence[_Judged], cache: CacheState, settings: Settings) -> list[_Remembered]:
    """The caches of pictures in turn. Their bookkeeping asks for single numbers: it is done on the CPU, where they lie."""
    parts = [(picture.moved.x, c.entropy, c.label, c.kept) for picture in judged for c in [picture.confidence]]
    host = iter(on_host(list(chain(*parts))))
    used, updates, following = [], [], []
    for picture, x, entropy, label, kept in zip(judged, host, host, host, host):  # four tensors of each
        before = cache_state.resize(cache, settings.slots)
        if settings.protocol != "stream":
            before = cache_state.cleared(before)
        after, update = before, CacheUpdate((), ())
        if settings.protocol != "off":
            known = replace(picture.confidence, entropy=entropy, label=label, kept=kept)
            after, update = cache_state.update(before, x, known, views_per_image=settings.views_per_image)
            cache = after
        used.append(after if settings.order == "update_first" else before)
        updates.append(update)
        following.append(cache)
    alignments = align_together(used, [picture.zbar for picture in judged], settings.completion)
    return [_Remembered(*fields) for fields in zip(used, updates, following, alignments, strict=True)]


def _problems(
    judged: Sequence[_Judged], remembered: Sequence[_Remembered], prompts: Prompts, settings: Settings
) -> list[list[Problem]]:
    """The transports of each picture: to the initial prompts, if these differ from the tuned ones, to those, and to the cache
    if there is one."""
    tuned = torch.stack([(picture.moved.tuning.features != prompts.features).any() for picture in judged]).tolist()
    problems = []
    for picture, own, both in zip(judged, remembered, tuned):
        targets = [(prompts.features, prompts.weight)] if both else []
        targets.append((picture.moved.tuning.features, prompts.weight))
        if settings.protocol != "off":
            targets.append(cache_state.cache_atoms(own.cache, own.alignment, picture.zbar, settings.empty_class))
        costs = [view_cost(settings.cost, picture.moved.x, *target, prompts.temperature) for target in targets]
        problems.append([(cost, picture.weight, weight) for cost, (_, weight) in zip(costs, targets)])
    return problems


def _trace(
    judged: _Judged,
    remembered: _Remembered,
    solved: list[tuple[Transport, Tensor]],
    prompts: Prompts,
    settings: Settings,
) -> Trace:
    """The decision and all that led to it. ``solved``: the picture's transports, each with its distances (K,) on the CPU."""
    moved, off, before_step = judged.moved, settings.protocol == "off", None
    cache_transport, cache_distance = (None, torch.zeros_like(solved[0][1])) if off else solved.pop()
    untuned, (prompt_transport, distance) = solved[0][0], solved[-1]
    alpha = 0.0 if off else settings.cache_weight
    total = distance + alpha * cache_distance
    if settings.step_back:
        seen = view_log_probability(moved.unmoved, judged.judges, prompts.weight, prompts.temperature)
        before_step = seen.argmax(-1)
    return Trace(
        view_features=moved.x,
        crop_offset=moved.offset,
        step_back_distance=settings.step_back * moved.offset**3,
        confidence=judged.confidence,
        view_weight=judged.weight,
        tuning=moved.tuning,
        prompt_features=moved.tuning.features,
        prompt_weight=prompts.weight,
        untuned_prompt_transport=untuned,
        prompt_transport=prompt_transport,
        cache=remembered.cache,
        alignment=remembered.alignment,
        cache_transport=cache_transport,
        cache_distance=cache_distance,
        total=total,
        verdict=_verdict(total, alpha, prompts.temperature),
        cache_update=remembered.update,
        seconds={},
        cache_verdict=None if off else _verdict(cache_distance, 0.0, prompts.temperature),
        label_before_step=before_step,
    )


def _verdict(total: Tensor, alpha: float, temperature: float) -> Verdict:
    """``softmax_k(-total_k / ((1 + alpha) tau))``; the margin is the second lowest total minus the lowest. The division
    by 1 + alpha keeps the probability unchanged when the cache distance equals the prompt distance."""
    ordered = total.sort(stable=True)
    margin = float(ordered.values[1] - ordered.values[0]) if len(total) > 1 else 0.0
    probability = (-total / ((1 + alpha) * temperature)).softmax(0)
    return Verdict(int(ordered.indices[0]), probability, margin, "cosine distance")


def decision_logits(
    x: Tensor, prompts: Prompts, cache: CacheState, settings: Settings, area_fraction: Tensor | None = None
) -> Tensor:
    """``-(d_OT + alpha d_cOT) / ((1 + alpha) tau)`` (K,), whose softmax is RITA's probability.

    The values are those of :func:`rita_demo.method.rita.decide`. In the gradient the tuned prompts, the views' weights and
    the cache are constants: the first step of AdamW is a sign, whose derivative is zero almost everywhere. Under the
    objective ``linear`` the plan depends on the cost (:func:`rita_demo.method.sinkhorn.linear_gradient`); under the others it
    is a constant: by the envelope theorem the derivative of the entropic value with respect to the cost is the plan, divided
    by the moved mass. The gradient includes ``step_back``.

    Args:
        x: (N, D) unit view features, view 0 first, part of a graph.
        prompts, cache, settings, area_fraction: as for :func:`rita_demo.method.rita.decide`."""
    lam = settings.entropy_weight if settings.objective == "linear" else None
    trace, _ = decide(x.detach(), prompts, cache, settings, area_fraction=area_fraction)
    x = step_back(x, settings.step_back, area_fraction)
    cost = view_cost(settings.cost, x, trace.prompt_features, prompts.weight, prompts.temperature)
    total = differentiable_distance(trace.prompt_transport, cost, lam)
    alpha = 0.0 if settings.protocol == "off" else settings.cache_weight
    if trace.cache_transport is not None and alpha:
        judges = trace.prompt_features if settings.cache_text == "tuned" else prompts.features
        zbar = text_mean(judges, prompts.weight)
        atoms = cache_state.cache_atoms(trace.cache, trace.alignment, zbar, settings.empty_class)
        cost = view_cost(settings.cost, x, *atoms, prompts.temperature)
        total = total + alpha * differentiable_distance(trace.cache_transport, cost, lam)
    return -total / ((1 + alpha) * prompts.temperature)


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
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
