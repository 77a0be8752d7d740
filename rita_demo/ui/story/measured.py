"""What the Story says of many pictures: read from the shipped measurements, and left out where they are missing.

Sentences follow from the rows: a difference is said where a test or two intervals show it, else "no gain shows"."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from rita_demo.attacks import ATTACKS
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.analysis.numbers import PooledShare, pooled
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.intervals import mcnemar, wilson
from rita_demo.settings.models import NOT_ZERO_SHOT

METHODS = ("clip", "ensemble", "rita")
STANDARD, TRAINED = "embedded", "embedded-robust"
TOWERS = {STANDARD: "standard model", TRAINED: "trained on attacks"}
ATTACKERS = {"none": "no attack", "pgd": "the attacker knows CLIP", "adaptive": "… knows the defence, too"}
ROWS = {  # title and what it is
    "clip": ("CLIP", "whole picture"),
    "ensemble": ("average", "of 64 crops"),
    "rita": ("RITA", "64 crops, weighted, carried by a plan"),
}
PARTS = {  # of the ladder: their titles in it, and in its last line
    "clip": ("CLIP, whole picture", ""),
    "ensemble": ("average of 64 crops", "the average of crops"),
    "ensemble_area": ("+ small crops count more", "weights"),
    "rita": ("+ transport", "transport"),
    "memory": ("+ memory of earlier crops", "memory"),
}
MEMORY = (
    "A memory keeps, for each class, the surest crops of earlier pictures; how far this picture’s crops lie from them counts a tenth "
    "as much as the sentences."
)
LEVEL = 0.05  # of the tests

Shares = dict[tuple[str, str, str], PooledShare]  # (tower, method, attack) -> its right answers


def measured() -> dict[str, Any]:
    """The constants of the Story's figures."""
    shares = pooled(_rows(shipped_results.read, shipped_results.ARENA))
    return {
        "ladder": _ladder(shares),
        "table": _table(shares, best_other(_rows(shipped_results.read, shipped_results.CHOICE))),
        "knows": _knows(shares),
        "detector": _detector(),
    }


def _rows(read: Callable[..., Any], *file: Any) -> Any:
    try:
        return read(*file)
    except DataError:
        return ()


def _ladder(shares: Shares) -> dict[str, Any] | None:
    """Right answers under an attacker who knows CLIP, one part added after the other, on the same pictures; and what is
    left of all of it against the attacker who knows it."""
    rows = _rows(shipped_results.ladder_rows)
    if not rows:
        return None
    n, right = len(rows), {part: sum(getattr(row, part) for row in rows) for part in PARTS}
    steps = [_rung(PARTS["clip"][0], PooledShare(right["clip"], n, False), "")]
    helps, rest = list[str](), list[str]()
    for before, part in pairwise(PARTS):
        gained = sum(getattr(row, part) > getattr(row, before) for row in rows)
        lost = sum(getattr(row, part) < getattr(row, before) for row in rows)
        said, (title, short) = step_sentence(gained, lost), PARTS[part]
        (helps if said.startswith("gain") else rest).append(short)
        steps.append(_rung(title, PooledShare(right[part], n, False), said) | {"from": right[before] / n})
    steps[-1]["about"] = MEMORY
    ends = [
        _rung(title, share, f"n = {share.n}")
        for title, tower in (("attacker knows RITA", STANDARD), ("same, model trained on attacks", TRAINED))
        if (share := shares.get((tower, "rita", "adaptive")))
    ]
    says = [f"What helps here: {_and(helps)}."] * bool(helps) + [f"Of {_and(rest)} no gain shows."] * bool(rest)
    return {"steps": steps, "ends": ends, "n": n, "says": " ".join(says)}


def _rung(title: str, share: PooledShare, said: str) -> dict[str, Any]:
    low, high = wilson(share.right, share.n)
    return {
        "title": title,
        "said": said,
        "value": _most(share),
        "share": share.right / share.n,
        "low": low,
        "high": high,
    }


def _most(share: PooledShare) -> str:
    """What an attacker who was replaced by a stronger one left is a bound."""
    return f"{'at most ' * (share.earlier and share.right > 0)}{share.percent:.0f} %"


def step_sentence(gained: int, lost: int) -> str:
    """What one part changes: the pictures that only it, and only the part before, has right, with McNemar's exact test."""
    p = mcnemar(gained, lost)
    counts = f"{gained} gained, {lost} lost, {'p < 0.001' if p < 0.001 else f'p = {p:.2g}'}"
    if p >= LEVEL:
        return f"no gain shows: {counts}"
    return f"{'gain' if gained > lost else 'loss'}: {counts}"


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def _table(shares: Shares, other: str | None) -> dict[str, Any] | None:
    """Method x attacker on both towers. A cell that today's attacker did not fill says "not measured"."""
    if not any(tower == STANDARD and attack == "pgd" for tower, _, attack in shares):
        return None
    rows = ROWS | ({other: (DEFENCES[other].title, "the best of the others on validation pictures")} if other else {})
    return {
        "columns": list(ATTACKERS.values()),
        "rows": [{"name": name, "title": title, "note": note} for name, (title, note) in rows.items()],
        "towers": {
            tower: {
                "title": title,
                "says": _tower(shares, tower),
                "cells": [[_cell(shares.get((tower, name, attack))) for attack in ATTACKERS] for name in rows],
            }
            for tower, title in TOWERS.items()
        },
        "use": would_use(shares, {name: title for name, (title, _) in rows.items()}),
        "note": f"Test pictures of Caltech101 and DTD, at most 4 of 255 per pixel. Point at a number: its interval (95 %) and n. {NOT_ZERO_SHOT}",
    }


def _cell(share: PooledShare | None) -> dict[str, Any]:
    if share is None:
        return {"share": None, "value": "not measured", "said": ""}
    if share.earlier and share.right:  # a stronger one than left 0 leaves 0
        said = f"An earlier, weaker attacker left {share.percent:.0f} of 100, n = {share.n}: at most that."
        return {"share": None, "value": f"not measured; at most {share.percent:.0f}", "said": said}
    low, high = share.interval
    said = f"{low:.0f} to {high:.0f} of 100 (95 %), n = {share.n}"
    return {"share": share.right / share.n, "n": share.n, "value": f"{share.percent:.0f}", "said": said}


def best_other(choice: Iterable[MeasuredCell]) -> str | None:
    """The defence beside the three that has most right on ``val`` under PGD with the standard model; the first in the
    registry's order where several have."""
    counts: dict[str, int] = {}
    for cell in choice:
        asked = cell.split == "val" and cell.attack == "pgd" and cell.backbone == STANDARD
        if asked and cell.method not in METHODS and cell.method in DEFENCES:
            counts[cell.method] = counts.get(cell.method, 0) + round(cell.accuracy * cell.n / 100)
    return max((name for name in DEFENCES if name in counts), key=counts.__getitem__, default=None)


def _tower(shares: Shares, tower: str) -> str:
    clip, rita = (shares.get((tower, name, "pgd")) for name in ("clip", "rita"))
    if clip is None or rita is None:
        return ""
    title = TOWERS[tower]
    kept = f"CLIP alone keeps {clip.percent:.0f} %, RITA {rita.percent:.0f} %."
    return f"{title[0].upper()}{title[1:]}: against an attacker who knows CLIP, {kept}"


def would_use(shares: Shares, titles: dict[str, str]) -> str:
    """What the rows advise. Against an attacker who knows CLIP: of the rows whose interval meets that of the row with most
    right answers, the first, which is the simplest. Against one who knows the defence: the model with which RITA keeps
    more, where the two intervals are apart."""
    plain = {name: share for name in titles if (share := shares.get((STANDARD, name, "pgd")))}
    best = max(plain.values(), key=lambda share: share.percent)
    level = next(name for name, share in plain.items() if best.interval[0] <= share.interval[1])
    said = f"Against an attacker who knows only CLIP: {titles[level]} ({plain[level].percent:.0f} % on the standard model)."
    standard, trained = (shares.get((tower, "rita", "adaptive")) for tower in TOWERS)
    if not (standard and trained) or trained.interval[0] <= standard.interval[1]:
        return said
    known = shares.get((STANDARD, level, "adaptive"))
    if known and level not in METHODS:
        said = f"{said[:-1]}, which keeps {_most(known)} against one who knows it."
    return f"{said} Against one who knows the defence: only a model trained on attacks."


def _knows(shares: Shares) -> dict[str, Any] | None:
    """RITA on both towers against the attacker who knows it."""
    kept = {tower: share for tower in TOWERS if (share := shares.get((tower, "rita", "adaptive")))}
    if STANDARD not in kept:
        return None
    earlier = any(share.earlier for share in kept.values())
    return {
        "kept": kept[STANDARD].percent,
        "said": _most(kept[STANDARD]),
        "bars": [_rung(f"RITA, {TOWERS[tower]}", share, f"n = {share.n}") for tower, share in kept.items()],
        "note": "At most: measured with an earlier form of this attacker; today’s may leave less." if earlier else "",
    }


def _detector() -> dict[str, str]:
    """Which attack it was measured under, and one sentence: what a threshold on the distance from the crops finds, and its
    false alarms."""
    rows = _rows(shipped_results.detector_rows)
    if not rows:
        return {}
    row = rows[0]
    says = (
        f"An attack also shows: the whole picture moves away from its own crops. A threshold finds {100 * row.hits / row.attacked:.0f} % of "
        f"{row.attacked} ({ATTACKS[row.attack].column_title}, standard model; {100 * row.false_alarms / row.clean:.2g} % false alarms); an attacker who "
        f"knows this was not tried."
    )
    return {"attack": row.attack, "says": says}
