"""The whole benchmark: stages, floor, reference implementation, growth, memory, page."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from rita_demo.bench import page, stages
from rita_demo.bench.fixture import PICTURE, BenchFixture
from rita_demo.bench.timing import medians, peak_bytes
from rita_demo.engine.engine import Engine
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone

#: The configuration of all goals.
CLASSES, SIDE = 101, 448
#: Without descriptions, which the reference implementation does not support: M = 4.
SETTINGS = RECOMMENDED.replace(views=64, prompts=4, tuning_steps=1, descriptions="none")
MANY_CLASSES = 1000
#: Values of each axis; the other axes stay as above.
GROWTH_VALUES: dict[str, tuple[int, ...]] = {
    "N": (16, 64, 256),
    "M": (1, 4, 16),
    "K": (10, 101, 1000),
    "J": (1, 3, 32),
    "side": (112, 224, 448),
}
SETTING_OF_AXIS = {"N": "views", "M": "prompts", "J": "slots"}
GIB = 1 << 30


@dataclass(frozen=True)
class Report:
    """The content of ``bench --json``; ``stages`` in seconds, ``notes``: sentences for the terminal."""

    machine: dict[str, Any]
    config: dict[str, Any]
    stages: dict[str, float]
    ratios: dict[str, float]
    notes: list[str] = field(default_factory=list)


def run(
    backbone: Backbone,
    spec: str,
    *,
    rounds: int = 9,
    slow_rounds: int = 3,
    with_page: bool = True,
    on_progress: Callable[[str], None] = lambda sentence: None,
) -> Report:
    """Measure everything, in minutes on two cores.

    Args:
        backbone: the loaded model. spec: its name, for the server of the page.
        rounds: of stages that take less than a second. slow_rounds: of the others.
        with_page: also start a server (and a browser) and measure the page.
        on_progress: receives the name of the current part.
    """
    engine, device = Engine(backbone), backbone.device
    scene = BenchFixture(backbone, engine, SETTINGS, CLASSES, SIDE)
    machine = machine_of(device)
    on_progress("Stages, floor and image")
    quick = {
        **stages.model_stages(scene),
        **stages.method_stages(scene),
        "attack step": stages.attack_step(scene),
        "re-score": stages.rescoring(scene),
        "floor": scene.floor,
        "image": scene.image,
    }
    found = medians(quick, rounds, warm_up=2, device=device)
    on_progress("The reference implementation")
    plain = stages.algorithm1_reading(scene)
    # each after two untimed calls of its own: after the other one, memory pages are returned and requested again
    turns: dict[str, Callable[[], Any]] = {}
    for name, work in (("plain", plain), ("image", scene.image)):
        turns |= {f"{name}, {time} before": work for time in ("second", "first")} | {name: work}
    slow = medians(turns, slow_rounds, warm_up=0, device=device)
    found["plain"] = slow["plain"]
    ratios = {
        "decision_over_floor": found["decision"] / found["floor"],
        "image_over_floor": found["image"] / found["floor"],
        "plain_over_image": slow["plain"] / slow["image"],
        "rescore_over_150ms": found["re-score"] / 0.150,
    }
    on_progress("UMAP")
    found |= medians({"UMAP": stages.umap_layout(scene)}, slow_rounds)
    for axis, values in GROWTH_VALUES.items():
        on_progress(f"Growth with {axis}")
        grown = _growth(scene, axis, slow_rounds)
        found |= grown
        for what in ("decision", "image"):  # seconds at the largest over seconds at the smallest value
            first, last = (grown[f"{what}, {axis} = {v}"] for v in (values[0], values[-1]))
            ratios[f"{what}_growth_{axis}_{values[0]}_to_{values[-1]}"] = last / first
    on_progress(f"{MANY_CLASSES} classes")
    many = replace(scene, classes=MANY_CLASSES)
    ratios["decision_k1000_over_1s"] = found[f"decision, K = {MANY_CLASSES}"]
    for name, work in (("decision", many.decision), ("image", many.image)):
        if (peak := peak_bytes(work)) is not None:
            ratios[f"{name}_k1000_memory_over_1gib"] = peak / GIB
    notes: list[str] = []
    if with_page:
        on_progress("The page")
        shown, notes = page.measure(spec)
        found |= shown
    config = {
        "backbone": backbone.info.name,
        "precision": backbone.info.precision,
        "picture": PICTURE,
        "side": SIDE,
        "N": SETTINGS.views,
        "K": CLASSES,
        "M": SETTINGS.prompts,
        "J": SETTINGS.slots,
        "rounds": rounds,
        "slow_rounds": slow_rounds,
        "settings": SETTINGS.as_dict(),
    }
    return Report(machine, config, found, ratios, notes)


def _growth(scene: BenchFixture, axis: str, rounds: int) -> dict[str, float]:
    """Median seconds of the decision and of the whole image for every value of an axis."""
    work: dict[str, Callable[[], Any]] = {}
    for value in GROWTH_VALUES[axis]:
        if axis == "K":
            other = replace(scene, classes=value)
        elif axis == "side":
            other = replace(scene, side=value)
        else:
            other = replace(scene, settings=scene.settings.replace(**{SETTING_OF_AXIS[axis]: value}))
        work |= {f"decision, {axis} = {value}": other.decision, f"image, {axis} = {value}": other.image}
    return medians(work, rounds, device=scene.backbone.device)


def machine_of(device: torch.device) -> dict[str, Any]:
    """Hardware and libraries; ``load``: the machine's load average before the benchmark."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {
        "device": device.type,
        "gpu": gpu,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _processor() -> str:
    if sys.platform.startswith("linux"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            return next(names, platform.processor())
    return platform.processor()
