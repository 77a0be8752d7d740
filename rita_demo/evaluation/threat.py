"""The threat model of a cell, and everything else that belongs beside its numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rita_demo.attacks import attack_row, threat_sentences
from rita_demo.errors import SettingError
from rita_demo.evaluation import plan
from rita_demo.evaluation.collection import Collection
from rita_demo.evaluation.plan import COLUMNS, FORMAT, Cell, Model
from rita_demo.evaluation.request import NEXT, SEEDS, USUAL, Traffic
from rita_demo.methods import METHODS
from rita_demo.records import BackboneInfo, ThreatModel
from rita_demo.settings import KNOBS, Settings

GOAL = "away from the true class of every picture"
TOWARDS_NEXT = (
    "towards the class after the true one in the list of names (after the last comes the first)"
)


def threat_of(cell: Cell, side: int) -> ThreatModel:
    """Who is attacked, what the attacker knows, and how strong he is. ``side``: the model's, in pixels."""
    row, settings = attack_row(cell.asked.attack), cell.settings
    attacked = row.name != "none"
    return ThreatModel(
        attack=row.name,
        budget=settings.budget,
        steps=cell.steps,
        seed=cell.seed,
        square=settings.square,
        side=side if settings.square == "model" else 0,  # 0: every picture has its own
        goal=_goal(cell)[0] if attacked else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=_sentences(cell, side) + _mixed(cell)
        if attacked
        else ("No attack: clean pictures.",),
    )


def _goal(cell: Cell) -> tuple[str, str | None]:
    """Where the attack moves to, and the name of the class, if there is one."""
    if cell.target == NEXT:
        return TOWARDS_NEXT, "the next class"
    return (f"towards “{cell.target}”", cell.target) if cell.target else (GOAL, None)


def _mixed(cell: Cell) -> tuple[str, ...]:
    share = cell.traffic.share
    if share == 100:
        return ()
    return (
        f"Mixed traffic: {share} % of the pictures, drawn from the seed, are attacked; the others arrive clean.",
    )


def _sentences(cell: Cell, side: int) -> tuple[str, ...]:
    settings = cell.asked
    size = f"{side} × {side} pixels" if settings.square == "model" else "its own size"
    where = f"on a square of {size} ({settings.square} protocol)"
    goal, aim = _goal(cell)
    sentences = threat_sentences(settings, goal, where, aim)
    if cell.target not in ("", NEXT):
        sentences += (
            f"Pictures of {cell.target!r} itself are left out of everything measured with it.",
        )
    if settings.attack == "defence" and not cell.knows_memory:
        return (*sentences, "The memory is empty whenever the attacker looks.")
    return sentences


def header_of(
    cell: Cell, collection: Collection, model: Model, info: BackboneInfo
) -> dict[str, Any]:
    """What ``header.json`` says: columns of the tables, threat model, all settings, pictures, machine.

    ``pool`` is the same for cells that differ in the seed alone.
    """
    settings = plan.settings_hash(cell, collection, model)
    columns = {name: getattr(cell.settings, name) for name in COLUMNS} | {"steps": cell.steps}
    columns |= {
        "attack": cell.column,
        "dataset": collection.dataset,
        "split": collection.split,
        "method": cell.method,
    }
    columns |= {"backbone": model.name, "settings": settings}
    free = [name for name in SEEDS if name not in cell.fixed]
    return {
        "format": FORMAT,
        "columns": columns,
        "pool": plan.digest(columns),
        "seed": cell.seed,
        "traffic": asdict(cell.traffic),
        "target": cell.target,
        "seeds": "every picture has its own, made from the seed and its name"
        if free
        else "given by hand",
        "threat_model": asdict(threat_of(cell, info.side)),
        "knobs": {n: v for n, v in cell.asked.as_dict().items() if n not in free},
        "special": plan.special(cell),
        "pictures": len(collection.entries),
        "available": collection.available,
        "classes": len(collection.names),
        "classes_present": collection.present,
        "names": list(collection.names),
        "weights": model.weights,
        "note": info.note,
        "width": info.width,
        "machine": {"device": info.device, "precision": info.precision},
    }


def cell_of(header: dict[str, Any]) -> Cell:
    """The cell that a header was written for.

    Raises:
        SettingError: it names a method or setting that this version does not have.
    """
    method, knobs = header["columns"]["method"], header["knobs"]
    if method not in METHODS or not set(knobs) <= set(KNOBS):
        raise SettingError("This run was made by another version.", "Measure it again.")
    asked, fixed = Settings(**knobs), frozenset(name for name in SEEDS if name in knobs)
    traffic = Traffic(**header["traffic"]) if "traffic" in header else USUAL
    settings = plan.canonical(method, asked, fixed)
    return Cell(method, header["seed"], asked, settings, fixed, traffic, header.get("target", ""))
