"""Speed on a GPU: ``python -m rita_demo.bench.gpu [--json F]``.

ViT-B/16 with random weights (speed does not depend on them) and 47 classes: one picture, PGD with seven steps, and a
stream of pictures one by one and in groups. The attacks of a group are one batch, and so are its views; the cache is
updated picture after picture.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.bench.run import machine_of
from rita_demo.bench.stages import BenchFixture
from rita_demo.bench.timing import medians
from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.records import EncodedViews, Trace
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import untrained

CLASSES, STEPS = 47, 7
GOALS = {"image": 0.040, "PGD-7": 0.060}  # seconds
STREAM_GOAL = 60.0  # pictures per second


def measure(backbone: Backbone, group: int = 16, rounds: int = 9) -> dict[str, Any]:
    """``machine``, ``config``, ``stages`` (median seconds), ``pictures_per_second``, ``agreement`` of the two streams,
    and ``agreement_with_float32``: that of clean pictures with the unfused float32 model."""
    settings = RECOMMENDED.replace(attack="pgd", steps=STEPS, square="model")
    scene = BenchFixture(backbone, Engine(backbone), settings, CLASSES, backbone.side)
    exact = backbone.unfused()
    plain = BenchFixture(exact, Engine(exact), settings, CLASSES, exact.side)
    shifts = [np.roll(scene.picture.pixels, 7 * n, axis=(0, 1)) for n in range(group)]
    squares = np.stack(shifts)  # (group, H, H, 3): the picture shifted by multiples of 7 pixels
    results: dict[str, list[Trace]] = {}
    work: dict[str, Callable[[], Any]] = {
        "image": scene.image,
        "PGD-7": lambda: scene.engine.attack(scene.picture, scene.class_prompts, settings, 0),
        "stream, one by one": lambda: results.update(single=run_one_by_one(scene, squares)),
        f"stream, groups of {group}": lambda: results.update(grouped=run_grouped(scene, squares)),
    }
    found = medians(work, rounds, warm_up=2, device=backbone.device)
    clean = [run_one_by_one(one, squares, attacked=False) for one in (plain, scene)]
    return {
        "machine": machine_of(backbone.device),
        "config": {"backbone": backbone.info.name, "K": CLASSES, "N": settings.views, "group": group},
        "stages": found,
        "pictures_per_second": {name: group / s for name, s in found.items() if name.startswith("stream")},
        "agreement": _agreement(results["single"], results["grouped"]),
        "agreement_with_float32": _agreement(*clean),
    }


def run_one_by_one(scene: BenchFixture, squares: np.ndarray, attacked: bool = True) -> list[Trace]:
    """Attack (if ``attacked``), encode and decide, picture after picture, with one cache."""

    def encoded_views() -> Iterator[EncodedViews]:
        for number, square in enumerate(squares):
            picture = picture_of(square)
            if attacked:
                settings = scene.settings.replace(attack_seed=number)
                trace = scene.engine.attack(picture, scene.class_prompts, settings, 0)
                picture = replace(picture_of(trace.pixels), key=scene.new_picture().key)
            yield scene.engine.encode_views(picture, scene.settings)

    return _decisions(scene, encoded_views())


def run_grouped(scene: BenchFixture, squares: np.ndarray) -> list[Trace]:
    """The same with one batch of attacks and one batch of views; the decisions keep their order."""
    engine, settings, count = scene.engine, scene.settings, len(squares)
    clean = [picture_of(square) for square in squares]
    attacks = engine.attack_batch(clean, scene.class_prompts, settings, [0] * count, range(count))
    pictures = [picture_of(trace.pixels) for trace in attacks]
    return _decisions(scene, engine.encode_views_batch(pictures, settings, [settings.view_seed] * count))


def _decisions(scene: BenchFixture, encoded_views: Iterable[EncodedViews]) -> list[Trace]:
    cache, traces = scene.engine.empty_cache(scene.class_prompts, scene.settings), []
    for one in encoded_views:
        trace, cache = scene.engine.decide(one, scene.class_prompts, cache, scene.settings)
        traces.append(trace)
    return traces


def _agreement(single: list[Trace], grouped: list[Trace]) -> dict[str, float]:
    """Fraction of equal labels, and the largest relative difference of a total cost."""
    same = [a.verdict.label == b.verdict.label for a, b in zip(single, grouped)]
    gap = [np.abs(a.total - b.total) / np.abs(a.total) for a, b in zip(single, grouped)]
    return {"same_labels": float(np.mean(same)), "largest_relative_gap": float(np.max(gap))}


def main() -> int:
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
