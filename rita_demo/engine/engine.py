"""The engine: one loaded model for everybody; numpy above it, torch below it. It keeps no visitor's state: a cache (the
page's memory) is an argument and a result. ``encoding.py`` has the first part: the model, its lock and caches."""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch

from rita_demo import method, records
from rita_demo.attacks import access_of
from rita_demo.attacks.loop import run
from rita_demo.attacks.loop.gradient_loop import AttackProgress, SampledLogits
from rita_demo.defences.contract import DefenceInput
from rita_demo.defences.registry import DEFENCES, known_defence, run_defence
from rita_demo.engine import attack_models, protocol
from rita_demo.engine.conversion import tensor_to_numpy, to_numpy, to_torch
from rita_demo.engine.encoding import EncodingEngine, class_prompts_key
from rita_demo.process.cpu_threads import parallel_chunks
from rita_demo.process.generators import run_to_end, step_of
from rita_demo.records import AttackTrace, CacheState, ClassPrompts, EncodedViews, Picture, TheoremBounds
from rita_demo.settings import Settings
from rita_demo.views.crops import crop

CPU = torch.device("cpu")
CUDA_BATCH = 16  # attacks
#: Yields its progress, returns the traces.
AttackLoop = Generator[AttackProgress, None, list[AttackTrace]]


class Engine(EncodingEngine, protocol.Engine):
    """A frozen model. Thread-safe: one lock guards the model. Raises BackboneError: the model cannot be loaded. From
    every method: the device's memory does not suffice, or the model's output is not finite.

    Args:
        backbone: ``"embedded"``, ``"ARCH:TAG"`` of open_clip, or ``"ARCH:/path/to/checkpoint"``; or a model that is
            already loaded.
        device: a torch device name; None: ``RITA_DEVICE``, else CUDA, then MPS, then CPU. A loaded model stays where it
            is.
        view_pixel_bytes: room for the pixels of encoded views, so that :meth:`view_pixels` need not draw them a second
            time; 0 keeps none."""

    # --- attacks

    def attack(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> AttackTrace:
        return run_to_end(self.attack_steps(picture, class_prompts, settings, label, target, cache))

    def attack_steps(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> Generator[AttackProgress, None, AttackTrace]:
        """The same one step at a time: yields its progress, returns the trace. The lock is held during a step,
        not between two, so that a visitor who leaves does not block others. ``cache``: what the defence decides from,
        for the attack through the defence; None: an empty one."""
        models = self._attack_models(class_prompts, settings, cache)
        which = [label], [settings.attack_seed], [target], *models
        loop = self._attack_loop([picture], class_prompts, settings, *which)
        return (yield from self._finished([loop], one_core=not access_of(settings)))[0]

    @property
    def attacks_together(self) -> int:
        """How many pictures :meth:`attack_batch` should get."""
        return torch.get_num_threads() if self._backbone.one_core else CUDA_BATCH if self.info.device == "cuda" else 1

    def attack_batch(
        self,
        pictures: Sequence[Picture],
        class_prompts: ClassPrompts,
        settings: Settings,
        labels: Sequence[int],
        seeds: Sequence[int],
        targets: Sequence[int | None] | None = None,
    ) -> list[AttackTrace]:
        """:meth:`attack` on squares of one size, each with its own seed: on a small tower each on a core of its own,
        with the same bits; else in one batch, the same up to rounding. Not for attacks through crops or the defence."""
        targets = targets or [None] * len(pictures)
        each = [slice(n, n + 1) for n in range(len(pictures))] if self._backbone.one_core else [slice(None)]
        loops = [self._attack_loop(pictures[n], class_prompts, settings, labels[n], seeds[n], targets[n]) for n in each]
        return run_to_end(self._finished(loops, one_core=True))

    def _attack_loop(
        self, pictures: Sequence[Picture], class_prompts: ClassPrompts, settings: Settings, *which: Any
    ) -> AttackLoop:
        """``which``: labels, seeds and targets, one of each per picture; then the results of :meth:`_attack_models`."""
        logits = attack_models.SingleViewLogits(self._backbone, self._tensor(class_prompts.template_features))
        squares, names = torch.stack([self._pixels(picture) for picture in pictures]), class_prompts.names
        return run.attack_steps(logits, squares, settings, *which, names=names)

    def _finished(self, loops: Sequence[AttackLoop], one_core: bool) -> AttackLoop:
        """The loops' steps, side by side, and all traces. The lock is held during a step and not between two."""

        def advance(part: range) -> list[Any]:
            with torch.enable_grad():
                return [step_of(loops[n]) for n in part]

        one_core = one_core and self._backbone.one_core
        while True:
            with self._model_lock():
                found = chain(*parallel_chunks(advance, len(loops))) if one_core else advance(range(len(loops)))
                progress, traces = zip(*found)
            if progress[0] is None:
                return [to_numpy(trace) for trace in chain(*traces)]
            yield progress[0]

    def _attack_models(
        self, class_prompts: ClassPrompts, settings: Settings, cache: CacheState | None
    ) -> tuple[SampledLogits | None, SampledLogits | None, SampledLogits | None]:
        """What the attacker of these settings differentiates (None: plain CLIP), the second surrogate, and the judge."""
        access = access_of(settings)
        if access == "crops":
            hand = self._tensor(class_prompts.template_features)
            return attack_models.random_crop_logits(self._backbone, hand, settings), None, None
        if access != "defence":
            return None, None, None
        inputs = replace(
            self._defence_input(None, class_prompts, settings),
            prompts=self._method_prompts(class_prompts, settings),
            cache=to_torch(self.compatible_cache(cache, class_prompts, settings), CPU),
        )
        if settings.attack != "adaptive":
            return attack_models.defence_logits(self._backbone, attack_models.fixed_plan_logits, inputs), None, None
        known = known_defence(settings)
        first, second, judge = (
            attack_models.defence_logits(
                self._backbone, partial(known.attacked_logits, second=second), inputs, known.sees, count
            )
            for second, count in ((False, None), (True, None), (False, settings.views))
        )
        return first, second if known.adaptive and known.adaptive.second else None, judge

    # --- RITA's cache and decision

    def empty_cache(self, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        """A cache without any views."""
        classes, width = class_prompts.template_features.shape
        return to_numpy(method.empty(classes, settings.slots, width, class_prompts.key))

    def compatible_cache(self, cache: CacheState | None, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        """The given cache, or an empty one if it is missing or of other classes or another model."""
        if cache is None or cache.key != class_prompts.key:
            return self.empty_cache(class_prompts, settings)
        return cache

    def remove_cache_item(self, cache: CacheState, k: int, slot: int) -> CacheState:
        """A cache without one of its items; see :func:`rita_demo.method.remove`."""
        return to_numpy(method.remove(to_torch(cache, CPU), k, slot))

    def decide(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        cache: CacheState | None,
        settings: Settings,
        tuning: records.Tuning | None = None,
        exclusions: records.Exclusions | None = None,
    ) -> tuple[records.Trace, CacheState]:
        """RITA's decision from features alone, and the cache after it. Raises SettingError: ``class_prompts`` is of
        another model; ``exclusions`` leaves no view, or a class no prompt, or names an item that does not exist.

        Args:
            cache: None, or one of other classes or another model: an empty one.
            tuning: an earlier trace's prompt update, to skip the text encoder when only transport or cache settings
                changed.
            exclusions: views and prompts that get no mass but keep their place in the trace, and items of ``cache``
                (class, slot) that are removed first."""
        cache = self.compatible_cache(cache, class_prompts, settings)
        exclusions = exclusions or records.Exclusions()
        with self._model_lock():
            prompts = self._method_prompts(class_prompts, settings)
            view_mask, weight = method.apply_to_views(exclusions, len(encoded_views.features), prompts.weight)
            trace, after = method.decide(
                self._tensor(encoded_views.features),
                replace(prompts, weight=weight),
                method.apply_to_cache(exclusions, to_torch(cache, CPU)),
                settings,
                tuning=to_torch(tuning, self._backbone.device),
                view_mask=view_mask,
                area_fraction=self._area_fraction(encoded_views),
            )
        return to_numpy(trace), to_numpy(after)

    def tune(self, encoded_views: EncodedViews, class_prompts: ClassPrompts, settings: Settings) -> records.Tuning:
        """The prompt update of :meth:`decide` alone, to be stored and passed back to it."""
        with self._model_lock():
            x = method.unit(self._tensor(encoded_views.features))  # as decide does
            tuning = method.tune(self._method_prompts(class_prompts, settings), x, settings)
        return to_numpy(tuning)

    def sinkhorn_history(self, solved: records.Transport, k: int, settings: Settings) -> records.SinkhornHistory:
        """The iterations behind a trace's transport of class ``k``; see :func:`rita_demo.method.sinkhorn_history`. It
        runs on the CPU: one small problem, many short steps."""
        return to_numpy(method.sinkhorn_history(to_torch(solved, CPU), k, settings))

    # --- all defences

    def answers(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        settings: Settings,
        names: Iterable[str] = ("clip", "ensemble"),
        decide: Callable[[Settings], records.Trace] | None = None,
        picture: Picture | None = None,
    ) -> dict[str, records.Verdict | records.DefenceFault]:
        """The defences' answers from the same encoded views, by name; without those that have none. Raises
        SettingError: a setting of a defence that cannot be used with these classes.

        Args:
            names: of ``DEFENCES``; those that tune prompts cost a prompt update each.
            decide: RITA's decision on these views with the given settings, for RITA and its ablations.
            picture: the views' picture; without it, a defence that reads pixels has no answer."""
        with self._model_lock():
            inputs = self._defence_input(encoded_views, class_prompts, settings, picture)
            names = [name for name in names if picture is not None or not DEFENCES[name].reads_pixels]
            if decide is not None:
                inputs = replace(inputs, decide=decide)
            found = {name: run_defence(name, inputs) for name in names}
        return {name: to_numpy(answer) for name, answer in found.items() if answer is not None}

    def _defence_input(
        self,
        encoded_views: EncodedViews | None,
        class_prompts: ClassPrompts,
        settings: Settings,
        picture: Picture | None = None,
    ) -> DefenceInput:
        """What a defence sees; without views for an attacker, who draws fresh ones."""

        def view_pixels(count: int) -> torch.Tensor:
            assert encoded_views is not None
            assert picture is not None
            views = encoded_views.views
            return crop(self._pixels(picture), views.boxes[:count], views.flipped[:count], self._backbone.side)

        def encode_pixels(pixels: torch.Tensor) -> torch.Tensor:
            return (self._backbone.encode_pixels if pixels.requires_grad else self._backbone.encode_views)(pixels)

        prompts, nothing = self._checked_prompts(class_prompts, settings), torch.empty(0)
        return DefenceInput(
            views=nothing if encoded_views is None else self._tensor(encoded_views.features),
            area_fraction=nothing if encoded_views is None else self._area_fraction(encoded_views),
            template_features=self._tensor(class_prompts.template_features),
            description_features=prompts.mean_description_features(),
            context=prompts.context[:1],
            encode=prompts.encode_contexts,
            temperature=class_prompts.temperature,
            settings=settings,
            view_pixels=view_pixels,
            encode_pixels=encode_pixels,
            seed=settings.view_seed,
        )

    # --- numbers of the paper's figures, from features alone

    def theorem_bounds(self, trace: records.Trace) -> TheoremBounds:
        """Definition 14 for every class of a decided picture; the analysis computes ``exact``."""
        given = (torch.from_numpy(a) for a in (trace.view_features, trace.prompt_features, trace.prompt_weight))
        lower, upper, gap, bures = (tensor_to_numpy(part) for part in method.theorem_bounds(*given))
        unknown = np.full(len(lower), np.nan)
        return TheoremBounds(lower, upper, gap, bures, unknown, 2 * trace.prompt_transport.distance)

    def kl_to_one_hot(self, features: np.ndarray, labels: np.ndarray, class_prompts: ClassPrompts) -> np.ndarray:
        """Definition 15: (K,) nats for features (n, D) of classes ``labels`` (n,); NaN for a class without any."""
        x, k = torch.as_tensor(features, dtype=torch.float32), torch.as_tensor(labels, dtype=torch.long)
        z, weight = torch.from_numpy(class_prompts.features), torch.from_numpy(class_prompts.weight)
        return tensor_to_numpy(method.kl_to_one_hot(x, k, z, weight, temperature=class_prompts.temperature))


def empty_cache_for(info: records.BackboneInfo, names: Sequence[str], settings: Settings) -> CacheState:
    """What :meth:`Engine.empty_cache` returns, for a model that is loaded in another process."""
    key = class_prompts_key(info.name, tuple(names))
    return to_numpy(method.empty(len(names), settings.slots, info.width, key))
