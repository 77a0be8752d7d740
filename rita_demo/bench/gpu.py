"""Speed on a GPU: ``python -m rita_demo.bench.gpu [--json F]``.

ViT-B/16 with random weights (speed does not depend on them) and 47 classes: one picture, PGD with seven steps, and a
stream of pictures one by one and in groups. The attacks of a group are one batch, and so are its views; the cache is
updated picture after picture.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.bench.stages import BenchFixture
from rita_demo.bench.timing import machine_of, medians
from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.records import EncodedViews, Picture, Trace
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
    scene, exact = BenchFixture(backbone, Engine(backbone), settings, CLASSES, backbone.side), backbone.unfused()
    plain = replace(scene, backbone=exact, engine=Engine(exact))
    pictures = [picture_of(np.roll(scene.picture.pixels, 7 * n, axis=(0, 1))) for n in range(group)]
    results: dict[str, list[Trace]] = {}
    work: dict[str, Callable[[], Any]] = {
        "image": scene.image,
        "PGD-7": lambda: scene.engine.attack(scene.picture, scene.class_prompts, settings, 0),
        "stream, one by one": lambda: results.update(single=decisions(scene, one_by_one(scene, pictures))),
        f"stream, groups of {group}": lambda: results.update(grouped=decisions(scene, in_one_batch(scene, pictures))),
    }
    found = medians(work, rounds, warm_up=2, device=backbone.device)
    clean = [decisions(one, one_by_one(one, pictures, attacked=False)) for one in (plain, scene)]
    return {
        "machine": machine_of(backbone.device),
        "config": {"backbone": backbone.info.name, "K": CLASSES, "N": settings.views, "group": group},
        "stages": found,
        "pictures_per_second": {name: group / s for name, s in found.items() if name.startswith("stream")},
        "agreement": agreement(results["single"], results["grouped"]),
        "agreement_with_float32": agreement(*clean),
    }


def one_by_one(scene: BenchFixture, pictures: Sequence[Picture], attacked: bool = True) -> Iterator[EncodedViews]:
    """Attack (if ``attacked``) and encode picture after picture."""
    for number, picture in enumerate(pictures):
        if attacked:
            settings = scene.settings.replace(attack_seed=number)
            picture = picture_of(scene.engine.attack(picture, scene.class_prompts, settings, 0).pixels)
        yield scene.engine.encode_views(replace(picture, key=scene.new_picture().key), scene.settings)


def in_one_batch(scene: BenchFixture, pictures: Sequence[Picture]) -> Sequence[EncodedViews]:
    """The same with one batch of attacks and one batch of views."""
    engine, settings, count = scene.engine, scene.settings, len(pictures)
    attacks = engine.attack_batch(pictures, scene.class_prompts, settings, [0] * count, range(count))
    delivered = [picture_of(trace.pixels) for trace in attacks]
    return engine.encode_views_batch(delivered, settings, [settings.view_seed] * count)


def decisions(scene: BenchFixture, encoded_views: Iterator[EncodedViews] | Sequence[EncodedViews]) -> list[Trace]:
    """Decide picture after picture, with one cache."""
    cache, traces = scene.engine.empty_cache(scene.class_prompts, scene.settings), []
    for one in encoded_views:
        trace, cache = scene.engine.decide(one, scene.class_prompts, cache, scene.settings)
        traces.append(trace)
    return traces


def agreement(single: list[Trace], grouped: list[Trace]) -> dict[str, float]:
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
