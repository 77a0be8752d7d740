"""A story as JSON and as arrays, exactly as the command line promises (README, "From a terminal")."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from rita_demo.records import Side, Story, Verdict


def to_json(story: Story) -> dict[str, Any]:
    """``explain --json``: classes, settings, threat model, device, timings, clean and attacked answers.

    ``attacked`` repeats ``clean`` with ``linf`` = ``l2`` = 0 and ``fooled`` = False when nothing was attacked.
    """
    attack = story.attack
    attacked = _side_json(story.attacked, story) | {
        "linf": float(attack.linf) if attack else 0.0,
        "l2": float(attack.l2) if attack else 0.0,
        "fooled": bool(attack.fooled) if attack else False,
        "already_wrong": bool(attack.already_wrong) if attack else False,
    }
    return {
        "classes": list(story.bank.names),
        "label": story.bank.names[story.label],
        "label_given": story.label_given,
        "unknown_words": {n: list(w) for n, w in zip(story.bank.names, story.bank.unknown) if w},
        "settings": story.settings.as_dict(),
        "threat_model": _plain(asdict(story.threat)),
        "backbone": story.backbone.name,
        "device": story.backbone.device,
        "timings": {name: round(value, 6) for name, value in story.seconds.items()},
        "clean": _side_json(story.clean, story),
        "attacked": attacked,
    }


def _side_json(side: Side, story: Story) -> dict[str, Any]:
    methods = {name: _verdict_json(v, story.bank.names) for name, v in side.verdicts.items()}
    trace = side.trace
    methods["rita"] |= {
        "prompt_distance": _plain(trace.prompt.distance),
        "cache_distance": _plain(trace.cache_distance),
        "total": _plain(trace.total),
    }
    return {"methods": methods}


def _verdict_json(verdict: Verdict, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "label": names[verdict.label],
        "probability": float(verdict.probability[verdict.label]),
        "margin": float(verdict.margin),
        "margin_unit": verdict.margin_unit,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [float(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def to_arrays(story: Story) -> dict[str, np.ndarray]:
    """``explain --arrays``: RITA on the delivered picture exactly as it decided; from these alone
    numpy recomputes the decision. Shapes: N views, K classes, M prompts, J slots, D width.
    ``text_mean`` is zbar_k, what a class without memory is compared with (``empty_class=text_mean``).
    """
    glance, trace = story.attacked.glance, story.attacked.trace
    tuned = story.settings.cache_text == "tuned"
    prompts = trace.prompt_features if tuned else story.bank.features
    arrays = {
        "view_features": trace.view_features,  # (N, D)
        "prompt_features": trace.prompt_features,  # (K, M, D)
        "view_weight": trace.view_weight,  # (N,)
        "prompt_weight": trace.prompt_weight,  # (K, M)
        "prompt_plan": trace.prompt.plan,  # (K, N, M)
        "prompt_distance": trace.prompt.distance,  # (K,)
        "view_entropy": trace.confidence.entropy,  # (N,)
        "boxes": glance.views.boxes,  # (N, 4)
        "cache_features": trace.cache.features,  # (K, J, D)
        "cache_aligned": trace.alignment.aligned,  # (K, J, D)
        "cache_distance": trace.cache_distance,  # (K,)
        "text_mean": np.einsum("kmd,km->kd", prompts, trace.prompt_weight),  # (K, D)
    }
    numbers = {name: np.ascontiguousarray(a, np.float32) for name, a in arrays.items()}
    return numbers | {
        "kept": np.ascontiguousarray(trace.confidence.kept, bool),  # (N,)
        "cache_count": np.ascontiguousarray(trace.cache.count, np.int64),  # (K,)
    }
