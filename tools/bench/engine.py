"""Whole jobs of the engine: the attacker who knows RITA, streams of pictures, a larger model, and more cores."""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rita_demo.attacks.adaptive import AGAINST
from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import sample
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.request import parse_request
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.process.cpu_threads import single_threaded
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.vlm.backbone import Backbone
from tools.bench import gpu, stages
from tools.bench.stages import BenchFixture
from tools.bench.timing import medians

ATTACKED = "coffee"
STREAMED = 12  # pictures of a stream, after two that are not timed
COMPARED = 4  # pictures on which two precisions are compared
CORES = (4, 8, 16)


def adaptive_seconds(engine: Engine, settings: Settings = RECOMMENDED) -> float:
    """Processor seconds of one thread: the attacker who knows RITA, with the defaults of attack and defence, on one
    picture among 100 classes, with as many restarts as it needs."""
    one, settings = sample(ATTACKED), settings.replace(attack="adaptive", **{AGAINST: "rita"})
    picture, prompts = one.load(square="picture", side=engine.info.side), engine.encode_classes(one.names, settings)
    with single_threaded():
        begin = time.process_time()
        engine.attack(picture, prompts, settings, one.names.index(one.label))
        return time.process_time() - begin


def stream_rate(engine: Engine, attack: str, pictures: int = STREAMED, **changes: Any) -> float:
    """Pictures per second of CLIP, Ensemble and RITA on a stream of textures, as ``evaluate`` measures them."""
    asked = {"attacks": attack, "budget": RECOMMENDED.budget, "protocols": "stream"}
    asked["assignments"] = [f"{name}={value}" for name, value in changes.items()]
    with tempfile.TemporaryDirectory() as folder:
        where: dict[str, Any] = {"split": "val", "out": Path(folder), "limit": pictures + 2, "allow_partial": True}
        times = []
        for _ in evaluate_steps(parse_request("textures", "clip,ensemble,rita", 0, asked, **where), engine):
            times.append(time.perf_counter())
    return pictures / (times[-1] - times[-pictures - 1])


def larger_model(
    exact: Backbone, short: Backbone, classes: tuple[int, ...], settings: Settings, side: int, rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of a whole image and of its stages, by precision and number of classes; the ratio of image to encoding, and
    how far the answers of both precisions agree.

    ``exact``, ``short``: the same model in float32 and in another precision of encoding.
    """
    scenes = [BenchFixture(one, Engine(one), settings, n, side) for n in classes for one in (exact, short)]
    names = [f"vit_{scene.backbone.info.precision}_k{scene.classes}" for scene in scenes]
    work: stages.Work = {}
    for name, scene in zip(names, scenes):
        steps = stages.model_stages(scene) | {"decision": scene.decision, "image": scene.image}
        work |= {f"{name}: {step}": run for step, run in steps.items()}
    found = medians(work, rounds)
    ratios = {f"{name}_image_over_encoding": found[f"{name}: image"] / found[f"{name}: encoding"] for name in names}
    for name, one, other in zip(names[1::2], scenes[::2], scenes[1::2]):
        ratios |= {f"{name}_{what}": value for what, value in agreement(one, other).items()}
    return found, ratios


def agreement(one: BenchFixture, other: BenchFixture, pictures: int = COMPARED) -> dict[str, float]:
    """Of two models on the same pictures: share of equal labels, largest relative difference of a cost."""
    shown = [picture_of(np.roll(one.picture.pixels, 29 * n, axis=(0, 1))) for n in range(pictures)]
    decided = [gpu.decisions(scene, gpu.one_by_one(scene, shown, attacked=False)) for scene in (one, other)]
    found = gpu.compare(*decided)
    return {name: found[name] for name in ("same_labels", "largest_relative_gap")}


def cores(scene: BenchFixture, rounds: int) -> dict[str, dict[str, float]]:
    """Every step with one and with two threads: their seconds, the share of the step that is serial by Amdahl's law, and
    the seconds that the law gives for more cores."""
    attack = scene.settings.replace(attack="pgd", steps=7)
    steps: stages.Work = {
        **stages.model_stages(scene),
        "decision": scene.decision,
        "image": scene.image,
        "PGD-7": lambda: scene.engine.attack(scene.picture, scene.class_prompts, attack, 0),
    }

    def with_threads(number: int, step: Callable[[], Any]) -> None:
        torch.set_num_threads(number)
        step()

    threads = torch.get_num_threads()
    try:
        turns = {f"{name} {n}": partial(with_threads, n, step) for n in (1, 2) for name, step in steps.items()}
        found = medians(turns, rounds)
    finally:
        torch.set_num_threads(threads)
    return {name: amdahl(found[f"{name} 1"], found[f"{name} 2"]) for name in steps}


def amdahl(one: float, two: float) -> dict[str, float]:
    """From the seconds with one and with two threads: the serial share (at most 1), and the seconds with more cores."""
    serial = min(max(2 * two / one - 1, 0.0), 1.0)
    more = {f"{n} cores": one * (serial + (1 - serial) / n) for n in CORES}
    return {"1 thread": one, "2 threads": two, "serial share": serial, **more}
