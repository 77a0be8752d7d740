"""What the Story says of many pictures: read from the shipped measurements, and left out where they are missing."""

from pathlib import Path
from typing import Any

from rita_demo import analysis
from rita_demo.analysis import CorrectCount
from rita_demo.analysis.drift import detector
from rita_demo.attacks import ATTACKS
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.intervals import wilson
from rita_demo.ui.widgets import wording
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

METHODS = ("clip", "ensemble", "rita")
#: Towers of the one table, and what they are called on the page.
TOWERS = {"embedded": "embedded model", "embedded-robust": "trained on attacks"}
ATTACKERS = ("none", "pgd", "autoattack", "adaptive")
COLUMNS = {
    "none": "no attack",
    "pgd": "knows CLIP",
    "autoattack": "AutoAttack on CLIP",
    "adaptive": "knows the defence",
}

TITLES = {"ensemble": "average of crops"}  # as above the fold
FALSE_ALARMS = 0.05  # at the threshold that the detector starts with

Counts = dict[str, dict[str, CorrectCount]]  # attack -> method -> its count


def measured() -> dict[str, Any]:
    """The constants of the Story's figures: the one table, the attacker who knows, the memory."""
    arena = _cells(shipped_results.ARENA)
    towers = {tower: analysis.attacker_table(c for c in arena if c.backbone == tower) for tower in TOWERS}
    found: dict[str, Any] = {"table": _table(towers), "memory": _memory(_cells(shipped_results.ATTACKERS))}
    return found | _knowing_attacker(towers) | {"drift": _drift()}


def _cells(path: Path) -> tuple[MeasuredCell, ...]:
    try:
        return shipped_results.read(path)
    except DataError:
        return ()


def _table(towers: dict[str, Counts]) -> dict[str, Any] | None:
    """Method x attacker, a row for each method on each tower."""
    rows = [
        {
            "title": TITLES.get(method, DEFENCES[method].title),
            "tower": TOWERS[tower],
            "cells": [_cell(counts.get(attack, {}).get(method)) for attack in ATTACKERS],
        }
        for tower, counts in towers.items()
        for method in METHODS
        if counts
    ]
    if not rows:
        return None
    budget = "4 of 255"
    return {
        "columns": ["", *(COLUMNS[name] for name in ATTACKERS)],
        "rows": rows,
        "lead": f"Right answers on test pictures of Caltech101 and DTD, at most {budget} per pixel. Compare within a column.",
        "short": _short(towers),
        "note": f"Below each share: n and Wilson's 95 % interval. {NOT_ZERO_SHOT}{_earlier(towers)} RITA: robust test-time prompt adaptation.",
    }


def _short(towers: dict[str, Counts]) -> str:
    """What the table says, where its intervals say so; else nothing."""
    try:
        plain, known = towers["embedded"]["pgd"], towers["embedded"]["adaptive"]["rita"]
        clip, average, rita = (plain[m] for m in METHODS)
        trained, robust = (towers["embedded-robust"]["adaptive"][m] for m in ("clip", "rita"))
    except KeyError:
        return ""
    if not (_above(average, clip) and _above(robust, known)):
        return ""
    return (
        f"In short: crops help against an attacker who knows only CLIP ({average.percent:.0f} % right instead of {clip.percent:.0f} %). RITA’s "
        f"weights add a little ({rita.percent:.0f} %), its transport nothing that shows. Against an attacker who knows RITA "
        f"{known.percent:.0f} %{wording.EARLIER_MARK * known.earlier} are left; with a model that was trained on attacks "
        f"{robust.percent:.0f} %{wording.EARLIER_MARK * robust.earlier}, where CLIP alone has {trained.percent:.0f} %."
    )


def _above(one: CorrectCount, other: CorrectCount) -> bool:
    """Whether the two 95 % intervals are apart."""
    return wilson(one.right, one.n)[0] > wilson(other.right, other.n)[1]


def _cell(count: CorrectCount | None) -> dict[str, str] | None:
    if count is None:
        return None
    low, high = wilson(count.right, count.n)
    mark = wording.EARLIER_MARK * count.earlier
    return {"share": f"{count.percent:.0f} %{mark}", "interval": f"n = {count.n}, {100 * low:.0f} to {100 * high:.0f}"}


def _earlier(towers: dict[str, Counts]) -> str:
    counts = (count for table in towers.values() for row in table.values() for count in row.values())
    return wording.EARLIER_NOTE * any(count.earlier for count in counts)


def _knowing_attacker(towers: dict[str, Counts]) -> dict[str, Any]:
    """CLIP and RITA on both towers, each against the attacker who knows it."""
    found = {
        (t, m): counts["adaptive"][m]
        for t, counts in towers.items()
        for m in METHODS
        if m in counts.get("adaptive", {})
    }
    if ("embedded", "rita") not in found:
        return {"knows": None}
    crops, robust = found["embedded", "rita"], found.get(("embedded-robust", "rita"))
    kept = f"With the embedded model RITA keeps {crops.percent:.0f} % of {crops.n} test pictures"
    kept += f", its twin that was trained on attacks {robust.percent:.0f} % of {robust.n}" if robust else ""
    mark = _earlier(towers)
    return {
        "knows": [{"tower": "embedded", "kept": crops.percent, "mark": wording.EARLIER_MARK * crops.earlier}],
        "knows_sentence": f"{kept} (at most 4 of 255 per pixel).{' ‡: by an earlier form of the attack; the share may be too high.' * bool(mark)}",
        "knows_rows": [
            _bar(f"{DEFENCES[m].title}, {TOWERS[t]}", count, m) for (t, m), count in found.items() if m != "ensemble"
        ],
    }


def _bar(title: str, count: CorrectCount, css: str) -> dict[str, Any]:
    low, high = wilson(count.right, count.n)
    said = f"{count.percent:.0f} %{wording.EARLIER_MARK * count.earlier}"
    return {"title": title, "share": count.right / count.n, "said": said, "low": low, "high": high, "css": css}


def _memory(cells: tuple[MeasuredCell, ...]) -> str:
    """RITA with its memory (one stream of pictures) and without, on the same pictures under the same attacks."""
    stream, off = ({_where(c): c for c in cells if c.method == "rita" and c.protocol == p} for p in ("stream", "off"))
    both = [(stream[where], off[where]) for where in stream if where in off]
    if not both:
        return ""
    right, without = (sum(round(cell.accuracy * cell.n / 100) for cell in side) for side in zip(*both, strict=True))
    n, more = sum(kept.n for kept, _ in both), right - without
    compared = f"{abs(more)} {'more' if more > 0 else 'fewer'} than" if more else "as many as"
    attacks = ", ".join(dict.fromkeys(ATTACKS[kept.attack].column_title for kept, _ in both))
    return f"In measured streams ({attacks}; embedded model) {right} of {n} answers are right with the memory, {compared} without it."


def _drift() -> dict[str, Any] | None:
    """The drifts of many pictures, clean and under PGD, and the threshold with at most 5 % false alarms."""
    try:
        found = detector(shipped_results.drift_rows(), "crop_offset", "pgd", "picture")
    except DataError:
        return None
    if found is None:
        return None
    threshold = found.threshold(FALSE_ALARMS)
    return {
        "clean": found.clean.round(4).tolist(),
        "attacked": found.attacked.round(4).tolist(),
        "threshold": round(threshold, 4),
        "note": f"The drift is the distance of the whole picture's feature from the weighted mean of its crops'. Measured with the embedded "
        f"model on {len(found.clean)} clean and {len(found.attacked)} attacked validation pictures (Caltech101 and DTD; PGD, 4 of 255): in "
        f"{100 * found.separation:.0f} of 100 pairs of a clean and an attacked one the attacked one drifts more. An attacker who knows the detector was not tried.",
    }


def _where(cell: MeasuredCell) -> tuple[Any, ...]:
    return cell.dataset, cell.backbone, cell.attack, cell.budget, cell.steps, cell.split, cell.n
