"""The engine: one loaded model for page, pipeline, evaluation and scripts; numpy above it, torch below it. ``encoding.py``
has the model, its lock and its caches."""

import copy
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch

from rita_demo import method, records
from rita_demo.attacks import differentiated
from rita_demo.attacks.loop import run
from rita_demo.data.vocabularies import prompt_template
from rita_demo.defences.contract import Defence, DefenceInput
from rita_demo.defences.registry import DEFENCES, known_defence, run_defence
from rita_demo.engine import attack_models
from rita_demo.engine.attack_models import ONE_VIEW, AttackerModels
from rita_demo.engine.conversion import array_to_tensor, tensor_to_numpy, to_numpy, to_torch
from rita_demo.engine.encoding import Encoder
from rita_demo.process.cpu_threads import parallel_chunks
from rita_demo.process.generators import run_to_end, step_of
from rita_demo.process.torch_state import methods_in_plain_torch
from rita_demo.records import AttackTrace, CacheState, ClassPrompts, EncodedViews, Passes, Picture, TheoremBounds
from rita_demo.records.keys import class_prompts_key
from rita_demo.records.run import AttackProgress
from rita_demo.settings import Settings
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import name_tokens, same_prompts, unknown_words
from rita_demo.vlm.registry import load
from rita_demo.vlm.views.boxes import area_fractions
from rita_demo.vlm.views.crops import crop

CPU = torch.device("cpu")
CUDA_BATCH = 16  # attacks
#: Yields its progress, returns the traces.
RunningAttack = Generator[AttackProgress, None, list[AttackTrace]]


@methods_in_plain_torch
class Engine(Encoder):
    """A frozen model for everybody. Thread-safe: the model has a lock. It keeps no visitor's state: a cache (the page's
    memory) is an argument and a result. Raises BackboneError: the model cannot be loaded; every method raises it where the
    device's memory does not suffice, the device no longer answers, the model's output is not finite, or torch is set to
    round products for the whole process.

    Args:
        backbone: ``"embedded"``, ``"ARCH:TAG"`` of open_clip, or ``"ARCH:/path/to/checkpoint"``; or a model that is
            already loaded.
        device: a torch device name; None: ``RITA_DEVICE``, else CUDA, then MPS, then CPU. A loaded model stays where it
            is.
        view_pixel_bytes: room for the pixels of encoded views, so that :meth:`view_pixels` need not draw them a second
            time; 0 keeps none."""

    def __init__(
        self, backbone: str | Backbone = "embedded", device: str | None = None, view_pixel_bytes: int = 0
    ) -> None:
        super().__init__(load(backbone, device) if isinstance(backbone, str) else backbone, view_pixel_bytes)

    @property
    def passes(self) -> Passes:
        """How many pictures went through the vision tower so far, for everybody."""
        return self._backbone.passes.count()

    def weights_key(self) -> str:
        """A hash of the model's weights: stored results of other weights do not fit."""
        return self._backbone.weights_key()

    # --- class names to features; pictures: encoding.py

    def encode_classes(self, names: Sequence[str], settings: Settings) -> ClassPrompts:
        """Class names -> prompts and their features (K, M, D). Raises VocabularyError: a name cannot be tokenised.
        Raises DataError: the class descriptions cannot be used. Raises SettingError: ``hand_prompt`` is a dataset's
        prompt, and these names are of no dataset."""
        prompts = self.prompts(tuple(names), settings)
        return ClassPrompts(
            names=tuple(prompts.names),
            prompts=prompts.prompts,
            features=tensor_to_numpy(prompts.features),
            weight=tensor_to_numpy(prompts.weight),
            template_features=tensor_to_numpy(prompts.template_features),
            unknown=prompts.unknown,
            temperature=self._backbone.temperature,
            key=class_prompts_key(self.info.name, tuple(names)),
            prompt_template=prompt_template(settings.hand_prompt, names),
            same_prompts=prompts.same_prompts,
        )

    def names_warning(self, names: Sequence[str]) -> str:
        """:attr:`ClassPrompts.warning` of class names, which are not encoded for it."""
        tokens = name_tokens(self._backbone.tower, tuple(names))
        return records.same_prompts_warning(same_prompts(tuple(names), tokens))

    def unknown_words(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """:attr:`ClassPrompts.unknown` of class names, which are not encoded for it."""
        return tuple(unknown_words(self._backbone, name) for name in names)

    # --- attacks

    def attack(self, *args: Any, **named: Any) -> AttackTrace:
        """Attack the square, as :meth:`attack_steps` does."""
        return run_to_end(self.attack_steps(*args, **named))

    def attack_steps(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
        start: np.ndarray | None = None,
    ) -> Generator[AttackProgress, None, AttackTrace]:
        """Attack the square one step at a time: yields its progress, returns the trace. The model's lock is held during
        a step, not between two, so that a visitor who leaves does not block others. Raises SettingError: a value that
        the attack cannot use, before the first step. Raises PluginError: an attack of a user's own file fails.

        Args:
            label: the class to leave.
            target: the class to reach; None: any other than the label.
            cache: what the defence decides from, for the attack through the defence; None: an empty one.
            start: pixels (H, W, 3) uint8 from which the first start of ``adaptive`` goes on, within the budget; None:
                noise."""
        models, seeds = self._attacker_models(class_prompts, settings, cache), [settings.attack_seed]
        begin = None if start is None else self.pixels(replace(picture, pixels=start))[None]
        loop = self._attack_loop([picture], class_prompts, settings, [label], seeds, [target], models, begin)
        return (yield from self._finished([loop], one_core=differentiated(settings) == "model"))[0]

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
        self,
        pictures: Sequence[Picture],
        class_prompts: ClassPrompts,
        settings: Settings,
        labels: Sequence[int],
        seeds: Sequence[int],
        targets: Sequence[int | None],
        models: AttackerModels = ONE_VIEW,
        start: torch.Tensor | None = None,
    ) -> RunningAttack:
        """The attack of the settings; labels, seeds and targets are one of each per picture."""
        logits = attack_models.SingleViewLogits(self._backbone, self.tensor(class_prompts.template_features))
        squares, names = torch.stack([self.pixels(picture) for picture in pictures]), class_prompts.names
        return run.attack_steps(logits, squares, settings, labels, seeds, targets, *models, names=names, start=start)

    def _finished(self, loops: Sequence[RunningAttack], one_core: bool) -> RunningAttack:
        """The loops' steps, side by side, and all traces. The lock is held during a step and not between two."""

        def advance(part: range) -> list[tuple[AttackProgress | None, list[AttackTrace] | None]]:
            with torch.enable_grad():
                return [step_of(loops[n]) for n in part]

        one_core = one_core and self._backbone.one_core
        while True:
            with self.lock():
                steps = chain(*parallel_chunks(advance, len(loops))) if one_core else advance(range(len(loops)))
                progress, traces = zip(*steps)
            if progress[0] is None:
                return [to_numpy(trace) for trace in chain(*traces)]
            yield progress[0]

    def _attacker_models(
        self, class_prompts: ClassPrompts, settings: Settings, cache: CacheState | None
    ) -> AttackerModels:
        part = differentiated(settings)
        if part == "crops":
            hand = self.tensor(class_prompts.template_features)
            return AttackerModels(attack_models.random_crop_logits(self._backbone, hand, settings))
        if part != "defence":
            return ONE_VIEW
        inputs = replace(
            self._defence_input(None, class_prompts, settings),
            prompts=self.method_prompts(class_prompts, settings),
            cache=to_torch(self.compatible_cache(cache, class_prompts, settings), CPU),
        )
        if settings.attack != "adaptive":  # a user's own: it attacks RITA, and has a loop of its own or the usual one
            return AttackerModels(
                attack_models.defence_logits(self._backbone, DEFENCES["rita"].attacked_logits, inputs)
            )
        known = known_defence(settings)
        inputs = replace(inputs, memory=self._own_memory(known, cache, class_prompts, settings))
        first, second, judge = (
            attack_models.defence_logits(
                self._backbone, partial(known.attacked_logits, second=second), inputs, known.sees, count
            )
            for second, count in ((False, None), (True, None), (False, settings.views))
        )
        return AttackerModels(first, second if known.adaptive and known.adaptive.second else None, judge)

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
        """A cache without the item in slot ``slot`` of class ``k``; see :func:`rita_demo.method.remove`."""
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
        decisions = self.decide_in_turn([encoded_views], class_prompts, cache, settings, [tuning], exclusions)
        return decisions[0]

    def decide_in_turn(
        self,
        encoded_views: Sequence[EncodedViews],
        class_prompts: ClassPrompts,
        cache: CacheState | None,
        settings: Settings,
        tunings: Sequence[records.Tuning | None],
        exclusions: records.Exclusions | None = None,
    ) -> list[tuple[records.Trace, CacheState]]:
        """:meth:`decide` on several pictures with the same number of views, each from the cache after the one before;
        the transports of all are solved at once."""
        cache = self.compatible_cache(cache, class_prompts, settings)
        exclusions, device = exclusions or records.Exclusions(), self._backbone.device
        with self.lock():
            prompts = self.method_prompts(class_prompts, settings)
            mask, weight = method.apply_to_views(exclusions, len(encoded_views[0].features), prompts.weight)
            views = [
                method.Views(
                    self.tensor(encoded.features),
                    to_torch(tuning, device),
                    mask,
                    array_to_tensor(area_fractions(encoded.views.boxes), CPU),
                )
                for encoded, tuning in zip(encoded_views, tunings, strict=True)
            ]
            before = method.apply_to_cache(exclusions, to_torch(cache, CPU))
            decisions = method.decide_in_turn(views, replace(prompts, weight=weight), before, settings)
        return list(to_numpy(tuple(decisions)))

    def tune(self, encoded_views: EncodedViews, class_prompts: ClassPrompts, settings: Settings) -> records.Tuning:
        """The prompt update of :meth:`decide` alone, to be stored and passed back to it."""
        with self.lock():
            x = method.unit(self.tensor(encoded_views.features))  # as decide does
            tuning = method.tune(self.method_prompts(class_prompts, settings), x, settings)
        return to_numpy(tuning)

    # --- all defences

    def answers(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        settings: Settings,
        names: Iterable[str] = ("clip", "ensemble"),
        decide: Callable[[Settings], records.Trace] | None = None,
        picture: Picture | None = None,
        cache: CacheState | None = None,
    ) -> dict[str, records.Verdict | records.DefenceFault]:
        """The defences' answers from the same encoded views, by name; without those that have none. Raises
        SettingError: a setting of a defence that cannot be used with these classes.

        Args:
            names: of ``DEFENCES``; those that tune prompts cost a prompt update each.
            decide: RITA's decision on these views with the given settings, for RITA and its ablations.
            picture: the views' picture; without it, a defence that reads pixels has no answer.
            cache: RITA's, whose ``others`` are the memories of defences with their own; without one they are empty. What
                they remember afterwards is in their verdicts."""

        def own(name: str) -> DefenceInput:
            return replace(inputs, memory=self._own_memory(DEFENCES[name], cache, class_prompts, settings))

        with self.lock():
            inputs = self._defence_input(encoded_views, class_prompts, settings, picture)
            names = [name for name in names if picture is not None or not DEFENCES[name].reads_pixels]
            if decide is not None:
                inputs = replace(inputs, decide=decide)
            answers = {name: run_defence(name, own(name)) for name in names}
        return {name: to_numpy(answer) for name, answer in answers.items() if answer is not None}

    def _own_memory(
        self, defence: Defence, cache: CacheState | None, class_prompts: ClassPrompts, settings: Settings
    ) -> CacheState | None:
        """A copy of the memory that a defence has of its own, on the CPU; empty where there is none of these classes."""
        if defence.memory_shape is None or settings.protocol == "off":
            return None
        empty = empty_cache_for(self.info, class_prompts.names, settings, defence.name)
        known = cache.others.get(defence.name) if cache is not None and settings.protocol == "stream" else None
        fits = known is not None and known.key == empty.key and known.features.shape == empty.features.shape
        memory = copy.deepcopy(known) if fits and known is not None else empty
        pictures = memory.pictures if cache is None else max(memory.pictures, cache.pictures)
        return to_torch(replace(memory, pictures=pictures), CPU)

    def _defence_input(
        self,
        encoded_views: EncodedViews | None,
        class_prompts: ClassPrompts,
        settings: Settings,
        picture: Picture | None = None,
    ) -> DefenceInput:
        """What a defence sees; without views for an attacker, who draws fresh ones."""

        def draw_views(count: int) -> torch.Tensor:
            assert encoded_views is not None
            assert picture is not None
            views = encoded_views.views
            return crop(self.pixels(picture), views.boxes[:count], views.flipped[:count], self._backbone.side)

        def encode_images(pixels: torch.Tensor) -> torch.Tensor:
            return (self._backbone.encode_pixels if pixels.requires_grad else self._backbone.encode_views)(pixels)

        prompts = self.prompts_of(class_prompts, settings)
        nothing = torch.empty(0, dtype=torch.float32, device=CPU)
        return DefenceInput(
            views=nothing if encoded_views is None else self.tensor(encoded_views.features),
            area_fraction=nothing if encoded_views is None else self.area_fraction(encoded_views),
            template_features=self.tensor(class_prompts.template_features),
            description_features=prompts.mean_description_features(),
            each_description=prompts.each_description if prompts.each_description.shape[1] else None,
            context=prompts.context[:1],
            encode_prompts=prompts.encode_contexts,
            temperature=class_prompts.temperature,
            settings=settings,
            draw_views=draw_views,
            encode_images=encode_images,
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
        x = torch.as_tensor(features, dtype=torch.float32, device=CPU)
        k = torch.as_tensor(labels, dtype=torch.long, device=CPU)
        z, weight = torch.from_numpy(class_prompts.features), torch.from_numpy(class_prompts.weight)
        return tensor_to_numpy(method.kl_to_one_hot(x, k, z, weight, temperature=class_prompts.temperature))


def empty_cache_for(
    info: records.BackboneInfo, names: Sequence[str], settings: Settings, defence: str = "rita"
) -> CacheState:
    """What :meth:`Engine.empty_cache` returns, for a model that is loaded in another process; or the empty memory of
    another ``defence`` that has one of its own."""
    shape, key = DEFENCES[defence].memory_shape, class_prompts_key(info.name, tuple(names))
    rows, slots = shape(len(names)) if shape else (len(names), settings.slots)
    return to_numpy(method.empty(rows, slots, info.width, key))
