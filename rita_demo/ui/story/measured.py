"""What the Story says of many pictures: read from the shipped measurements, and left out where they are missing.

Sentences follow from the rows: a difference is said where a test or two intervals show it, else "no gain shows"."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

from rita_demo.attacks import ATTACKS
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report.measured import CorrectCount, attacker_table
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.intervals import mcnemar, wilson
from rita_demo.records.measurement import LADDER
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

METHODS = ("clip", "ensemble", "rita")
STANDARD, TRAINED = "embedded", "embedded-robust"
TOWERS = {STANDARD: "standard model", TRAINED: "trained on attacks"}
ATTACKERS = {"none": "no attack", "pgd": "the attacker knows CLIP", "adaptive": "… knows the defence, too"}
ROWS = {  # title and what it is
    "clip": ("CLIP", "whole picture"),
    "ensemble": ("average", "of 64 crops"),
    "rita": ("RITA", "64 crops, weighted, carried by a plan"),
}
PARTS = dict(
    zip(
        LADDER,
        (
            "CLIP, whole picture",
            "average of 64 crops",
            "+ small crops count more",
            "+ transport",
            "+ memory of earlier crops",
        ),
        strict=True,
    )
)
SHORT = dict(zip(LADDER[1:], ("the average of crops", "weights", "transport", "memory"), strict=True))
MEMORY = (
    "A memory keeps, for each class, the surest crops of earlier pictures; how far this picture’s crops lie from them counts a tenth "
    "as much as the sentences."
)
LEVEL = 0.05  # of the tests

Counts = dict[str, dict[str, CorrectCount]]  # attack -> method -> its count
Towers = dict[str, Counts]


def measured() -> dict[str, Any]:
    """The constants of the Story's figures."""
    tables = shipped_results.ARENA, shipped_results.CHOICE
    arena, choice = (_or_none(partial(shipped_results.read, path)) or () for path in tables)
    today, earlier = (
        {tower: attacker_table(c for c in cells if c.backbone == tower) for tower in TOWERS}
        for cells in ([c for c in arena if not c.by_earlier_attack], [c for c in arena if c.by_earlier_attack])
    )
    return {
        "ladder": _ladder(today, earlier),
        "table": _table(today, earlier, choice),
        "knows": _knows(today, earlier),
        "detector": _detector(),
    }


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except DataError:
        return None


def _ladder(today: Towers, earlier: Towers) -> dict[str, Any] | None:
    """Right answers under an attacker who knows CLIP, one part added after the other, on the same pictures; and what is
    left of all of it against the attacker who knows it."""
    rows = _or_none(shipped_results.ladder_rows)
    if not rows:
        return None
    n, right = len(rows), {part: sum(getattr(row, part) for row in rows) for part in LADDER}
    steps = [_rung(PARTS[LADDER[0]], right[LADDER[0]], n, "")]
    for before, part in pairwise(LADDER):
        gained = sum(getattr(row, part) > getattr(row, before) for row in rows)
        lost = sum(getattr(row, part) < getattr(row, before) for row in rows)
        steps.append(_rung(PARTS[part], right[part], n, step_sentence(gained, lost)) | {"from": right[before] / n})
    ends = [
        _rung(title, found.right, found.n, f"n = {found.n}", bound)
        for title, tower in (("attacker knows RITA", STANDARD), ("same, model trained on attacks", TRAINED))
        if (found := _kept(today, earlier, tower)) and (bound := found.earlier) is not None
    ]
    steps[-1]["about"] = MEMORY
    return {"steps": steps, "ends": ends, "n": n, "says": _ladder_says(steps)}


def _rung(title: str, right: int, n: int, said: str, bound: bool = False) -> dict[str, Any]:
    """``bound``: measured with an attacker that was replaced by a stronger one."""
    low, high = wilson(right, n)
    return {"title": title, "share": right / n, "low": low, "high": high, "value": _most(right, n, bound), "said": said}


def _most(right: int, n: int, bound: bool) -> str:
    return f"{'at most ' * (bound and right > 0)}{100 * right / n:.0f} %"


def step_sentence(gained: int, lost: int) -> str:
    """What one part changes: the pictures that only it, and only the part before, has right, with McNemar's exact test."""
    p = mcnemar(gained, lost)
    counts = f"{gained} gained, {lost} lost, {'p < 0.001' if p < 0.001 else f'p = {p:.2g}'}"
    if p >= LEVEL:
        return f"no gain shows: {counts}"
    return f"{'gain' if gained > lost else 'loss'}: {counts}"


def _ladder_says(steps: list[dict[str, Any]]) -> str:
    """Which of the parts a test shows to gain."""
    shown, rest = (
        [
            SHORT[part]
            for part, one in zip(LADDER[1:], steps[1:], strict=True)
            if one["said"].startswith("gain") == gains
        ]
        for gains in (True, False)
    )
    said = f"What helps here: {_and(shown)}." if shown else ""
    return f"{said} Of {_and(rest)} no gain shows.".strip() if rest else said


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1])] * (len(names) > 1) + names[-1:])


def _kept(today: Towers, earlier: Towers, tower: str, method: str = "rita") -> CorrectCount | None:
    """What the attacker who knows the defence leaves: today's, else that of an earlier, weaker one, an upper bound."""
    for towers in (today, earlier):
        if found := towers[tower].get("adaptive", {}).get(method):
            return found
    return None


def _table(today: Towers, earlier: Towers, choice: Iterable[MeasuredCell]) -> dict[str, Any] | None:
    """Method x attacker on both towers. A cell that today's attacker did not fill says "not measured"."""
    if "pgd" not in today[STANDARD]:
        return None
    other = best_other(choice)
    names = [*METHODS, *([other] if other else [])]
    titles = {name: DEFENCES[name].title if name == other else ROWS[name][0] for name in names}
    notes = {
        name: "the best of the others on validation pictures" if name == other else ROWS[name][1] for name in names
    }
    cells = {
        tower: [[_cell(today, earlier, tower, attack, name) for attack in ATTACKERS] for name in names]
        for tower in TOWERS
    }
    return {
        "columns": list(ATTACKERS.values()),
        "rows": [{"name": name, "title": titles[name], "note": notes[name]} for name in names],
        "towers": {
            tower: {"title": title, "says": _tower(today, tower), "cells": cells[tower]}
            for tower, title in TOWERS.items()
        },
        "use": would_use(today, earlier, names, titles),
        "note": f"Test pictures of Caltech101 and DTD, at most 4 of 255 per pixel. Point at a number: its interval (95 %) and n. {NOT_ZERO_SHOT}",
    }


def _cell(today: Towers, earlier: Towers, tower: str, attack: str, name: str) -> dict[str, Any]:
    found = today[tower].get(attack, {}).get(name)
    if found is not None:
        low, high = wilson(found.right, found.n)
        said = f"{100 * low:.0f} to {100 * high:.0f} of 100 (95 %), n = {found.n}"
        return {"share": found.right / found.n, "value": f"{found.percent:.0f}", "said": said}
    bound = earlier[tower].get(attack, {}).get(name)
    said = f"An earlier, weaker attacker left {bound.percent:.0f} of 100, n = {bound.n}: at most that." if bound else ""
    return {"share": None, "value": f"not measured{f'; at most {bound.percent:.0f}' if bound else ''}", "said": said}


def best_other(choice: Iterable[MeasuredCell]) -> str | None:
    """The defence beside the three that has most right on ``val`` under PGD with the standard model; the first in the
    registry's order where several have."""
    counts: dict[str, int] = {}
    for cell in choice:
        asked = cell.split == "val" and cell.attack == "pgd" and cell.backbone == STANDARD
        if asked and cell.method not in METHODS and cell.method in DEFENCES:
            counts[cell.method] = counts.get(cell.method, 0) + round(cell.accuracy * cell.n / 100)
    order = [name for name in DEFENCES if name in counts]
    return max(order, key=lambda name: counts[name], default=None)


def _tower(today: Towers, tower: str) -> str:
    counts = today[tower].get("pgd", {})
    if not {"clip", "rita"} <= counts.keys():
        return ""
    clip, rita = counts["clip"], counts["rita"]
    return (
        f"{'Standard model' if tower == STANDARD else 'Trained on attacks'}: against an attacker who knows CLIP, CLIP alone keeps "
        f"{clip.percent:.0f} %, RITA {rita.percent:.0f} %."
    )


def would_use(today: Towers, earlier: Towers, names: list[str], titles: dict[str, str]) -> str:
    """What the rows advise. Against an attacker who knows CLIP: of the rows whose interval meets that of the row with most
    right answers, the first, which is the simplest. Against one who knows the defence: the model with which RITA keeps
    more, where the two intervals are apart."""
    plain = {name: found for name in names if (found := today[STANDARD].get("pgd", {}).get(name))}
    best = max(plain.values(), key=lambda found: found.percent)
    level = next(name for name, found in plain.items() if not _above(best, found))
    said = f"Against an attacker who knows only CLIP: {titles[level]} ({plain[level].percent:.0f} % on the standard model)."
    standard, trained = (_kept(today, earlier, tower) for tower in TOWERS)
    if not (standard and trained and _above(trained, standard)):
        return said
    known = _kept(today, earlier, STANDARD, level)
    if known and level not in METHODS:
        said = f"{said[:-1]}, which keeps {_most(known.right, known.n, known.earlier)} against one who knows it."
    return f"{said} Against one who knows the defence: only a model trained on attacks."


def _above(one: CorrectCount, other: CorrectCount) -> bool:
    """Whether the two 95 % intervals are apart."""
    return wilson(one.right, one.n)[0] > wilson(other.right, other.n)[1]


def _knows(today: Towers, earlier: Towers) -> dict[str, Any] | None:
    """RITA on both towers against the attacker who knows it."""
    found = {tower: count for tower in TOWERS if (count := _kept(today, earlier, tower))}
    if STANDARD not in found:
        return None
    kept = found[STANDARD]
    bars = [
        _rung(f"RITA, {TOWERS[tower]}", count.right, count.n, f"n = {count.n}", count.earlier)
        for tower, count in found.items()
    ]
    earlier_note = "At most: measured with an earlier form of this attacker; today’s may leave less."
    return {
        "kept": kept.percent,
        "said": _most(kept.right, kept.n, kept.earlier),
        "bars": bars,
        "note": earlier_note if any(count.earlier for count in found.values()) else "",
    }


def _detector() -> str:
    """One sentence: what a threshold on the distance from the crops finds, and its false alarms."""
    found = _or_none(shipped_results.detector_rows)
    if not found:
        return ""
    one = found[0]
    return (
        f"An attack also shows: the whole picture moves away from its own crops. A threshold finds {100 * one.hits / one.attacked:.0f} % of "
        f"{one.attacked} ({ATTACKS[one.attack].column_title}, standard model; {100 * one.false_alarms / one.clean:.2g} % false alarms); an attacker who "
        f"knows this was not tried."
    )
