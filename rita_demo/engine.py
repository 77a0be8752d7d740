"""The engine: the facade everybody shares; above it is numpy, below it torch.

Five doors: ``classes`` (names -> prompts), ``attack``, ``look`` (picture -> views and features:
costly, keyed by content), ``decide`` (cheap: what sliders call), ``compare`` (baselines).
The engine keeps no visitor's state: a memory (cache) goes in as a value and comes out as a value.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rita_demo import attacks, baselines, heap, method, sights, views, vlm
from rita_demo.crossing import as_numpy, inside, outside
from rita_demo.data.descriptions import described
from rita_demo.data.hand_prompts import hand_sentence
from rita_demo.data.pictures import picture_of
from rita_demo.errors import SettingError
from rita_demo.recent import Remembered
from rita_demo.records import (
    AttackTrace,
    BackboneInfo,
    Bracket,
    CacheState,
    Descent,
    Glance,
    LeftOut,
    Picture,
    TextBank,
    Trace,
    Transport,
    Tuning,
    Verdict,
)
from rita_demo.settings import KNOBS, Settings

PROMPT_KNOBS = ("prompts", "context_init", "context_seed", "descriptions", "hand_prompt")
WHOLE_SQUARE = (np.array([[0.0, 0.0, 1.0, 1.0]], np.float32), np.array([False]))  # box, mirrored
KEPT_BYTES = 256 << 20  # of attacks, and as much of prompt updates, on pictures that are nobody's
DERIVED = 2048  # names of attack steps and view sets; a step of an attack has one, and one for each setting of views
GLANCE_BYTES = (
    64 << 20
)  # of the last views' features, whoever looked: 512 pictures at 64 views of 512 numbers
VIEW_KNOBS = ("views", "view_seed", "view_scale", "views_augmix")


class Engine:
    """A frozen model behind five doors. Thread-safe: one lock guards the model.

    Args:
        backbone: ``"embedded"``, ``"ARCH:TAG"`` of open_clip, or ``"ARCH:/path/to/checkpoint"``; or a
            model that is already loaded.
        device: a torch device name; None: ``RITA_DEVICE``, else CUDA, then MPS,
            then CPU. A loaded model stays where it is.

    Raises:
        BackboneError: when the model cannot be had, with a sentence that says why; from every door: when
            the device's memory does not suffice, or the model's answer is not a number.
    """

    def __init__(
        self, backbone: str | vlm.Backbone = "embedded", device: str | None = None
    ) -> None:
        self._backbone = vlm.load(backbone, device) if isinstance(backbone, str) else backbone
        self._lock = threading.RLock()
        self._prompts: Remembered[Any] = Remembered(16)
        self._glances: Remembered[Glance] = Remembered(GLANCE_BYTES, lambda g: g.features.nbytes)
        self._attacks: Remembered[AttackTrace] = Remembered(KEPT_BYTES, lambda a: a.frames.nbytes)
        self._tunings: Remembered[Tuning] = Remembered(KEPT_BYTES, lambda t: t.features.nbytes)
        self._nobodys: set[str] = (
            set()
        )  # keys of pictures that work is kept on, as many as were named
        self._derived: Remembered[bool] = Remembered(
            DERIVED
        )  # of what was made of them, and of views

    @property
    def info(self) -> BackboneInfo:
        """Name, size, input side and device of the model."""
        return self._backbone.info

    def weights_key(self) -> str:
        """Names the model's weights by their content: stored results of other weights do not fit."""
        return self._backbone.weights_key()

    # --- door 1
    def classes(self, names: Sequence[str], settings: Settings) -> TextBank:
        """Class names -> prompts and their features (K, M, D).

        Raises:
            VocabularyError: when a name cannot be tokenised.
            DataError: when the class descriptions asked for cannot be used.
            SettingError: when CLIP is to be asked with the dataset's sentence and these names are of none.
        """
        prompts = self._prompt_set(tuple(names), settings)
        return TextBank(
            names=tuple(prompts.names),
            prompts=prompts.prompts,
            features=as_numpy(prompts.features),
            weight=as_numpy(prompts.weight),
            hand=as_numpy(prompts.hand),
            unknown=prompts.unknown,
            temperature=self._backbone.temperature,
            key=_bank_key(self.info, names),
            hand_sentence=hand_sentence(settings.hand_prompt, names),
        )

    # --- door 2
    def attack(
        self,
        picture: Picture,
        bank: TextBank,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> AttackTrace:
        """Attack the square. See :meth:`attacking`."""
        steps = self.attacking(picture, bank, settings, label, target, cache)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    def attacking(
        self,
        picture: Picture,
        bank: TextBank,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> Generator[tuple[int, int], None, AttackTrace]:
        """The same one step at a time: yields (steps done, steps), returns the trace.

        The lock is held during a step, never between two: a visitor who leaves blocks nobody.
        ``cache``: the memory the defence will decide from, for the attack through the defence; None
        means an empty one. An attack that is kept (:meth:`keep_attacks_on`) is there in one step.
        """
        key = self._attack_key(picture, bank, settings, label, target)
        kept = None if key is None else self._attacks.find(key)
        if kept is not None:
            yield len(kept.frames) - 1, len(kept.frames) - 1
            return kept
        begin = time.perf_counter()
        loop = attacks.attack(
            self._single_view_logits(bank),
            self._pixels(picture),
            label,
            name=settings.attack,
            budget=settings.budget,
            steps=settings.steps,
            seed=settings.attack_seed,
            target=target,
            roundtrip=settings.adversarial_roundtrip,
            sight=self._sight(bank, settings, cache),
        )
        while True:
            with self._alone():
                try:
                    progress = next(loop)
                except StopIteration as end:
                    trace: AttackTrace = replace(
                        outside(end.value), seconds=time.perf_counter() - begin
                    )
                    break
            yield progress.step, progress.steps
        if key is not None:
            for square in trace.frames:
                self._derived.keep(picture_of(square).key, True)
            self._attacks.keep(key, trace)
        return trace

    def attack_together(
        self,
        pictures: Sequence[Picture],
        bank: TextBank,
        settings: Settings,
        labels: Sequence[int],
        seeds: Sequence[int],
        targets: Sequence[int | None] | None = None,
    ) -> list[AttackTrace]:
        """:meth:`attack` on squares of one size as one batch, each with its own seed: the same up to rounding.

        Not for attacks that look through crops or the defence.
        """
        with self._alone():
            return [
                outside(trace)
                for trace in attacks.attack_together(
                    self._single_view_logits(bank),
                    torch.stack([self._pixels(picture) for picture in pictures]),
                    labels,
                    name=settings.attack,
                    budget=settings.budget,
                    steps=settings.steps,
                    seeds=seeds,
                    targets=targets,
                    roundtrip=settings.adversarial_roundtrip,
                )
            ]

    def keep_work_on(self, picture: Picture) -> None:
        """From now on attacks on this picture are remembered, and the prompt updates for it and for what they make of it.
        Only for pictures that are nobody's: what belongs to a visitor goes with him.
        """
        self._nobodys.add(picture.key)

    def _lasts(self, key: str) -> bool:
        """Whether work on this is kept. Steps and views not met for long are not known any more: they are computed again."""
        return key in self._nobodys or self._derived.find(key) is not None

    def _attack_key(
        self, picture: Picture, bank: TextBank, settings: Settings, label: int, target: int | None
    ) -> str | None:
        """Names an attack that is kept, or is to be; None for one that is not, or depends on more than this."""
        alone = attacks.looks_through(settings) in ("", "diversity")
        if not self._lasts(picture.key) or not alone:
            return None
        knobs = [str(getattr(settings, name)) for name, k in KNOBS.items() if k.group == "attack"]
        return _key(self.info.name, picture.key, bank.key, str(label), str(target), *knobs)

    # --- door 3
    def look(self, picture: Picture, settings: Settings) -> Glance:
        """Draw the views of a picture and encode each once; the same picture is never encoded twice."""
        knobs = [str(getattr(settings, name)) for name in VIEW_KNOBS]
        key = _key(self.info.name, picture.key, *knobs)
        if self._lasts(picture.key):
            self._derived.keep(key, True)
        return self._glances.get(key, lambda: self._encode(picture, settings, key))

    def look_together(
        self, pictures: Sequence[Picture], settings: Settings, seeds: Sequence[int]
    ) -> list[Glance]:
        """:meth:`look` at several pictures, each with its own view seed; their views are encoded together."""
        with self._alone():
            drawn = [
                views.make_views(
                    self._pixels(picture), settings.but(view_seed=seed), self.info.side
                )
                for picture, seed in zip(pictures, seeds, strict=True)
            ]
            cut = torch.cat([one.pixels for one in drawn if one.pixels is not None])
            features = as_numpy(vlm.finite(self._backbone.encode_views(cut, len(drawn))))
        each = features.reshape(len(drawn), -1, features.shape[1])
        return [
            Glance(
                outside(replace(one, pixels=None)),
                own,
                _key("together", self.info.name, picture.key, str(settings), str(seed)),
            )
            for one, own, picture, seed in zip(drawn, each, pictures, seeds)
        ]

    def view_pixels(self, picture: Picture, settings: Settings) -> np.ndarray:
        """The views as pictures for the screen: (N, side, side, 3) uint8."""
        with self._alone():
            drawn = views.make_views(self._pixels(picture), settings, self.info.side)
        assert drawn.pixels is not None  # just made
        return as_numpy(drawn.pixels.mul(255).round().clamp(0, 255).byte().permute(0, 2, 3, 1))

    # --- door 4
    def empty_cache(self, bank: TextBank, settings: Settings) -> CacheState:
        """A memory that has seen nothing."""
        classes, width = bank.hand.shape
        return outside(method.empty(classes, settings.slots, width, bank.key))

    def fitting(self, cache: CacheState | None, bank: TextBank, settings: Settings) -> CacheState:
        """The given memory, or an empty one when it is missing or of another vocabulary or model."""
        if cache is None or cache.key != bank.key:
            return self.empty_cache(bank, settings)
        return cache

    def forget(self, cache: CacheState, k: int, slot: int) -> CacheState:
        """A memory without one of its items; see :func:`rita_demo.method.without`."""
        return outside(method.without(inside(cache, torch.device("cpu")), k, slot))

    def decide(
        self,
        glance: Glance,
        bank: TextBank,
        cache: CacheState | None,
        settings: Settings,
        tuning: Tuning | None = None,
        left_out: LeftOut | None = None,
    ) -> tuple[Trace, CacheState]:
        """RITA's answer from features alone, and the memory as it would be afterwards.

        Args:
            cache: the memory to decide from; None, or one of another vocabulary or model, means an empty one.
            tuning: an earlier trace's prompt update, to leave the text tower alone when only
                transport or memory settings changed.
            left_out: views and prompts that carry no mass, keeping their place in the trace; items of
                ``cache`` (class, slot) that are taken out before anything else happens.

        Raises:
            SettingError: when ``bank`` is of another model; when ``left_out`` leaves no view, or a
                class no prompt, or names an item that is not there.
        """
        cache = self.fitting(cache, bank, settings)
        if tuning is None and left_out is None and self._lasts(glance.key):
            knobs = [str(getattr(settings, n)) for n, k in KNOBS.items() if k.group != "attack"]
            key = _key(glance.key, bank.key, *knobs)
            tuning = self._tunings.get(key, lambda: self.tune(glance, bank, settings))
        left_out = left_out or LeftOut()
        with self._alone():
            prompts, device = self._method_prompts(bank, settings), self._backbone.device
            present, weight = method.left_in(left_out, len(glance.features), prompts.weight)
            trace, after = method.decide(
                torch.from_numpy(glance.features).to(device),
                replace(prompts, weight=weight),
                method.remembered(left_out, inside(cache, device)),
                settings,
                tuning=inside(tuning, device),
                present=present,
                shown=torch.from_numpy(views.shares(glance.views.boxes)).to(device),
            )
        return outside(trace), outside(after)

    def tune(self, glance: Glance, bank: TextBank, settings: Settings) -> Tuning:
        """The prompt update of :meth:`decide` alone, to be kept and passed back to it."""
        with self._alone():
            prompts, device = self._prompts_of(bank, settings), self._backbone.device
            tuning = method.tune(
                prompts.encode,
                prompts.context,
                method.unit(torch.from_numpy(glance.features).to(device)),  # as decide does
                prompts.weight,
                settings,
                self._backbone.temperature,
                prompts.features,
            )
        return outside(tuning)

    def descent(self, moved: Transport, k: int, settings: Settings) -> Descent:
        """How Sinkhorn came to a trace's transport of class ``k``; see ``method.sinkhorn.descent``.

        It runs on the CPU: one small problem, many short steps.
        """
        return outside(method.descent(inside(moved, torch.device("cpu")), k, settings))

    # --- door 5
    def compare(
        self,
        glance: Glance,
        bank: TextBank,
        settings: Settings,
        names: Iterable[str] = ("clip", "ensemble"),
    ) -> dict[str, Verdict]:
        """The other methods' answers from the same encoded views, by method name.

        Args:
            names: of ``baselines.BASELINES``; TPT, C-TPT and R-TPT cost a prompt update each.

        Raises:
            SettingError: a setting of a baseline that cannot be used with this vocabulary.
        """
        with self._alone():
            prompts, device = self._prompts_of(bank, settings), self._backbone.device
            question = baselines.Question(
                views=torch.from_numpy(glance.features).to(device),
                shown=torch.from_numpy(views.shares(glance.views.boxes)).to(device),
                hand=torch.from_numpy(bank.hand).to(device),
                written=prompts.written_mean(),
                context=prompts.context[:1],
                encode=prompts.encode_contexts,
                temperature=bank.temperature,
            )
            return {name: outside(baselines.answer(name, question, settings)) for name in names}

    # --- numbers of the paper's figures, from features alone
    def bracket(self, trace: Trace) -> Bracket:
        """Definition 14 for every class of a decided picture; ``exact`` is left for the analysis."""
        x, z = (torch.from_numpy(a) for a in (trace.view_features, trace.prompt_features))
        weight = torch.from_numpy(trace.prompt_weight)
        lower, upper, gap, bures = (
            as_numpy(part) for part in method.bracket(x, z, z_weight=weight)
        )
        unknown = np.full(len(lower), np.nan)
        return Bracket(lower, upper, gap, bures, unknown, 2 * trace.prompt.distance)

    def one_hot_kl(self, features: np.ndarray, labels: np.ndarray, bank: TextBank) -> np.ndarray:
        """Definition 15: (K,) nats for features (n, D) of classes ``labels`` (n,); NaN where none."""
        return as_numpy(
            method.kl_to_one_hot(
                torch.from_numpy(np.ascontiguousarray(features, np.float32)),
                torch.from_numpy(np.asarray(labels, np.int64)),
                torch.from_numpy(bank.features),
                torch.from_numpy(bank.weight),
                temperature=bank.temperature,
            )
        )

    # --- inside
    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The model for one caller. (Views are encoded in smaller chunks before it comes to the sentence.)

        Raises:
            BackboneError: the device's memory does not suffice.
        """
        with self._lock:
            try:
                yield
            except (RuntimeError, MemoryError) as error:
                if not vlm.is_full(error):
                    raise
                raise vlm.no_room() from error

    def _prompts_of(self, bank: TextBank, settings: Settings) -> Any:
        """The vocabulary's prompts; features of another model would fit by chance, or not at all."""
        if bank.key != _bank_key(self.info, bank.names):
            raise SettingError(
                "Another model was chosen since this picture was decided.",
                "Run a picture with it first, or go back to the model it was decided with.",
            )
        return self._prompt_set(bank.names, settings)

    def _prompt_set(self, names: tuple[str, ...], settings: Settings) -> Any:
        key = _key(*names, *(str(getattr(settings, knob)) for knob in PROMPT_KNOBS))

        def build() -> Any:
            sentences = described(names, settings.descriptions)
            hand = hand_sentence(settings.hand_prompt, names)
            prompts = vlm.build_prompts(self._backbone, names, settings, sentences, hand)
            vlm.finite(prompts.features)
            return prompts

        with self._alone():
            return self._prompts.get(key, build)

    def _method_prompts(self, bank: TextBank, settings: Settings) -> method.Prompts:
        """A vocabulary as the method wants it."""
        prompts = self._prompts_of(bank, settings)
        return method.Prompts(
            encode=prompts.encode,
            context=prompts.context,
            features=prompts.features,
            weight=prompts.weight,
            temperature=self._backbone.temperature,
        )

    def _encode(self, picture: Picture, settings: Settings, key: str) -> Glance:
        with self._alone():
            begin = time.perf_counter()
            drawn = views.make_views(self._pixels(picture), settings, self.info.side)
            cut = time.perf_counter()
            assert drawn.pixels is not None  # just made
            features = as_numpy(vlm.finite(self._backbone.encode_views(drawn.pixels)))
            end = time.perf_counter()
        kept = outside(replace(drawn, pixels=None))
        del drawn
        heap.trim_if_grown()
        return Glance(kept, features, key, {"views": cut - begin, "encoding": end - cut})

    def _single_view_logits(self, bank: TextBank) -> Callable[[torch.Tensor], torch.Tensor]:
        """What the attacker sees: pixels (B, 3, H, W) -> logits (B, K), through view 0's own resize."""
        hand = torch.from_numpy(bank.hand).to(self._backbone.device)

        def logits(pixels: torch.Tensor) -> torch.Tensor:
            view_zero = [views.crop(square, *WHOLE_SQUARE, self.info.side)[0] for square in pixels]
            features = self._backbone.encode_pixels(torch.stack(view_zero))
            return features @ hand.T / self._backbone.temperature

        return logits

    def _sight(
        self, bank: TextBank, settings: Settings, cache: CacheState | None
    ) -> attacks.Sight | None:
        """What the attacker of these settings looks through; None: the model itself, or his own affair."""
        through, model = attacks.looks_through(settings), self._backbone
        if through == "crops":
            hand = torch.from_numpy(bank.hand).to(model.device)
            return sights.through_crops(
                model.encode_pixels, hand, model.temperature, settings, self.info.side
            )
        if through == "defence":
            memory = inside(self.fitting(cache, bank, settings), model.device)
            prompts = self._method_prompts(bank, settings)
            return sights.through_defence(
                model.encode_pixels, prompts, memory, settings, self.info.side
            )
        return None

    def _pixels(self, picture: Picture) -> torch.Tensor:
        """(H, W, 3) uint8 -> (3, H, W) float32 in [0, 1] on the device."""
        tensor = torch.from_numpy(np.ascontiguousarray(picture.pixels)).to(self._backbone.device)
        return tensor.permute(2, 0, 1).float() / 255


def empty_memory(info: BackboneInfo, names: Sequence[str], settings: Settings) -> CacheState:
    """What :meth:`Engine.empty_cache` gives, for a model that is loaded somewhere else."""
    key = _bank_key(info, names)
    return outside(method.empty(len(names), settings.slots, info.width, key))


def _bank_key(info: BackboneInfo, names: Sequence[str]) -> str:
    return _key(info.name, *names)


def _key(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]
