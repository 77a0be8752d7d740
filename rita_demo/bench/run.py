"""The whole benchmark: stages, floor, reference implementation, growth, memory, page."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from rita_demo.bench import page, stages
from rita_demo.bench.stages import PICTURE, BenchFixture
from rita_demo.bench.timing import medians, peak_bytes
from rita_demo.engine.engine import Engine
from rita_demo.process.text_columns import align_columns
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
#: Ratio -> its goal on two CPU cores with the embedded model, and whether the goal is an upper limit.
GOALS: dict[str, tuple[float, bool]] = {
    "decision_over_floor": (0.15, True),
    "image_over_floor": (1.3, True),
    "plain_over_image": (12.0, False),
    "rescore_over_150ms": (1.0, True),
    "decision_k1000_over_1s": (1.0, True),
    "decision_k1000_memory_over_1gib": (1.0, True),
}
ROUNDS, SLOW_ROUNDS = 9, 3  # of stages that take less than a second, and of the others


def run(backbone: Backbone, spec: str, on_progress: Callable[[str], None]) -> tuple[dict[str, Any], list[str]]:
    """Measure everything, in minutes on two cores.

    Args:
        backbone: the loaded model. spec: its name, for the server of the page.
        on_progress: receives the name of the current part.

    Returns:
        The content of ``bench --json`` (``stages`` in seconds), and sentences for the terminal.
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
    found = medians(quick, ROUNDS, warm_up=2, device=device)
    on_progress("The reference implementation")
    plain = stages.algorithm1_reading(scene)
    # each after two untimed calls of its own: after the other one, memory pages are returned and requested again
    turns: dict[str, Callable[[], Any]] = {}
    for name, work in (("plain", plain), ("image", scene.image)):
        turns |= {f"{name}, {time} before": work for time in ("second", "first")} | {name: work}
    slow = medians(turns, SLOW_ROUNDS, warm_up=0, device=device)
    found["plain"] = slow["plain"]
    ratios = {
        "decision_over_floor": found["decision"] / found["floor"],
        "image_over_floor": found["image"] / found["floor"],
        "plain_over_image": slow["plain"] / slow["image"],
        "rescore_over_150ms": found["re-score"] / 0.150,
    }
    on_progress("UMAP")
    found |= medians({"UMAP": stages.umap_layout(scene)}, SLOW_ROUNDS)
    for axis, values in GROWTH_VALUES.items():
        on_progress(f"Growth with {axis}")
        grown = _growth(scene, axis)
        found |= grown
        for what in ("decision", "image"):  # seconds at the largest over seconds at the smallest value
            first, last = (grown[f"{what}, {axis} = {v}"] for v in (values[0], values[-1]))
            ratios[f"{what}_growth_{axis}_{values[0]}_to_{values[-1]}"] = last / first
    on_progress(f"{MANY_CLASSES} classes")
    many = replace(scene, classes=MANY_CLASSES)
    ratios["decision_k1000_over_1s"] = found[f"decision, K = {MANY_CLASSES}"]
    for name, work in (("decision", many.decision), ("image", many.image)):
        if (peak := peak_bytes(work)) is not None:
            ratios[f"{name}_k1000_memory_over_1gib"] = peak / (1 << 30)
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
        "rounds": ROUNDS,
        "slow_rounds": SLOW_ROUNDS,
        "settings": SETTINGS.as_dict(),
    }
    return {"machine": machine, "config": config, "stages": found, "ratios": ratios}, notes


def _growth(scene: BenchFixture, axis: str) -> dict[str, float]:
    """Median seconds of the decision and of the whole image for every value of an axis."""
    work: dict[str, Callable[[], Any]] = {}
    for value in GROWTH_VALUES[axis]:
        changes: dict[str, Any] = {"K": {"classes": value}, "side": {"side": value}}.get(axis, {})
        setting = {"N": "views", "M": "prompts", "J": "slots"}.get(axis)
        if setting is not None:
            changes = {"settings": scene.settings.replace(**{setting: value})}
        other = replace(scene, **changes)
        work |= {f"decision, {axis} = {value}": other.decision, f"image, {axis} = {value}": other.image}
    return medians(work, SLOW_ROUNDS, device=scene.backbone.device)


def machine_of(device: torch.device) -> dict[str, Any]:
    """Hardware and libraries; ``load``: the machine's load average before the benchmark."""
    processor = platform.processor()
    if sys.platform.startswith("linux"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            processor = next(names, processor)
    return {
        "device": device.type,
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "processor": processor,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def as_text(report: dict[str, Any], notes: list[str]) -> str:
    """Two tables: milliseconds and their ratio to the floor, then the ratios with their goals."""
    config, machine, floor = report["config"], report["machine"], report["stages"]["floor"]
    head = ", ".join(f"{axis} = {config[axis]}" for axis in ("N", "K", "M", "J"))
    where = machine["gpu"] or machine["processor"] or machine["system"]
    rows = [["stage", "ms (median)", "of the floor"]]
    rows += [[name, f"{1000 * seconds:.1f}", f"{seconds / floor:.2f}"] for name, seconds in report["stages"].items()]
    goals = [["ratio", "value", "goal", ""]]
    for name, value in report["ratios"].items():
        goal, met = "", ""
        if name in GOALS:
            limit, small = GOALS[name]
            goal = f"{'at most' if small else 'at least'} {limit:g}"
            met = "met" if (value <= limit) == small else "not met"
        goals.append([name, f"{value:.3f}", goal, met])
    title = (
        f"{config['backbone']} ({config['precision']}) on {where}, {machine['threads']} threads; "
        f"{head}, square of {config['side']} px."
    )
    below = ["", *notes] if notes else []
    return "\n".join([title, "", *align_columns(rows), "", *align_columns(goals), *below])
