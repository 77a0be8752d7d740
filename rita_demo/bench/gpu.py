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
import torch

from rita_demo.attacks import Wish, attack_row
from rita_demo.bench.clock import medians
from rita_demo.bench.run import machine_of
from rita_demo.bench.scene import Scene
from rita_demo.bench.stages import whole_attack
from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.records import Glance, Trace, ViewSet
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm import Backbone, untrained

CLASSES, STEPS = 47, 7
GOALS = {"image": 0.040, "PGD-7": 0.060}  # seconds
STREAM_GOAL = 60.0  # pictures per second


def measure(backbone: Backbone, group: int = 16, rounds: int = 9) -> dict[str, Any]:
    """``machine``, ``stages`` (median seconds), ``pictures_per_second`` and ``agreement`` of the two streams."""
    settings = RECOMMENDED.but(attack="pgd", steps=STEPS, square="model")
    scene = Scene.of(backbone, Engine(backbone), settings, CLASSES, backbone.side)
    squares = _squares(scene.picture.pixels, group)
    results: dict[str, list[Trace]] = {}

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


def together(scene: Scene, squares: np.ndarray) -> list[Trace]:
    """The same with one batch of attacks and one encoding of all views; decisions stay in order."""
    settings, backbone = scene.settings, scene.backbone
    pixels = torch.from_numpy(squares).to(backbone.device).permute(0, 3, 1, 2).float() / 255
    hand = torch.from_numpy(scene.bank.hand).to(backbone.device)
    row = attack_row(settings.attack)
    steps = row.climb(
        lambda batch: backbone.encode_pixels(batch) @ hand.T / backbone.temperature,
        pixels,
        Wish(
            budget=settings.budget,
            steps=settings.steps,
            seeds=range(len(pixels)),
            label=torch.zeros(len(pixels), dtype=torch.long, device=backbone.device),
        ),
    )
    while True:
        try:
            next(steps)
        except StopIteration as end:
            delivered = end.value.frames[-1].float() / 255
            break
    cut = [replace(scene, picture=_as_picture(square)).cut() for square in delivered]
    features = backbone.encode_views(torch.cat(cut)).cpu().numpy()
    cache, traces = scene.engine.empty_cache(scene.bank, settings), []
    for number, own in enumerate(np.split(features, len(squares))):
        views = ViewSet(scene.glance.views.boxes, scene.glance.views.flipped, settings.view_seed)
        glance = Glance(views, own, f"group-{number}")
        trace, cache = scene.engine.decide(glance, scene.bank, cache, settings)
        traces.append(trace)
    return traces


def _as_picture(square: torch.Tensor) -> Any:
    levels = square.mul(255).round().byte().permute(1, 2, 0)
    return picture_of(levels.cpu().numpy())


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
    print(found["agreement"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
