"""A run as JSON and as arrays: the formats of ``explain --json`` and ``--arrays`` (docs/command-line.md)."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from safetensors.numpy import save

import rita_demo
from rita_demo.analysis.masking_signs import QUESTIONS
from rita_demo.data.descriptions import missing_note, with_used_descriptions
from rita_demo.records import ImageResult, Run
from rita_demo.settings import Settings


def to_json(run: Run) -> dict[str, Any]:
    """``explain --json``: classes, settings, threat model, device, timings, clean and attacked answers.

    ``masking``: signs of masking; a run can show one, a gradient of zero, so without it the list is None.
    ``attacked`` repeats ``clean`` with ``linf`` = ``l2`` = 0 and ``fooled`` = False when nothing was attacked."""
    attack = run.attack
    attacked = _result_json(run.attacked, run) | {
        "linf": float(attack.linf) if attack else 0.0,
        "l2": float(attack.l2) if attack else 0.0,
        "masking": [QUESTIONS[1]] if attack and attack.gradient == 0 else None,
        "fooled": bool(attack.fooled) if attack else False,
        "already_wrong": bool(attack.already_wrong) if attack else False,
    }
    return {
        "classes": list(run.class_prompts.names),
        "label": run.class_prompts.names[run.label],
        "label_given": run.label_given,
        "unknown_words": {n: list(w) for n, w in zip(run.class_prompts.names, run.class_prompts.unknown) if w},
        "settings": used_settings(run).as_dict(),
        "notes": list(notes(run)),
        "threat_model": asdict(run.threat_model),
        "backbone": run.backbone.name,
        "temperature": float(run.class_prompts.temperature),
        "version": rita_demo.__version__,
        "device": run.backbone.device,
        "timings": {name: round(value, 6) for name, value in run.seconds.items()},
        "clean": _result_json(run.clean, run),
        "attacked": attacked,
    }


def used_settings(run: Run) -> Settings:
    """The settings as they act on the classes of the run: what is printed and stored. ``run.settings`` are the request."""
    return with_used_descriptions(run.settings, run.class_prompts.names)


def notes(run: Run) -> tuple[str, ...]:
    """Sentences on what the settings ask for and is not done, and on class names that the model cannot tell apart."""
    return tuple(filter(None, [missing_note(run.settings, used_settings(run)), run.class_prompts.warning]))


def _result_json(side: ImageResult, run: Run) -> dict[str, Any]:
    methods: dict[str, dict[str, Any]] = {}
    for name, verdict in side.verdicts.items():
        label, probability = run.class_prompts.names[verdict.label], float(verdict.probability[verdict.label])
        methods[name] = {"label": label, "probability": probability, "margin": float(verdict.margin)}
        methods[name]["margin_unit"] = verdict.margin_unit
    trace = side.trace
    methods["rita"] |= {
        "prompt_distance": trace.prompt_transport.distance.tolist(),
        "cache_distance": trace.cache_distance.tolist(),
        "total": trace.total.tolist(),
    }
    faults = {name: str(fault) for name, fault in side.faults.items()}
    return {"methods": methods} | ({"faults": faults} if faults else {})


def to_arrays(run: Run) -> dict[str, np.ndarray]:
    """``explain --arrays``: RITA on the delivered picture exactly as it decided; from these alone
    numpy recomputes the decision. Shapes: N views, K classes, M prompts, J slots, D width.
    ``text_mean`` is zbar_k, what a class without memory is compared with (``empty_class=text_mean``)."""
    trace = run.attacked.trace
    prompts = trace.prompt_features if run.settings.cache_text == "tuned" else run.class_prompts.features
    arrays = {
        "view_features": trace.view_features,  # (N, D)
        "prompt_features": trace.prompt_features,  # (K, M, D)
        "view_weight": trace.view_weight,  # (N,)
        "prompt_weight": trace.prompt_weight,  # (K, M)
        "prompt_plan": trace.prompt_transport.plan,  # (K, N, M)
        "prompt_distance": trace.prompt_transport.distance,  # (K,)
        "view_entropy": trace.confidence.entropy,  # (N,)
        "boxes": run.attacked.encoded_views.views.boxes,  # (N, 4)
        "cache_features": trace.cache.features,  # (K, J, D)
        "cache_aligned": trace.alignment.aligned,  # (K, J, D)
        "cache_distance": trace.cache_distance,  # (K,)
        "temperature": [run.class_prompts.temperature],  # (1,)
        "text_mean": np.einsum("kmd,km->kd", prompts, trace.prompt_weight),  # (K, D)
    }
    numbers = {name: np.ascontiguousarray(a, np.float32) for name, a in arrays.items()}
    return numbers | {
        "kept": np.ascontiguousarray(trace.confidence.kept, bool),  # (N,)
        "cache_count": np.ascontiguousarray(trace.cache.count, np.int64),  # (K,)
    }


def arrays_file(run: Run) -> bytes:
    """:func:`to_arrays` as safetensors, with the version, the backbone and the settings (JSON) as metadata.

    The library writes metadata in an order that differs between processes; here the same run gives the same bytes."""
    data = save(to_arrays(run))
    size = int.from_bytes(data[:8], "little")
    settings = json.dumps(used_settings(run).as_dict(), ensure_ascii=False)
    about = {"version": rita_demo.__version__, "backbone": run.backbone.name, "settings": settings}
    header = json.dumps({"__metadata__": about} | json.loads(data[8 : 8 + size]), separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]
