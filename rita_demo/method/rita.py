"""Algorithm 1: one glance at a picture, one decision.

``decide`` is pure: the same views, prompts, memory and settings give the same trace, and the memory
that comes back is another value than the one that went in.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rita_demo.method import cache as memory
from rita_demo.method.confidence import assess, view_weight
from rita_demo.method.cost import cosine_cost, text_mean
from rita_demo.method.precision import unit
from rita_demo.method.procrustes import align
from rita_demo.method.sinkhorn import options_of, transport
from rita_demo.method.step_back import off_crops, step_back
from rita_demo.method.tuning import Encode, tune
from rita_demo.records import (
    CacheChange,
    CacheState,
    Confidence,
    Trace,
    Transport,
    Tuning,
    Verdict,
)
from rita_demo.settings import Settings
from rita_demo.threads import one_thread

PROTOCOLS = ("off", "reset", "stream")
ORDERS = ("update_first", "predict_first")


@dataclass(frozen=True)
class Prompts:
    """A vocabulary as the method needs it, without any idea of the model behind it.

    ``encode`` turns contexts (M, L, E) into unit features (K, M, D) and is differentiable;
    ``context`` are the initial contexts and ``features`` (K, M, D) what they encode to; ``weight``
    (K, M) rows sum to 1, 0 for padding; ``temperature`` tau = 1 / logit scale.
    """

    encode: Encode
    context: Tensor
    features: Tensor
    weight: Tensor
    temperature: float


def decide(
    view_features: Tensor,
    prompts: Prompts,
    cache: CacheState,
    settings: Settings,
    tuning: Tuning | None = None,
    present: Tensor | None = None,
    shown: Tensor | None = None,
) -> tuple[Trace, CacheState]:
    """``argmin_k d_OT(k) + alpha d_cOT(k)`` (definition 12) in the order Algorithm 1 prints.

    Args:
        view_features: (N, D) unit features of the views, view 0 first.
        prompts: the vocabulary.
        cache: the memory before this picture; it is not changed.
        settings: every knob of the method.
        tuning: a trace's ``tuning`` for the same views, prompts and tuning settings, so that a
            slider that changes something else does not encode text again.
        present: (N,) bool, the views that count; the others carry no mass, enter no memory and no
            loss, but keep their place in the trace. None: all of them.
        shown: (N,) the share of the square that each view shows, in (0, 1], for ``view_weight=area`` and
            ``step_back``. None: nobody knows; views weigh alike, and no step is taken.

    Returns:
        The trace, and the memory with this picture in it.  The caller decides whether to keep it:
        clean and attacked are both decided from the same earlier memory.

    Raises:
        ValueError: when views, prompts and memory do not fit each other.
    """
    seconds: dict[str, float] = {}
    stage = _stopwatch(seconds, view_features.device)
    tau, initial, z_weight = prompts.temperature, prompts.features, prompts.weight
    before = _fitting(view_features, prompts, cache, settings, present)
    with torch.no_grad():
        with stage("views"):
            x = unit(view_features)  # x_1..x_N, at least float32

        with stage("tuning"):  # omega <- AdamW(omega), s times
            seen_by_loss = x if present is None else x[present]
            tuning = tuning or tune(
                prompts.encode, prompts.context, seen_by_loss, z_weight, settings, tau, initial
            )
            z = tuning.features

        with stage("views"):  # from here on as far from the whole square as ``step_back`` says
            off = float(off_crops(x, shown, present).norm())
            x = step_back(x, settings.step_back, shown, present)

    with torch.no_grad(), one_thread():  # dozens of small operations per stage
        with stage("confidence"):  # p_n, H_n, pseudo-labels
            judges = z if settings.cache_text == "tuned" else initial
            confidence = assess(x, judges, z_weight, temperature=tau, max_entropy=settings.max_entropy,
                                entropy_unit=settings.entropy_unit)  # fmt: skip
            zbar = text_mean(judges, z_weight)
            confidence, a = _weighted(x, confidence, settings.view_weight, present, shown)

        with stage("cache"):  # the confident views enter, before or after they are judged by it
            after, change = _committed(before, cache, x, confidence, settings)
            seen = after if _votes_for_itself(settings) else before
            alignment = align(seen.features, seen.count, zbar, settings.completion)

        with stage("prompt transport"):  # d_OT(k) for all k
            prompt = transport(cosine_cost(x, z), a, z_weight, **options_of(settings))
            prompt_before = _untuned(prompt, x, z, initial, a, z_weight, settings)

        with stage("cache transport"):  # d_cOT(k) for all k
            remembered, d_cache = None, torch.zeros_like(prompt.distance)
            if settings.protocol != "off":
                remembered, d_cache = memory.cache_transport(
                    x,
                    a,
                    seen,
                    alignment,
                    zbar,
                    empty_class=settings.empty_class,
                    **options_of(settings),
                )

        with stage("decision"):
            alpha = 0.0 if settings.protocol == "off" else settings.cache_weight
            total = prompt.distance + alpha * d_cache
            verdict = _verdict(total, alpha, tau)
            by_memory = None if remembered is None else _verdict(d_cache, 0.0, tau)
    return Trace(
        view_features=x,
        off_crops=off,
        stepped=settings.step_back * off**3,
        confidence=confidence,
        view_weight=a,
        tuning=tuning,
        prompt_features=z,
        prompt_weight=z_weight,
        prompt_before=prompt_before,
        prompt=prompt,
        cache=seen,
        alignment=alignment,
        cache_transport=remembered,
        cache_distance=d_cache,
        total=total,
        verdict=verdict,
        change=change,
        seconds=seconds,
        memory_verdict=by_memory,
    ), after


def _fitting(
    view_features: Tensor,
    prompts: Prompts,
    cache: CacheState,
    settings: Settings,
    present: Tensor | None,
) -> CacheState:
    """The memory this decision starts from: none, an emptied one, or the given one, in J places."""
    K, _, D = prompts.features.shape
    if view_features.ndim != 2 or len(view_features) == 0 or view_features.shape[1] != D:
        raise ValueError(f"Views are (N, {D}), N >= 1; got shape {tuple(view_features.shape)}.")
    if present is not None and (present.shape != view_features.shape[:1] or not present.any()):
        raise ValueError("present says for every view whether it counts, and at least one must.")
    if (len(cache.count), cache.features.shape[2]) != (K, D):
        raise ValueError(
            f"The memory must hold {K} classes of width {D}; got shape {tuple(cache.features.shape)}. "
            "Start from an empty one when the vocabulary or the model changes."
        )
    if settings.protocol not in PROTOCOLS or settings.order not in ORDERS:
        raise ValueError(f"Unknown protocol {settings.protocol!r} or order {settings.order!r}.")
    resized = memory.resize(cache, settings.slots)
    return resized if settings.protocol == "stream" else memory.emptied(resized)


def _weighted(
    x: Tensor, confidence: Confidence, kind: str, present: Tensor | None, shown: Tensor | None
) -> tuple[Confidence, Tensor]:
    """The weight of every view, as if the absent ones had never been taken: they weigh 0."""
    if present is None:
        return confidence, view_weight(x, confidence, kind, shown)
    there = replace(confidence, entropy=confidence.entropy[present])
    a = torch.zeros(len(x), dtype=x.dtype, device=x.device)
    seen = None if shown is None else shown[present]
    a[present] = view_weight(x[present], there, kind, seen)
    return replace(confidence, kept=confidence.kept & present), a


def _committed(
    before: CacheState, given: CacheState, x: Tensor, confidence: Confidence, settings: Settings
) -> tuple[CacheState, CacheChange]:
    """Definition 9, or nothing at all when the memory is off: then the given one comes back as it is."""
    if settings.protocol == "off":
        return given, CacheChange((), ())
    return memory.update(before, x, confidence, views_per_image=settings.views_per_image)


def _votes_for_itself(settings: Settings) -> bool:
    return settings.order == "update_first" and settings.protocol != "off"


def _untuned(
    prompt: Transport,
    x: Tensor,
    z: Tensor,
    initial: Tensor,
    a: Tensor,
    z_weight: Tensor,
    settings: Settings,
) -> Transport:
    """The transport onto the prompts as they start; when tuning moved nothing it is the same one."""
    if z is initial or torch.equal(z, initial):
        return prompt
    return transport(cosine_cost(x, initial), a, z_weight, **options_of(settings))


def _verdict(total: Tensor, alpha: float, temperature: float) -> Verdict:
    """``softmax_k(-total_k / ((1 + alpha) tau))``; the margin is the gap to the second lowest total.

    Dividing by 1 + alpha keeps the answer as sure as the prompts alone when the memory agrees.
    """
    ordered = total.sort(stable=True)
    margin = float(ordered.values[1] - ordered.values[0]) if len(total) > 1 else 0.0
    probability = (-total / ((1 + alpha) * temperature)).softmax(0)
    return Verdict(int(ordered.indices[0]), probability, margin, "cosine distance")


def _stopwatch(seconds: dict[str, float], device: torch.device) -> Any:
    """A ``with stage(name):`` that writes wall time into ``seconds``; waits for the accelerator."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        wait()
        start = time.perf_counter()
        yield
        wait()
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

    return stage
