"""What is asked of one picture, and how the form, a link, the API, the command line, Python and a saved run say it.

Each of them maps its own names to those of :meth:`RunRequest.parse`, which checks the values. Nothing here loads numpy."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.attacks.registry import get_attack
from rita_demo.data.datasets import paper_settings
from rita_demo.data.vocabularies import check_names, label_index, parse_names, vocabulary
from rita_demo.defences.registry import DEFAULT_METHODS, usual, with_defaults
from rita_demo.records import CacheState, Run
from rita_demo.records.errors import DataError, SettingError, VocabularyError
from rita_demo.records.json_value import Json, JsonValue
from rita_demo.settings import Settings, get_setting, preset
from rita_demo.settings.attack_name import parse_attack

if TYPE_CHECKING:
    from rita_demo.data.picture_sources import Source
    from rita_demo.engine.protocol import Engine
    from rita_demo.pipeline.run import RunProgress

#: Settings with an option of their own.
OWN_OPTIONS = ("attack", "budget", "steps", "square")


@dataclass(frozen=True)
class RunRequest:
    """One run: a picture, K class names, all settings, the true class ``label`` and the attack's ``target`` (indices, None:
    not given), and the ``methods`` that answer. ``title`` and ``sample``: what the picture is called, and the key of the
    sample that it is; ``selection``: what is selected when the page shows the run, as far as it has it."""

    picture: Source  # also a Picture, as run_steps needs it
    names: tuple[str, ...]
    settings: Settings
    label: int | None = None
    target: int | None = None
    title: str = "A picture"
    sample: str | None = None
    methods: tuple[str, ...] = DEFAULT_METHODS
    selection: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        picture: Source,
        *,
        classes: Json = None,
        vocabulary: str | None = None,
        label: Json = None,
        target: Json = None,
        methods: Json = None,
        start: str = "recommended",
        saved: Mapping[str, JsonValue] | None = None,
        attack: str | None = None,
        budget: Json = None,
        steps: Json = None,
        square: str | None = None,
        seed: Json = None,
        changes: Mapping[str, JsonValue] | None = None,
    ) -> RunRequest:
        """A request in the words of its users.

        Its settings are a preset with options on top; later ones win: ``start`` (``paper``: as it is for that
        ``vocabulary``), ``saved`` (setting -> value of a file), the options that are given, ``changes`` (setting -> value).

        Args:
            classes, vocabulary: see :func:`class_names`. methods: see :func:`method_names`.
            label: the true class, its name or index. target: the class the attack aims at, which needs an attack.
            attack: a name, or ``adaptive:METHOD``. budget: in 1/255.
            steps: of this attack, whatever its setting of them is called.
            seed: both the attack's and the views'.

        Raises:
            SettingError: an unknown setting or method, a value outside its range, or a target without an attack.
            VocabularyError: names that cannot be used, or a class that is not among them."""
        settings, given = preset(start), dict[str, Any]()
        if start == "paper" and vocabulary is not None:
            given |= paper_settings(vocabulary)
        given |= dict(saved or {})
        given |= {name: value for name, value in {"budget": budget, "square": square}.items() if value is not None}
        if attack is not None:
            given |= parse_attack(attack)
        if steps is not None:
            given[get_attack(given.get("attack", settings.attack)).steps_setting] = steps
        if seed is not None:
            given |= {"attack_seed": seed, "view_seed": seed}
        settings = settings.replace(**(given | dict(changes or {})))
        if target is not None and settings.attack == "none":
            raise SettingError("A target needs an attack, but the attack is none.", "Choose an attack, or no target.")
        answering, names = method_names(methods), class_names(classes, vocabulary)
        label, target = (
            None if value is None else label_index(names, value, what)
            for what, value in (("label", label), ("target", target))
        )
        return cls(picture, names, settings, label, target, methods=answering)

    def opened(self, side: int) -> RunRequest:
        """The request with its picture decoded for a model of that input ``side`` in pixels. Raises PictureError."""
        from rita_demo.data.pictures import open_picture  # loads numpy

        return replace(self, picture=open_picture(self.picture, square=self.settings.square, side=side))

    def run_steps(self, engine: Engine, cache: CacheState | None = None) -> Generator[RunProgress, None, Run]:
        """Run it from that cache; see :func:`rita_demo.pipeline.run.run_picture_steps`."""
        from rita_demo.pipeline.run import run_picture_steps  # loads numpy

        question: dict[str, Any] = {"label": self.label, "target": self.target, "methods": self.methods}
        return run_picture_steps(engine, self.picture, self.names, self.settings, cache=cache, **question)


def read_settings(path: Path) -> dict[str, JsonValue]:
    """Setting -> value from a JSON file: a saved run or what ``explain --json`` writes (an object ``settings`` among
    others), or an object of settings alone. Those that it does not name stay as they are. Raises DataError: the file
    cannot be read, or holds an unknown setting or a value outside its range."""
    try:
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path.name} is no readable JSON file.", "Give what explain --json wrote, or settings.json of a saved run."
        ) from error
    stored = stored.get("settings", stored) if isinstance(stored, dict) else stored
    if not isinstance(stored, dict):
        raise DataError(f"{path.name} should hold an object of settings, name: value.")
    try:
        return {get_setting(name).name: get_setting(name).parse(value) for name, value in stored.items()}
    except SettingError as error:
        raise DataError(f"{path.name}: {error.message}", error.hint) from error


def class_names(classes: Json, listed: str | None = None) -> tuple[str, ...]:
    """The class names of a run: ``classes`` (a list, or text with commas) or the ready list called ``listed``. Raises
    VocabularyError: both or neither are given, or the names cannot be used."""
    if (classes is None) == (listed is None):
        raise VocabularyError("Either classes or a vocabulary is needed.", "For example classes=['cup', 'crab'].")
    if listed is not None:
        return vocabulary(listed).names
    if isinstance(classes, str):
        return parse_names(classes)
    if not (isinstance(classes, list | tuple) and all(isinstance(name, str) for name in classes)):
        raise VocabularyError("classes is a list of names, or names separated by commas.")
    return check_names(classes)


def method_names(given: Json) -> tuple[str, ...]:
    """Who answers, always with CLIP, Ensemble, RITA and the user's own: a list of names, text with commas, or None for
    all but RITA's ablations and those on request. Raises SettingError: a name that is not a defence, or something else
    than names."""
    names = given.split(",") if isinstance(given, str) else given
    if names is not None and not isinstance(names, list | tuple):
        raise SettingError("methods is a list of names, or names separated by commas.")
    return with_defaults(usual() if names is None else names)
