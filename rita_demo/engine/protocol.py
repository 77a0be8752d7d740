"""The methods of an engine that pipeline, evaluation and page use. Loads no torch.

:class:`rita_demo.engine.engine.Engine` is the implementation and documents them; tests bring a fake one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Protocol

import numpy as np

from rita_demo.records import (
    AttackTrace,
    BackboneInfo,
    CacheState,
    ClassPrompts,
    DefenceFault,
    EncodedViews,
    Exclusions,
    Picture,
    SinkhornHistory,
    TheoremBounds,
    Trace,
    Transport,
    Tuning,
    Verdict,
)
from rita_demo.settings import Settings


class Engine(Protocol):
    """See :class:`rita_demo.engine.engine.Engine`."""

    @property
    def info(self) -> BackboneInfo: ...

    def weights_key(self) -> str: ...

    def encode_classes(self, names: Sequence[str], settings: Settings) -> ClassPrompts: ...

    def attack(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> AttackTrace: ...

    def attack_steps(
        self,
        picture: Picture,
        class_prompts: ClassPrompts,
        settings: Settings,
        label: int,
        target: int | None = None,
        cache: CacheState | None = None,
    ) -> Generator[tuple[int, int], None, AttackTrace]: ...

    def attack_batch(
        self,
        pictures: Sequence[Picture],
        class_prompts: ClassPrompts,
        settings: Settings,
        labels: Sequence[int],
        seeds: Sequence[int],
        targets: Sequence[int | None] | None = None,
    ) -> list[AttackTrace]: ...

    def encode_views(self, picture: Picture, settings: Settings) -> EncodedViews: ...

    def encode_views_batch(
        self, pictures: Sequence[Picture], settings: Settings, seeds: Sequence[int]
    ) -> list[EncodedViews]: ...

    def view_pixels(self, picture: Picture, settings: Settings) -> np.ndarray: ...

    def empty_cache(self, class_prompts: ClassPrompts, settings: Settings) -> CacheState: ...

    def compatible_cache(
        self, cache: CacheState | None, class_prompts: ClassPrompts, settings: Settings
    ) -> CacheState: ...

    def remove_cache_item(self, cache: CacheState, k: int, slot: int) -> CacheState: ...

    def decide(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        cache: CacheState | None,
        settings: Settings,
        tuning: Tuning | None = None,
        exclusions: Exclusions | None = None,
    ) -> tuple[Trace, CacheState]: ...

    def tune(self, encoded_views: EncodedViews, class_prompts: ClassPrompts, settings: Settings) -> Tuning: ...

    def sinkhorn_history(self, solved: Transport, k: int, settings: Settings) -> SinkhornHistory: ...

    def answers(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        settings: Settings,
        names: Iterable[str] = ("clip", "ensemble"),
        decide: Callable[[Settings], Trace] | None = None,
    ) -> dict[str, Verdict | DefenceFault]: ...

    def theorem_bounds(self, trace: Trace) -> TheoremBounds: ...

    def kl_to_one_hot(self, features: np.ndarray, labels: np.ndarray, class_prompts: ClassPrompts) -> np.ndarray: ...
