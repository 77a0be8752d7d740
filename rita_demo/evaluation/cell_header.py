"""The header of a cell: threat model, settings, pictures and machine, stored beside its numbers."""

from dataclasses import asdict
from typing import Any

from rita_demo.attacks import access_of, get_attack
from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.defences.registry import DEFENCES, attacker_sentences, guest_sentences
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import PictureSet
from rita_demo.evaluation.planned_cells import COLUMNS, FORMAT, Cell, ModelFacts
from rita_demo.evaluation.request import NEXT_CLASS, SEEDS, Traffic
from rita_demo.records import ThreatModel
from rita_demo.records.errors import SettingError, join_names
from rita_demo.settings import SETTINGS
from rita_demo.settings.stored import settings_of

UNTARGETED_GOAL = "away from the true class of every picture"
MAX_NAMED = 5  # pictures that were left out
NEXT_CLASS_GOAL = "towards the class after the true one in the list of names (after the last comes the first)"


def threat_of(cell: Cell, side: int, revision: int | None = None) -> ThreatModel:
    """What is attacked, with which knowledge and budget. ``side``: of the model's input, in pixels. ``revision``: of the
    attack that made it; None: the present one."""
    row, settings = get_attack(cell.requested.attack), cell.settings
    attacked = row.name != "none"
    return ThreatModel(
        attack=row.name,
        budget=settings.budget,
        steps=cell.steps,
        seed=cell.seed,
        square=settings.square,
        side=side if settings.square == "model" else 0,  # 0: that of each picture
        goal=_goal(cell)[0] if attacked else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=(_sentences(cell, side) if attacked else ("No attack: clean pictures.",))
        + tuple(filter(None, [row.replaced_since(row.revision if revision is None else revision)]))
        + guest_sentences([cell.method], cell.attack_settings),
    )


def _goal(cell: Cell) -> tuple[str, str | None]:
    """The goal of the attack in words, and the target class, if there is one."""
    if cell.target == NEXT_CLASS:
        return NEXT_CLASS_GOAL, "the next class"
    return (f"towards “{cell.target}”", cell.target) if cell.target else (UNTARGETED_GOAL, None)


def _sentences(cell: Cell, side: int) -> tuple[str, ...]:
    settings = cell.requested
    size = f"{side} × {side} pixels" if settings.square == "model" else "its own size"
    where = f"on a square of {size} ({settings.square} protocol)"
    goal, aim = _goal(cell)
    sentences = get_attack(settings.attack).threat_sentences(settings, goal, where, aim)
    if cell.target not in ("", NEXT_CLASS):
        sentences += (f"Pictures of {cell.target!r} itself are left out of everything measured with it.",)
    sentences += attacker_sentences(cell.attack_settings)
    if access_of(settings) == "defence" and not cell.attack_uses_cache:
        sentences += ("The attack uses an empty memory for every picture.",)
    if (share := cell.traffic.share) != 100:
        sentences += (
            f"Mixed traffic: {share} % of the pictures, chosen by the seed, are attacked; the others are clean.",
        )
    return sentences


def header_of(cell: Cell, picture_set: PictureSet, model: ModelFacts) -> dict[str, Any]:
    """The content of ``header.json``; ``pool`` is the same for cells that differ in the seed alone."""
    settings, info = planned_cells.settings_hash(cell, picture_set, model), model.info
    columns = {name: getattr(cell.settings, name) for name in COLUMNS} | {"steps": cell.steps}
    columns |= {
        "attack": cell.attack_label,
        "dataset": picture_set.dataset,
        "split": picture_set.split,
        "method": cell.method,
    }
    columns |= {"backbone": model.name, "settings": settings}
    free = [name for name in SEEDS if name not in cell.fixed_seeds]
    requested = with_used_descriptions(cell.requested, picture_set.names)
    return {
        "format": FORMAT,
        "columns": columns,
        "pool": planned_cells.digest(columns),
        "seed": cell.seed,
        "traffic": cell.traffic.as_header(),
        "target": cell.target,
        "attack_revision": get_attack(cell.requested.attack).revision,
        "seeds": "every picture has its own, made from the seed and its name" if free else "given by hand",
        "threat_model": asdict(threat_of(cell, info.side)),
        "knobs": {n: v for n, v in requested.as_dict().items() if n not in free},
        "special": planned_cells.non_default(cell, picture_set.names),
        "pictures": len(picture_set.items),
        "available": picture_set.available,
        "left_out": {one.id: one.reason for one in picture_set.unusable},
        "classes": len(picture_set.names),
        "classes_present": picture_set.classes_present,
        "names": list(picture_set.names),
        "weights": model.weights,
        "note": info.note,
        "width": info.width,
        "machine": {"device": info.device, "precision": info.precision},
    }


def cell_of(header: dict[str, Any]) -> Cell:
    """The cell of a header.

    Raises:
        SettingError: it names a method or setting that this version does not have.
    """
    method, knobs = header["columns"]["method"], header["knobs"]
    if method not in DEFENCES or not set(knobs) <= set(SETTINGS):
        raise SettingError("This run was made by another version.", "Measure it again.")
    requested = with_used_descriptions(settings_of(knobs), header.get("names", ()))
    fixed = frozenset(name for name in SEEDS if name in knobs)
    traffic = Traffic.from_header(header.get("traffic", {}))
    settings = planned_cells.canonical_settings(method, requested, fixed)
    return Cell(method, header["seed"], requested, settings, fixed, traffic, header.get("target", ""))


def left_out_text(header: dict[str, Any]) -> str:
    """A sentence on the pictures that were left out; "" where there are none, and for a header of an older version."""
    names = list(header.get("left_out", ()))
    return f"Left out, because they cannot be opened: {join_names(names, MAX_NAMED)}." if names else ""
