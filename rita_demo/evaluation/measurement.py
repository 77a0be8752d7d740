"""What was measured: one line of the table ``measurements``, with its key, its facts and what follows from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rita_demo.attacks import differentiated, get_attack
from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.data.pictures import square_words
from rita_demo.defences.registry import DEFENCES, attacker_sentences, plugin_sentences
from rita_demo.evaluation import planned_cells, rows
from rita_demo.evaluation.pictures import PictureSet, missing_text, split_note
from rita_demo.evaluation.planned_cells import Cell, ModelFacts
from rita_demo.evaluation.request import NEXT_CLASS, SEEDS, Traffic
from rita_demo.records.errors import SettingError, join_names
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS, Settings, in_groups
from rita_demo.settings.attack_name import AGAINST

UNTARGETED_GOAL = "away from the true class of every picture"
NEXT_CLASS_GOAL = "towards the class after the true one in the list of names (after the last comes the first)"
#: What stands beside the settings in ``non_default`` -> how its text begins.
IN_WORDS = {"memory": "memory begins with ", "swapped": "another picture under the name "}
MAX_NAMED = 5  # pictures that were left out


def facts_of(cell: Cell, picture_set: PictureSet, model: ModelFacts) -> dict[str, Any]:
    """The facts beside the key of a cell on these pictures with this model.

    ``requested``: the settings as they were asked for, without the seeds that every picture has of its own; ``seed`` of the
    run. ``pictures`` of ``available`` ones were chosen; ``left_out``: picture -> why it cannot be opened; ``missing``:
    number of pictures that are not there of the ``listed`` ones, both 0 where all are. ``width``: D, of the features;
    ``side`` of the model's input in pixels. ``folder``: the dataset's, below the data folder, where it is not its name.
    ``method_title``: what people read. ``threat``: sentences.
    """
    info, free = model.info, [name for name in SEEDS if name not in cell.fixed_seeds]
    requested = with_used_descriptions(cell.requested, picture_set.names)
    return {
        "requested": {n: v for n, v in requested.as_dict().items() if n not in free},
        "seed": cell.seed,
        "non_default": planned_cells.non_default(cell, picture_set.names),
        "threat": list(threat_sentences(cell, info.side)),
        "pictures": len(picture_set.items),
        "available": picture_set.available,
        "left_out": dict(picture_set.unusable),
        "missing": len(picture_set.missing),
        "listed": picture_set.listed,
        "classes_present": picture_set.classes_present,
        "note": info.note,
        "width": info.width,
        "side": info.side,
        "machine": {"device": info.device, "precision": info.precision},
        "folder": picture_set.folder,
        "method_title": DEFENCES[cell.method].full_title,
    }


def settings_text(settings: Mapping[str, JsonValue]) -> str:
    """Settings as the tables print them, and what else tells measurements apart (``IN_WORDS``)."""
    return ", ".join(f"{IN_WORDS.get(name, f'{name}=')}{value}" for name, value in settings.items())


@dataclass(frozen=True)
class Measurement:
    """A stored measurement: ``id`` in its database, its ``key`` (the columns of :data:`rita_demo.evaluation.rows.KEY`), and
    its ``facts`` (see :func:`facts_of`)."""

    id: int
    key: Mapping[str, Any]
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Measurement:
        """From what :func:`rita_demo.evaluation.rows.stored_measurements` gives."""
        facts = json.loads(stored["facts"])
        facts["pictures"] = max(facts["pictures"], stored["answers"] + stored["faults"])  # of all runs together
        return cls(stored["id"], {name: stored[name] for name in rows.KEY}, facts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The K class names."""
        return tuple(json.loads(self.key["class_names"]))

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the tables: dataset, split, model, attack, budget, ..."""
        label, settings = rows.attack_label(self.key), rows.settings_hash(self.key)
        names = ("budget", "steps", "protocol", "dataset", "split", "method", "backbone")
        return {"attack": label} | {name: self.key[name] for name in names} | {"settings": settings}

    @property
    def method(self) -> str:
        return str(self.key["method"])

    @property
    def title(self) -> str:
        """The method's title, or the stored one where the method is not loaded."""
        defence = DEFENCES.get(self.method)
        return defence.full_title if defence is not None else str(self.facts["method_title"] or self.method)

    @property
    def pictures(self) -> int:
        """How many pictures it has when it is finished."""
        return int(self.facts["pictures"])

    @property
    def traffic(self) -> Traffic:
        return Traffic(self.key["attacked_share"], self.key["stream_order"])

    @cached_property
    def non_default(self) -> dict[str, JsonValue]:
        """The settings that differ from what is recommended now; of a method that is not loaded, as they were stored."""
        changed = dict(self.facts["non_default"])
        with suppress(SettingError):
            changed = planned_cells.non_default(self.cell, self.names)
        return changed | ({"memory": self.facts["memory"]} if "memory" in self.facts else {})

    @property
    def requested(self) -> Settings:
        """The settings that are loaded; seeds count only where they were given explicitly. Raises SettingError: the
        code of its attack, or of the defence that this knows, is not loaded."""
        try:
            return Settings(**{n: v for n, v in self.facts["requested"].items() if n in SETTINGS})
        except SettingError as error:
            _ = self.requested_clean  # where more than the attack is wrong, this says it
            attack = re.sub(r":\d+$", "", rows.attack_label(self.key))  # without its share of the pictures
            raise SettingError(
                f"The attack {attack[:60]!r} needs code that is not loaded here, so that no picture "
                "of it can be attacked again.",
                "Start with --methods FILE.py:NAME or --attack FILE.py:NAME.",
            ) from error

    @property
    def requested_clean(self) -> Settings:
        """The settings without those of the attack, whose code need not be loaded."""
        known = {n: v for n, v in self.facts["requested"].items() if n in SETTINGS and n != AGAINST}
        return Settings(**(known | {"attack": "none"}))

    @property
    def cell(self) -> Cell:
        """The cell that was measured. Raises SettingError: it names a method or setting that is not loaded."""
        asked = self.facts["requested"]
        if self.method not in DEFENCES or not set(asked) <= set(SETTINGS):
            raise SettingError("This run has a method or a setting that is not loaded here.", "Measure it again.")
        requested = with_used_descriptions(self.requested, self.names)
        fixed = frozenset(name for name in SEEDS if name in asked)
        settings = planned_cells.canonical_settings(self.method, requested, fixed)
        seed, target = self.facts["seed"], self.key["target"]
        return Cell(self.method, seed, requested, settings, fixed, self.traffic, target)

    @property
    def place(self) -> str:
        """The dataset's name, or its folder below the data folder (untrusted)."""
        return str(self.facts["folder"] or self.key["dataset"])

    def settings_for(self, row: Mapping[str, Any]) -> Settings:
        """The settings that repeat one of its rows: attacked or not, with the seeds of this picture."""
        seeds = {name: row["picture_seed"] for name in SEEDS if name not in self.facts["requested"]}
        return (self.requested if row["attacked"] else self.requested_clean).replace(**seeds)

    def view_settings_for(self, row: Mapping[str, Any]) -> Settings:
        """The settings that cut the views of one of its rows; others are the defaults, so that no attack need be loaded."""
        views, asked = in_groups("views"), self.facts["requested"]
        seeds = {n: row["picture_seed"] for n in views if n in SEEDS}
        return Settings(**(seeds | {n: asked[n] for n in views if n in asked}))

    @property
    def omission(self) -> str:
        """See :func:`omission`."""
        of_pictures = (self.facts[name] for name in ("missing", "listed", "left_out"))
        return omission(self.key["dataset"], self.key["split"], *of_pictures)


def omission(dataset: str, split: str, missing: int, listed: int, left_out: Iterable[str]) -> str:
    """Sentences on pictures that are left out or missing, and on a random split; "" for none."""
    sentences = [split_note(dataset, split)]
    sentences += [missing_text(missing, listed)] if missing else []
    sentences += (
        [f"Left out, because they cannot be opened: {join_names(list(left_out), MAX_NAMED)}."] if left_out else []
    )
    return " ".join(filter(None, sentences))


def threat_sentences(cell: Cell, side: int) -> tuple[str, ...]:
    """What is attacked, with which knowledge and budget. ``side``: of the model's input, in pixels."""
    settings = cell.requested
    plugins = plugin_sentences([cell.method], cell.attack_settings)
    if settings.attack == "none":
        return ("No attack: clean pictures.", *plugins)
    where = f"on {square_words(settings.square, side if settings.square == 'model' else None)}"
    goal, aim = UNTARGETED_GOAL, None
    if cell.target == NEXT_CLASS:
        goal, aim = NEXT_CLASS_GOAL, "the next class"
    elif cell.target:
        goal, aim = f"towards “{cell.target}”", cell.target
    sentences = get_attack(settings.attack).threat_sentences(settings, goal, where, aim)
    if cell.target not in ("", NEXT_CLASS):
        sentences += (f"Pictures of {cell.target!r} itself are left out of everything measured with it.",)
    sentences += attacker_sentences(cell.attack_settings)
    if differentiated(settings) == "defence" and not cell.attack_uses_cache:
        sentences += ("The attack uses an empty memory for every picture.",)
    if (share := cell.traffic.share) != 100:
        mixed = f"Mixed traffic: {share} % of the pictures, chosen by the seed, are attacked; the others are clean."
        sentences += (mixed,)
    return sentences + plugins
