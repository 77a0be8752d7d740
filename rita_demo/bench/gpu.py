"""What a GPU makes of it, in a single call: ``python -m rita_demo.bench.gpu [--json F]``.

ViT-B/16 with random weights (speed does not depend on them) and the 47 classes of DTD: one picture,
PGD with seven steps, and a stream of pictures one by one and in groups, where a group's attacks are one batch
and its views are encoded together, while the memory is updated picture after picture.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.bench.clock import medians
from rita_demo.bench.run import machine_of
from rita_demo.bench.scene import Scene
from rita_demo.bench.stages import whole_attack
from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.records import Trace
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm import Backbone, untrained

CLASSES, STEPS = 47, 7
GOALS = {"image": 0.040, "PGD-7": 0.060}  # seconds
STREAM_GOAL = 60.0  # pictures per second


def measure(backbone: Backbone, group: int = 16, rounds: int = 9) -> dict[str, Any]:
    """``machine``, ``stages`` (median seconds), ``pictures_per_second``, ``agreement`` of the two streams, and
    ``agreement_with_float32`` of the same pictures, not attacked, with the model as it was built."""
    settings = RECOMMENDED.but(attack="pgd", steps=STEPS, square="model")
    scene = Scene.of(backbone, Engine(backbone), settings, CLASSES, backbone.side)
    squares = _squares(scene.picture.pixels, group)
    results: dict[str, list[Trace]] = {}
    exact = backbone.as_built()

    def run(name: str, way: Callable[[Scene, np.ndarray], list[Trace]]) -> Callable[[], None]:
        def work() -> None:
            results[name] = way(scene, squares)

        return work

    work = {
        "image": scene.image,
        "PGD-7": whole_attack(scene),
        "stream, one by one": run("single", one_by_one),
        f"stream, groups of {group}": run("grouped", together),
    }
    found = medians(work, rounds, warm_up=2, device=backbone.device)
    rates = {name: group / s for name, s in found.items() if name.startswith("stream")}
    return {
        "machine": machine_of(backbone.device),
        "config": {
            "backbone": backbone.info.name,
            "K": CLASSES,
            "N": settings.views,
            "group": group,
        },
        "stages": found,
        "pictures_per_second": rates,
        "agreement": _agreement(results["single"], results["grouped"]),
        "agreement_with_float32": _agreement(
            defended(Scene.of(exact, Engine(exact), settings, CLASSES, exact.side), squares),
            defended(scene, squares),
        ),
    }


def one_by_one(scene: Scene, squares: np.ndarray) -> list[Trace]:
    """Attack, look and decide, picture after picture, with one memory."""
    cache, traces = scene.engine.empty_cache(scene.bank, scene.settings), []
    for number, square in enumerate(squares):
        picture = picture_of(square)
        settings = scene.settings.but(attack_seed=number)
        attacked = scene.engine.attack(picture, scene.bank, settings, 0)
        shown = replace(picture_of(attacked.pixels), key=scene.fresh().key)
        glance = scene.engine.look(shown, scene.settings)
        trace, cache = scene.engine.decide(glance, scene.bank, cache, scene.settings)
        traces.append(trace)
    return traces


def defended(scene: Scene, squares: np.ndarray) -> list[Trace]:
    """Only look and decide, picture after picture, with one memory."""
    cache, traces = scene.engine.empty_cache(scene.bank, scene.settings), []
    for square in squares:
        glance = scene.engine.look(picture_of(square), scene.settings)
        trace, cache = scene.engine.decide(glance, scene.bank, cache, scene.settings)
        traces.append(trace)
    return traces


def together(scene: Scene, squares: np.ndarray) -> list[Trace]:
    """The same with one batch of attacks and one encoding of all views; decisions stay in order."""
    engine, settings, seeds = scene.engine, scene.settings, range(len(squares))
    clean = [picture_of(square) for square in squares]
    hit = engine.attack_together(clean, scene.bank, settings, [0] * len(clean), seeds)
    shown = [picture_of(trace.pixels) for trace in hit]
    glances = engine.look_together(shown, settings, [settings.view_seed] * len(shown))
    cache, traces = engine.empty_cache(scene.bank, settings), []
    for glance in glances:
        trace, cache = engine.decide(glance, scene.bank, cache, settings)
        traces.append(trace)
    return traces


def _squares(square: np.ndarray, count: int) -> np.ndarray:
    """``count`` different squares (count, H, H, 3): the picture, shifted further each time."""
    return np.stack([np.roll(square, 7 * n, axis=(0, 1)) for n in range(count)])


def _agreement(single: list[Trace], grouped: list[Trace]) -> dict[str, float]:
    """How many labels are equal, and the largest relative difference of a total cost."""
    same = [a.verdict.label == b.verdict.label for a, b in zip(single, grouped)]
    gap = [np.abs(a.total - b.total) / np.abs(a.total) for a, b in zip(single, grouped)]
    return {"same_labels": float(np.mean(same)), "largest_relative_gap": float(np.max(gap))}


def main() -> int:
    """Measure, print, and write JSON where asked."""
    parser = argparse.ArgumentParser(prog="python -m rita_demo.bench.gpu", description=__doc__)
    parser.add_argument("--architecture", default="ViT-B-16", help="of open_clip (ViT-B-16)")
    parser.add_argument("--device", help="cuda, mps or cpu (default: the fastest here)")
    parser.add_argument("--group", type=int, default=16, help="pictures encoded together (16)")
    parser.add_argument("--json", type=Path, metavar="F", help="write the numbers as JSON")
    args = parser.parse_args()
    found = measure(untrained(args.architecture, args.device), args.group)
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for name, seconds in found["stages"].items():
        goal = f"  (goal {1000 * GOALS[name]:.0f})" if name in GOALS else ""
        print(f"{name:28} {1000 * seconds:8.1f} ms{goal}")
    for name, rate in found["pictures_per_second"].items():
        print(f"{name:28} {rate:8.1f} pictures/s  (goal {STREAM_GOAL:.0f})")
    for name in ("agreement", "agreement_with_float32"):
        same, gap = found[name].values()
        print(f"{name}: {100 * same:.0f} % of labels, largest relative gap of a cost {gap:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
