"""The second part of the engine: attacks on pictures."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import torch

from rita_demo.attacks import access_of, run
from rita_demo.attacks.gradient_loop import Logits, SampledLogits
from rita_demo.engine import attack_models
from rita_demo.engine.conversion import to_numpy, to_torch
from rita_demo.engine.encoding import EncodingEngine
from rita_demo.method import empty
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace, CacheState, ClassPrompts, Picture
from rita_demo.settings import Settings


class AttackEngine(EncodingEngine):
    """A frozen model that can be attacked. :class:`rita_demo.engine.engine.Engine` is the whole."""

    def attack(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> AttackTrace:
        """Attack the square. See :meth:`attack_steps`."""
        return run_to_end(self.attack_steps(picture, class_prompts, settings, label, target, cache))

    def attack_steps(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> Generator[tuple[int, int], None, AttackTrace]:
        """The same one step at a time: yields (steps done, steps), returns the trace.

        The lock is held during a step, not between two, so that a visitor who leaves does not block others. ``cache``: what
        the defence decides from, for the attack through the defence; None: an empty one.
        """
        loop = run.attack_steps(
            self._single_view_logits(class_prompts),
            self._pixels(picture)[None],
            settings,
            [label],
            [settings.attack_seed],
            [target],
            self._attack_model(class_prompts, settings, cache),
        )
        while True:
            with self._model_lock():
                try:
                    progress = next(loop)
                except StopIteration as end:
                    trace: AttackTrace = to_numpy(end.value[0])
                    break
            yield progress.step, progress.steps
        return trace

    def attack_batch(
        self,
        pictures: Sequence[Picture],
        class_prompts: ClassPrompts,
        settings: Settings,
        labels: Sequence[int],
        seeds: Sequence[int],
        targets: Sequence[int | None] | None = None,
    ) -> list[AttackTrace]:
        """:meth:`attack` on squares of one size as one batch, each with its own seed: the same up to rounding.

        Not for attacks through crops or the defence.
        """
        with self._model_lock():
            steps = run.attack_steps(
                self._single_view_logits(class_prompts),
                torch.stack([self._pixels(picture) for picture in pictures]),
                settings,
                labels,
                seeds,
                targets,
            )
            traces = run_to_end(steps)
        return [to_numpy(trace) for trace in traces]

    def empty_cache(self, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        """A cache without any views."""
        classes, width = class_prompts.template_features.shape
        return to_numpy(empty(classes, settings.slots, width, class_prompts.key))

    def compatible_cache(self, cache: CacheState | None, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        """The given cache, or an empty one if it is missing or of other classes or another model."""
        if cache is None or cache.key != class_prompts.key:
            return self.empty_cache(class_prompts, settings)
        return cache

    def _single_view_logits(self, class_prompts: ClassPrompts) -> Logits:
        """Plain CLIP as an attack queries it: pixels (B, 3, H, W) -> logits (B, K)."""
        template_features = self._tensor(class_prompts.template_features)
        return attack_models.single_view_logits(
            self._backbone.encode_pixels, template_features, self._backbone.temperature, self.info.side
        )

    def _attack_model(
        self, class_prompts: ClassPrompts, settings: Settings, cache: CacheState | None
    ) -> SampledLogits | None:
        """What the attacker of these settings differentiates; None: plain CLIP."""
        access, model = access_of(settings), self._backbone
        if access == "crops":
            template_features = self._tensor(class_prompts.template_features)
            return attack_models.random_crop_logits(
                model.encode_pixels, template_features, model.temperature, settings, self.info.side
            )
        if access == "defence":
            state = to_torch(self.compatible_cache(cache, class_prompts, settings), model.device)
            prompts = self._method_prompts(class_prompts, settings)
            return attack_models.defence_logits(model.encode_pixels, prompts, state, settings, self.info.side)
        return None
