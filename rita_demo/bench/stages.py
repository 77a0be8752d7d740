"""The stages of one picture in the engine, as functions without arguments to time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from rita_demo import method
from rita_demo.bench.fixture import BenchFixture
from rita_demo.pipeline import rerun
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Exclusions
from rita_demo.reference import ReferenceRita
from rita_demo.views.boxes import area_fractions

Work = dict[str, Callable[[], Any]]


def model_stages(scene: BenchFixture) -> Work:
    """Stages of the model: views drawn and encoded, prompts forward and backward."""
    prompts = scene.prompts
    context = prompts.context.clone().requires_grad_()
    graph: dict[str, torch.Tensor] = {}
    return {
        "views": scene.cut_views,
        "encoding": scene.encode,
        "text forward": lambda: graph.update(features=prompts.encode(context)),
        "text backward": lambda: scene.backward(graph["features"], context),
        "text forward again": partial(torch.no_grad()(prompts.encode), context),
    }


def method_stages(scene: BenchFixture) -> Work:
    """Stages of the method on features."""
    s, memory, device, tau = scene.settings, scene.cache_tensors, scene.backbone.device, scene.backbone.temperature
    encoded, prompts = scene.encoded_views, scene.class_prompts
    arrays = (encoded.features, prompts.features, prompts.weight, area_fractions(encoded.views.boxes))
    x, z, weight, shown = (torch.from_numpy(array).to(device) for array in arrays)
    zbar = method.text_mean(z, weight)
    limits: dict[str, Any] = {"max_entropy": s.max_entropy, "entropy_unit": s.entropy_unit}
    confidence = method.assess(x, z, weight, temperature=tau, **limits)
    a = method.view_weight(x, confidence, s.view_weight, shown)
    options = method.transport_options(s)
    align = partial(method.align, memory.features, memory.count, zbar, s.completion)
    aligned = align()
    return {
        "Sinkhorn, prompts": lambda: method.transport(method.cosine_cost(x, z), a, weight, **options),
        "Sinkhorn, memory": lambda: method.cache_transport(
            x, a, memory, aligned, zbar, empty_class=s.empty_class, **options
        ),
        "Procrustes": align,
        "cache": lambda: method.update(memory, x, confidence, views_per_image=s.views_per_image),
        "decision": scene.decision,
    }


def rescoring(scene: BenchFixture) -> Callable[[], Any]:
    """A what-if on the clean and the attacked picture: one setting changed, one view excluded."""
    settings = scene.settings.replace(attack="fgsm")
    done = run_picture(scene.engine, scene.picture, scene.names, settings, label=0)
    done = replace(done, cache_before=scene.cache)
    changed = done.settings.replace(entropy_weight=2 * done.settings.entropy_weight)
    exclusions = Exclusions(views=frozenset({1}))
    return lambda: rerun.rescore(scene.engine, done, changed, exclusions)


def attack_step(scene: BenchFixture) -> Callable[[], Any]:
    """One step of a PGD attack of 100 steps; the calls continue the same attack, at most 99 times."""
    settings = scene.settings.replace(attack="pgd", steps=100)
    steps = scene.engine.attack_steps(scene.picture, scene.class_prompts, settings, 0)
    next(steps)  # the first one also evaluates the clean picture and the start
    return lambda: next(steps)


def umap_layout(scene: BenchFixture) -> Callable[[], Any]:
    """UMAP of the views and prompts of one decision."""
    from umap import UMAP

    z = scene.trace.prompt_features
    points = np.concatenate([scene.encoded_views.features, z.reshape(-1, z.shape[-1])])
    return lambda: UMAP(metric="cosine").fit_transform(points)


def algorithm1_reading(scene: BenchFixture) -> Callable[[], Any]:
    """The reference implementation with the same settings, picture and full cache.

    Its rotation comes from an SVD: another exact solution of the same problem.
    """
    reference = ReferenceRita(scene.backbone, scene.names, scene.settings.replace(completion="svd"))
    features, entropy = scene.cache_tensors.features, scene.cache_tensors.entropy
    items = [[(f, float(h)) for f, h in zip(fs, hs)] for fs, hs in zip(features, entropy)]

    def work() -> Any:
        reference.cache = [list(of_class) for of_class in items]
        return reference(scene.picture.pixels)

    return work
