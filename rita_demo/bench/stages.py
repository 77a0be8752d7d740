"""Every stage of a picture's way through the engine, as a piece of work without arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rita_demo import method, retelling, story
from rita_demo.bench.scene import Scene
from rita_demo.records import LeftOut
from rita_demo.reference import PlainRita
from rita_demo.views import shares

Work = dict[str, Callable[[], Any]]
ATTACK_STEPS = 7


def model_stages(scene: Scene) -> Work:
    """What the model does: views cut and encoded, prompts forward and backward."""
    prompts = scene.prompts
    context = prompts.context.clone().requires_grad_()
    graph: dict[str, torch.Tensor] = {}

    def forward() -> None:
        graph["features"] = prompts.encode(context)

    def again() -> None:
        with torch.no_grad():
            prompts.encode(context)

    return {
        "views": scene.cut,
        "encoding": scene.encode,
        "text forward": forward,
        "text backward": lambda: scene.backward(graph["features"], context),
        "text forward again": again,
    }


def method_stages(scene: Scene) -> Work:
    """What the method does on features, stage by stage."""
    s, memory, t = scene.settings, scene.memory, scene.tensors()
    x, z, weight, zbar = t["x"], t["z"], t["weight"], t["zbar"]
    confidence = method.assess(
        x, z, weight, temperature=scene.backbone.temperature,
        max_entropy=s.max_entropy, entropy_unit=s.entropy_unit,
    )  # fmt: skip
    shown = torch.from_numpy(shares(scene.glance.views.boxes)).to(x.device)
    a = method.view_weight(x, confidence, s.view_weight, shown)
    options = method.options_of(s)
    alignment = method.align(memory.features, memory.count, zbar, s.completion)
    return {
        "Sinkhorn, prompts": lambda: method.transport(
            method.cosine_cost(x, z), a, weight, **options
        ),
        "Sinkhorn, memory": lambda: method.cache_transport(
            x, a, memory, alignment, zbar, empty_class=s.empty_class, **options
        ),
        "Procrustes": lambda: method.align(memory.features, memory.count, zbar, s.completion),
        "cache": lambda: method.update(memory, x, confidence, views_per_image=s.views_per_image),
        "decision": scene.decision,
    }


def rescoring(scene: Scene) -> Callable[[], Any]:
    """A what-if on both sides of an attacked picture: one setting and one view changed."""
    told = story.tell(
        scene.engine, scene.picture, scene.names, scene.settings.but(attack="fgsm"), label=0
    )
    told = replace(told, cache_before=scene.cache)
    changed = told.settings.but(entropy_weight=2 * told.settings.entropy_weight)
    left_out = LeftOut(views=frozenset({1}))
    return lambda: retelling.rescore(scene.engine, told, changed, left_out)


def attack_step(scene: Scene) -> Callable[[], Any]:
    """One step of a PGD attack that goes on from call to call, for at most 99 calls."""
    settings = scene.settings.but(attack="pgd", steps=100)
    steps = scene.engine.attacking(scene.picture, scene.bank, settings, 0)
    next(steps)  # the first one also looks at the clean picture and at the start
    return lambda: next(steps)


def whole_attack(scene: Scene) -> Callable[[], Any]:
    """PGD with seven steps, from the clean square to the delivered one."""
    settings = scene.settings.but(attack="pgd", steps=ATTACK_STEPS)
    return lambda: scene.engine.attack(scene.picture, scene.bank, settings, 0)


def umap_of(scene: Scene) -> Callable[[], Any]:
    """Views and prompts of one decision laid out in the plane."""
    from umap import UMAP

    z = scene.trace.prompt_features
    points = np.concatenate([scene.glance.features, z.reshape(-1, z.shape[-1])])
    return lambda: UMAP(metric="cosine").fit_transform(points)


def plain(scene: Scene) -> Callable[[], Any]:
    """The plain reading with the same settings, picture and full memory.

    Its rotation is the SVD's: another exact solution of the same problem.
    """
    settings = scene.settings.but(completion="svd")
    reading = PlainRita(scene.backbone, scene.names, settings)
    features, entropy = scene.memory.features, scene.memory.entropy
    held = [[(f, float(h)) for f, h in zip(fs, hs)] for fs, hs in zip(features, entropy)]

    def work() -> Any:
        reading.memory = [list(items) for items in held]
        return reading(scene.picture.pixels)

    return work
