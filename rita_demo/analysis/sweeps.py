"""Stored measurements as ablations: accuracy against one setting, everything else alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rita_demo.methods import METHODS, NAMED
from rita_demo.records import MeasuredCell
from rita_demo.settings import RECOMMENDED
from rita_demo.surveys import MeasuredPoint, Sweep

SAME = ("dataset", "backbone", "method", "attack", "budget", "steps", "protocol", "split", "seeds")


def sweeps(points: Iterable[MeasuredPoint], knob: str) -> tuple[Sweep, ...]:
    """Every line that varies ``knob`` and nothing else over at least two values, longest first.

    ``others`` names what tells the lines of one knob apart beyond the columns of the table.
    """
    groups: dict[tuple, list[MeasuredPoint]] = {}
    for point in points:
        if knob in point.knobs:
            groups.setdefault(_alike(point, knob), []).append(point)
    lines = [group for group in map(list, groups.values()) if len(_values(group, knob)) >= 2]
    apart = _apart([group[0].knobs for group in lines], knob)
    found = [_sweep(group, knob, apart) for group in lines]
    return tuple(sorted(found, key=lambda one: (-len(one.values), str(one.others))))


def budget_curves(points: Iterable[MeasuredPoint], knob: str) -> tuple[Sweep, ...]:
    """For every value of ``knob`` the accuracy against the budget of PGD; clean is budget 0.

    The returned sweeps have ``knob="budget"`` and one entry in ``others``: the value of ``knob``.
    """
    rita = [p for p in points if p.cell.method == "rita" and knob in p.knobs]
    groups: dict[tuple, list[MeasuredPoint]] = {}
    for point in rita:
        cell = point.cell
        if cell.attack in ("none", "pgd"):
            key = (cell.dataset, cell.backbone, cell.protocol, cell.split, point.knobs[knob])
            groups.setdefault((*key, _settings(point.knobs, "budget", "steps", "attack",
                                                 "adversarial_roundtrip")), []).append(point)  # fmt: skip
    found = []
    for key, group in groups.items():
        cells = {_budget(p.cell): p.cell for p in group}
        if len(cells) >= 2:
            values = tuple(sorted(cells))
            found.append(
                Sweep("budget", values, tuple(cells[v] for v in values), ((knob, key[4]),))
            )
    return tuple(found)


def _budget(cell: MeasuredCell) -> int:
    return 0 if cell.attack == "none" else cell.budget


def _alike(point: MeasuredPoint, knob: str) -> tuple:
    cell = tuple(getattr(point.cell, name) for name in SAME if name != knob)
    return (*cell, _settings(point.knobs, knob))


def _settings(knobs: dict[str, Any], *without: str) -> tuple:
    return tuple(sorted((k, v) for k, v in knobs.items() if k not in without))


def _values(group: Sequence[MeasuredPoint], knob: str) -> dict[Any, MeasuredCell]:
    return {p.knobs[knob]: p.cell for p in sorted(group, key=lambda p: p.cell.n)}


def _sweep(group: Sequence[MeasuredPoint], knob: str, apart: Sequence[str]) -> Sweep:
    cells = _values(group, knob)
    values = tuple(sorted(cells, key=lambda v: (isinstance(v, str), v)))
    others = tuple((name, group[0].knobs[name]) for name in apart if name in group[0].knobs)
    return Sweep(knob, values, tuple(cells[v] for v in values), others)


def _apart(knobs: Sequence[dict[str, Any]], knob: str) -> list[str]:
    """Settings in which lines differ, apart from those that are columns of the table."""
    names = dict.fromkeys(name for one in knobs for name in one if name not in (knob, *SAME))
    return [name for name in names if len({str(one.get(name)) for one in knobs}) > 1]


#: Rows of the component table: title, methods, protocol, settings that the row is about.
COMPONENTS: tuple[tuple[str, tuple[str, ...], str, dict[str, Any]], ...] = (
    *((METHODS[name].full, (name,), "off", {}) for name in NAMED if name != "rita"),
    ("RITA: d_OT alone, prompts as they start", ("rita",), "off", {"tuning_steps": 0}),
    ("RITA: d_OT alone", ("rita", "rita_prompts"), "off", {}),
    ("RITA: the memory alone", ("rita_memory",), "stream", {}),
    ("RITA: d_OT and the memory, emptied before every picture", ("rita", "rita_reset"), "reset", {}),
    ("RITA: d_OT and the memory, prompts as they start", ("rita", "rita_untuned"), "stream",
     {"tuning_steps": 0}),
    ("RITA: d_OT and the memory", ("rita",), "stream", {}),
)  # fmt: skip


def components(
    points: Sequence[MeasuredPoint],
) -> dict[str, dict[str, MeasuredPoint]]:
    """Title of a row -> dataset and attack in words -> the point that is closest to the recommended settings.

    Closest: the fewest settings that differ, apart from those the row is about; rows and columns
    without any measurement are left out.
    """
    table: dict[str, dict[str, MeasuredPoint]] = {}
    for title, methods, protocol, about in COMPONENTS:
        here = [p for p in points if p.cell.method in methods]
        wanted = [p for p in here if p.cell.protocol == protocol]
        for point in sorted(wanted, key=lambda p: (len(differing(p, about)), -p.cell.n)):
            if all(point.knobs.get(name) == value for name, value in about.items()):
                table.setdefault(title, {}).setdefault(column(point.cell), point)
    return table


def column(cell: MeasuredCell) -> str:
    """Dataset and attack in words."""
    attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    return f"{cell.dataset} ({cell.split}), {attack}"


def differing(point: MeasuredPoint, about: dict[str, Any]) -> tuple[str, ...]:
    """Names of the settings that are not the recommended ones, apart from ``about`` and the columns."""
    free = {*about, "attack", "budget", "steps", "protocol", "square"}
    usual = RECOMMENDED.as_dict()
    return tuple(n for n, value in point.knobs.items() if n not in free and value != usual[n])
