"""What is timed: one picture, one vocabulary and one full cache, and the stages of one picture in the engine. And how: medians
after a warm-up. The functions to compare alternate, so that a busy machine slows all of them alike."""

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from statistics import median
from typing import Any

import torch
from torch.nn import functional as F

from rita_demo import method
from rita_demo.data.samples import sample
from rita_demo.data.vocabularies import vocabulary
from rita_demo.engine.conversion import to_numpy
from rita_demo.engine.engine import Engine
from rita_demo.pipeline import rerun
from rita_demo.pipeline.run import run_picture
from rita_demo.records import CacheState, ClassPrompts, EncodedViews, Exclusions, Picture, Trace, Transport
from rita_demo.settings import Settings
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import PromptSet, build_prompts
from rita_demo.vlm.views.boxes import area_fractions
from rita_demo.vlm.views.crops import make_views
from tests.oracles.algorithm1 import Cache, CacheItem, ReferenceRita


def medians(
    work: Mapping[str, Callable[[], Any]], rounds: int, *, warm_up: int = 1, device: torch.device | None = None
) -> dict[str, float]:
    """Median wall seconds of every function over ``rounds`` rounds, after ``warm_up`` untimed ones. A CUDA ``device`` is
    synchronised before and after every call."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for number in range(warm_up + rounds):
        for name, function in work.items():
            synchronise(device)
            begin = time.perf_counter()
            function()
            synchronise(device)
            if number >= warm_up:
                taken[name].append(time.perf_counter() - begin)
    return {name: median(seconds) for name, seconds in taken.items()}


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


def synchronise(device: torch.device | None) -> None:
    """Wait for all that a CUDA device was asked to do."""
    if device is not None and device.type == "cuda":
        torch.cuda.synchronize(device)


PICTURE = "motorcycle"
Work = dict[str, Callable[[], Any]]
_NUMBER = count()  # shared by all fixtures, which share the engine and its cached results


@dataclass(frozen=True)
class BenchFixture:
    """One configuration: ``backbone`` is the engine's own model, ``side`` the side of the square in pixels."""

    backbone: Backbone
    engine: Engine
    settings: Settings
    classes: int
    side: int

    @cached_property
    def picture(self) -> Picture:
        return sample(PICTURE).load(square="model", side=self.side)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The first names of Caltech101 and ImageNet together, each once."""
        both = dict.fromkeys([*vocabulary("caltech101").names, *vocabulary("imagenet").names])
        return tuple(both)[: self.classes]

    @cached_property
    def class_prompts(self) -> ClassPrompts:
        return self.engine.encode_classes(self.names, self.settings)

    @cached_property
    def prompts(self) -> PromptSet:
        return build_prompts(self.backbone, self.names, self.settings)

    @cached_property
    def encoded_views(self) -> EncodedViews:
        return self.engine.encode_views(self.picture, self.settings)

    @cached_property
    def cache_tensors(self) -> CacheState:
        """A full cache as tensors, for the method: it takes the most time. Its unit features are random."""
        K, J, prompts, device = self.classes, self.settings.slots, self.class_prompts, self.backbone.device
        empty = method.empty(K, J, prompts.template_features.shape[1], prompts.key, device)
        drawn = torch.randn(empty.features.shape, generator=torch.Generator().manual_seed(0))
        return replace(
            empty,
            features=F.normalize(drawn, dim=-1).to(device),
            entropy=torch.full_like(empty.entropy, 0.5),
            born=torch.zeros_like(empty.born),
            view=torch.zeros_like(empty.view),
            count=torch.full_like(empty.count, J),
            pictures=J * K,
        )

    @cached_property
    def cache(self) -> CacheState:
        """The same as arrays, for the engine."""
        return to_numpy(self.cache_tensors)

    @cached_property
    def trace(self) -> Trace:
        return self.engine.decide(self.encoded_views, self.class_prompts, self.cache, self.settings)[0]

    def new_picture(self) -> Picture:
        """The picture with a new key at every call, so that the engine has no cached result for it."""
        return replace(self.picture, key=f"{self.picture.key}-{next(_NUMBER)}")

    def cut_views(self) -> torch.Tensor:
        """Views of the square (N, 3, side, side)."""
        pixels = torch.from_numpy(self.picture.pixels).to(self.backbone.device).permute(2, 0, 1).float() / 255
        drawn = make_views(pixels, self.settings, self.backbone.side).pixels
        assert drawn is not None
        return drawn

    @cached_property
    def view_pixels(self) -> torch.Tensor:
        return self.cut_views()

    def encode(self) -> torch.Tensor:
        """Features of the views (N, D)."""
        return self.backbone.encode_views(self.view_pixels)

    def floor(self) -> None:
        """The work of a prompt update: views once, prompts forward, backward, forward again. The engine keeps the forward
        pass of the initial contexts; here they are others, so that nothing is kept."""
        self.encode()
        context = (self.prompts.context + 1e-3).requires_grad_()
        torch.autograd.grad(self.prompts.encode(context).sum(), context)
        with torch.no_grad():
            self.prompts.encode(context + 1e-3)

    def image(self) -> Trace:
        """From a decoded square to the decision, with the prompt update."""
        encoded_views = self.engine.encode_views(self.new_picture(), self.settings)
        return self.engine.decide(encoded_views, self.class_prompts, self.cache, self.settings)[0]

    def decision(self) -> Trace:
        """From features and updated prompts to the decision."""
        tuning = self.trace.tuning
        return self.engine.decide(self.encoded_views, self.class_prompts, self.cache, self.settings, tuning)[0]


def model_stages(scene: BenchFixture) -> Work:
    """Stages of the model: views drawn and encoded, prompts forward and backward."""
    prompts = scene.prompts
    context = (prompts.context + 1e-3).requires_grad_()  # not the initial ones, whose graph is kept
    graph: dict[str, torch.Tensor] = {}
    return {
        "views": scene.cut_views,
        "encoding": scene.encode,
        "text forward": lambda: graph.update(features=prompts.encode(context)),
        "text backward": lambda: torch.autograd.grad(graph["features"].sum(), context),
        "text forward again": partial(torch.no_grad()(prompts.encode), context),
    }


def method_stages(scene: BenchFixture) -> Work:
    s, memory, device, tau = scene.settings, scene.cache_tensors, scene.backbone.device, scene.backbone.temperature
    encoded, prompts = scene.encoded_views, scene.class_prompts
    arrays = (encoded.features, prompts.features, prompts.weight, area_fractions(encoded.views.boxes))
    x, z, weight, shown = (torch.from_numpy(array).to(device) for array in arrays)
    zbar, confidence = method.text_mean(z, weight), method.assess(x, z, weight, tau, s)
    a = method.view_weight(x, confidence, s.view_weight, shown)
    options = method.transport_options(s)
    align = partial(method.align, memory.features, memory.count, zbar, s.completion)
    aligned = align()

    def memory_transport() -> Transport:
        atoms, atom_weight = method.cache_atoms(memory, aligned, zbar, s.empty_class)
        return method.transport(method.cosine_cost(x, atoms), a, atom_weight, **options)

    return {
        "Sinkhorn, prompts": lambda: method.transport(method.cosine_cost(x, z), a, weight, **options),
        "Sinkhorn, memory": memory_transport,
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


def algorithm1_reading(scene: BenchFixture) -> Callable[[], Any]:
    """The reference implementation with the same settings, picture and full cache. Its rotation comes from an SVD: another
    exact solution of the same problem."""
    reference = ReferenceRita(scene.backbone, scene.names, scene.settings.replace(completion="svd"))
    cache = scene.cache
    items = [[CacheItem(f, float(h), 0, 0) for f, h in zip(fs, hs)] for fs, hs in zip(cache.features, cache.entropy)]

    def work() -> Any:
        reference.cache = Cache(items)  # each time as full as before
        return reference(scene.picture.pixels)

    return work
