"""Settings, class names and methods of one run from the options that the command line, the API and Python share."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rita_demo.attacks.adaptive import parse_attack
from rita_demo.attacks.registry import get_attack
from rita_demo.data.datasets import paper_settings
from rita_demo.data.vocabularies import check_names, parse_names, vocabulary
from rita_demo.defences.registry import compared, validated
from rita_demo.records.errors import DataError, SettingError, VocabularyError
from rita_demo.settings import Settings, get_setting, preset
from rita_demo.settings.stored import is_complete, with_missing

#: Settings with an option of their own.
OWN_OPTIONS = ("attack", "budget", "steps", "square")


def read_settings(path: Path) -> dict[str, Any]:
    """Setting -> value from a JSON file: a saved run or what ``explain --json`` writes (an object ``settings`` among
    others), or an object of settings alone. Those that it does not name stay as they are; in a saved run they have the
    value that stood for them when it was made.

    Raises:
        DataError: the file cannot be read, or holds an unknown setting or a value outside its range.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"{path.name} is no readable JSON file.", "Give what explain --json wrote, or settings.json of a saved run."
        ) from error
    found = found.get("settings", found) if isinstance(found, dict) else found
    if not isinstance(found, dict):
        raise DataError(f"{path.name} should hold an object of settings, name: value.")
    try:
        given = {get_setting(name).name: get_setting(name).parse(value) for name, value in found.items()}
        return with_missing(given) if is_complete(given) else given
    except SettingError as error:
        raise DataError(f"{path.name}: {error.message}", error.hint) from error


def run_settings(
    start: str = "recommended",
    vocabulary: str | None = None,
    *,
    saved: Any = None,
    attack: str | None = None,
    budget: Any = None,
    steps: Any = None,
    square: str | None = None,
    seed: Any = None,
    target: str | int | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Settings:
    """A preset with options on top; later ones win: ``start`` (``paper``: as it is for that ``vocabulary``), ``saved``
    (setting -> value of a file), the options that are given, ``changes`` (setting -> value).

    ``attack``: a name, or ``adaptive:METHOD``; ``budget`` in 1/255; ``steps`` of this attack, whatever its setting of them
    is called; ``seed``: both the attack's and the views'; ``target``: the class the attack aims at, which needs an attack.

    Raises:
        SettingError: an unknown setting, a value outside its range, or a target without an attack.
    """
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
    return settings


def class_names(classes: Any, listed: str | None = None) -> tuple[str, ...]:
    """The class names of a run: ``classes`` (a list, or text with commas) or the ready list called ``listed``.

    Raises:
        VocabularyError: both or neither are given, or the names cannot be used.
    """
    if (classes is None) == (listed is None):
        raise VocabularyError("Either classes or a vocabulary is needed.", "For example classes=['cup', 'crab'].")
    if listed is not None:
        return vocabulary(listed).names
    if isinstance(classes, str):
        return parse_names(classes)
    if not (isinstance(classes, list | tuple) and all(isinstance(name, str) for name in classes)):
        raise VocabularyError("classes is a list of names, or names separated by commas.")
    return check_names(classes)


def method_names(given: Any) -> tuple[str, ...]:
    """Who answers: a list of names, text with commas, or None for all but RITA's ablations.

    Raises:
        SettingError: a name that is not a defence, or something else than names.
    """
    names = given.split(",") if isinstance(given, str) else given
    if names is not None and not isinstance(names, list | tuple):
        raise SettingError("methods is a list of names, or names separated by commas.")
    return compared() if names is None else validated(names)
