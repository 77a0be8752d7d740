"""Measured cells with the settings that matter for them: what an ablation is drawn from, and a file of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.lines import line_of, pooled
from rita_demo.evaluation.plan import canonical
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.threat import cell_of
from rita_demo.methods import METHODS
from rita_demo.records import MeasuredCell
from rita_demo.settings import KNOBS, RECOMMENDED
from rita_demo.surveys import MeasuredPoint

_COLUMNS = tuple(field.name for field in fields(MeasuredCell))


def points_of(run: Path) -> tuple[MeasuredPoint, ...]:
    """Every measured cell of a run folder; seeds pooled.

    Cells whose settings this version does not know, mixed traffic, and attacks towards a class are left out.

    Raises:
        DataError: not a run folder, or a damaged one.
    """
    found = []
    for cells in pooled(run):
        try:
            cell = cell_of(cells[0][0])
        except SettingError:
            continue
        if cell.traffic.share != 100 or cell.target:
            continue
        row, line = METHODS[cell.method], line_of(cells)
        matter = {n for n, knob in KNOBS.items() if knob.group in row.groups or n in row.knobs}
        knobs = {n: v for n, v in cell.settings.as_dict().items() if n in matter.difference(SEEDS)}
        found.append(MeasuredPoint(line, knobs))
    return tuple(found)


def special_of(point: MeasuredPoint) -> dict[str, Any]:
    """The settings in which a point is not the recommended one, apart from attack and memory; the attacked
    square is among them."""
    columns = {
        n: v for n, v in point.knobs.items() if n in ("attack", "budget", "steps", "protocol")
    }
    usual = canonical(point.cell.method, RECOMMENDED.but(**columns), frozenset())
    return {n: v for n, v in point.knobs.items() if v != getattr(usual, n)}


def to_json(points: Sequence[MeasuredPoint]) -> str:
    """The points as :func:`read_points` takes them: one line each, the columns of ``tables --format csv`` and ``knobs``."""
    rows = [{n: getattr(p.cell, n) for n in _COLUMNS} | {"knobs": p.knobs} for p in points]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def read_points(path: Path) -> tuple[MeasuredPoint, ...]:
    """The points of a file.

    Raises:
        DataError: it is missing, or is not what ``tables --format points`` writes.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(rows, list):
            raise TypeError
        return tuple(_point(row) for row in rows)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path.name} holds no measured points.", "Write it with tables RUNS --format points."
        ) from error


def _point(row: dict[str, Any]) -> MeasuredPoint:
    knobs = {name: value for name, value in row["knobs"].items() if name in KNOBS}
    return MeasuredPoint(MeasuredCell(**{name: row[name] for name in _COLUMNS}), knobs)
