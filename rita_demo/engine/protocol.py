"""What an engine does for page, pipeline, evaluation and scripts: numpy arrays in and out. Importing this module loads
no torch. :class:`rita_demo.engine.engine.Engine` does it with a model; tests bring one with a toy model."""

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
    Passes,
    Picture,
    TheoremBounds,
    Trace,
    Tuning,
    Verdict,
)
from rita_demo.records.run import AttackProgress
from rita_demo.settings import Settings


class Engine(Protocol):
    """A frozen model for everybody. Thread-safe: the model has a lock. It keeps no visitor's state: a cache (the page's
    memory) is an argument and a result. Every method raises BackboneError: the device's memory does not suffice, the
    device no longer answers, the model's output is not finite, or torch is set to round products for the whole process."""

    info: BackboneInfo
    """Name, size, input side and device of the model."""

    @property
    def passes(self) -> Passes:
        """How many pictures went through the vision tower so far, for everybody."""

    def weights_key(self) -> str:
        """A hash of the model's weights: stored results of other weights do not fit."""

    # --- class names and pictures to features

    def encode_classes(self, names: Sequence[str], settings: Settings) -> ClassPrompts:
        """Class names -> prompts and their features (K, M, D). Raises VocabularyError: a name cannot be tokenised.
        Raises DataError: the class descriptions cannot be used. Raises SettingError: ``hand_prompt`` is a dataset's
        prompt, and these names are of no dataset."""

    def names_warning(self, names: Sequence[str]) -> str:
        """:attr:`ClassPrompts.warning` of class names, which are not encoded for it."""

    def unknown_words(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """:attr:`ClassPrompts.unknown` of class names, which are not encoded for it."""

    def encode_views(self, picture: Picture, settings: Settings) -> EncodedViews:
        """Draw the views of a picture and encode each; cached by content."""

    def encode_views_batch(
        self, pictures: Sequence[Picture], settings: Settings, seeds: Sequence[int]
    ) -> list[EncodedViews]:
        """:meth:`encode_views` of several pictures, each with its own view seed, in one batch; not cached."""

    def view_pixels(self, picture: Picture, settings: Settings) -> np.ndarray:
        """The views as pictures for the screen: (N, side, side, 3) uint8, kept from :meth:`encode_views` or drawn."""

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
        """Attack the square, as :meth:`attack_steps` does."""

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

    @property
    def attacks_together(self) -> int:
        """How many pictures :meth:`attack_batch` should get."""

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

    # --- RITA's cache and decision

    def empty_cache(self, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        """A cache without any views."""

    def compatible_cache(self, cache: CacheState | None, class_prompts: ClassPrompts, settings: Settings) -> CacheState:
        """The given cache, or an empty one if it is missing or of other classes or another model."""

    def remove_cache_item(self, cache: CacheState, k: int, slot: int) -> CacheState:
        """A cache without the item in slot ``slot`` of class ``k``; see :func:`rita_demo.method.remove`."""

    def decide(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        cache: CacheState | None,
        settings: Settings,
        tuning: Tuning | None = None,
        exclusions: Exclusions | None = None,
    ) -> tuple[Trace, CacheState]:
        """RITA's decision from features alone, and the cache after it. Raises SettingError: ``class_prompts`` is of
        another model; ``exclusions`` leaves no view, or a class no prompt, or names an item that does not exist.

        Args:
            cache: None, or one of other classes or another model: an empty one.
            tuning: an earlier trace's prompt update, to skip the text encoder when only transport or cache settings
                changed.
            exclusions: views and prompts that get no mass but keep their place in the trace, and items of ``cache``
                (class, slot) that are removed first."""

    def decide_in_turn(
        self,
        encoded_views: Sequence[EncodedViews],
        class_prompts: ClassPrompts,
        cache: CacheState | None,
        settings: Settings,
        tunings: Sequence[Tuning | None],
        exclusions: Exclusions | None = None,
    ) -> list[tuple[Trace, CacheState]]:
        """:meth:`decide` on several pictures with the same number of views, each from the cache after the one before;
        the transports of all are solved at once."""

    def tune(self, encoded_views: EncodedViews, class_prompts: ClassPrompts, settings: Settings) -> Tuning:
        """The prompt update of :meth:`decide` alone, to be stored and passed back to it."""

    # --- all defences

    def answers(
        self,
        encoded_views: EncodedViews,
        class_prompts: ClassPrompts,
        settings: Settings,
        names: Iterable[str] = ("clip", "ensemble"),
        decide: Callable[[Settings], Trace] | None = None,
        picture: Picture | None = None,
        cache: CacheState | None = None,
    ) -> dict[str, Verdict | DefenceFault]:
        """The defences' answers from the same encoded views, by name; without those that have none. Raises
        SettingError: a setting of a defence that cannot be used with these classes.

        Args:
            names: of ``DEFENCES``; those that tune prompts cost a prompt update each.
            decide: RITA's decision on these views with the given settings, for RITA and its ablations.
            picture: the views' picture; without it, a defence that reads pixels has no answer.
            cache: RITA's, whose ``others`` are the memories of defences with their own; without one they are empty. What
                they remember afterwards is in their verdicts."""

    # --- numbers of the figures, from features alone

    def theorem_bounds(self, trace: Trace) -> TheoremBounds:
        """Definition 14 for every class of a decided picture; the analysis computes ``exact``."""

    def kl_to_one_hot(self, features: np.ndarray, labels: np.ndarray, class_prompts: ClassPrompts) -> np.ndarray:
        """Definition 15: (K,) nats for features (n, D) of classes ``labels`` (n,); NaN for a class without any."""
