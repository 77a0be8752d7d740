"""Measured cells with the settings that matter for them: the data of the ablation figures, and a file of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.cell_header import cell_of
from rita_demo.evaluation.planned_cells import canonical_settings
from rita_demo.evaluation.report.results import COLUMNS, pooled_cells, result_row
from rita_demo.evaluation.request import SEEDS
from rita_demo.process.text_file import read_text
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.measurement import AblationPoint
from rita_demo.settings import RECOMMENDED, SETTINGS, in_groups


def ablation_points(run: Path) -> tuple[AblationPoint, ...]:
    """Every measured cell of a run folder, seeds pooled.

    Cells of another version's settings, of mixed traffic and of targeted attacks are left out.

    Raises:
        DataError: not a run folder, or a damaged one.
    """
    found = []
    for cells in pooled_cells(run):
        try:
            cell = cell_of(cells[0][0])
        except SettingError:
            continue
        if cell.traffic.share != 100 or cell.target:
            continue
        settings = {name: getattr(cell.settings, name) for name in _relevant(cell.method)}
        found.append(AblationPoint(result_row(cells), settings))
    return tuple(found)


def _relevant(method: str) -> list[str]:
    """Names of the settings that a method may depend on, without the seeds; none of a method that is not here."""
    if (row := DEFENCES.get(method)) is None:
        return []
    matter = {*in_groups(*row.groups), *row.setting_names}
    return [name for name in SETTINGS if name in matter.difference(SEEDS)]


def non_default_settings(point: AblationPoint) -> dict[str, Any]:
    """The settings that differ from the recommended ones, apart from attack, budget, steps and protocol."""
    columns = {n: v for n, v in point.settings.items() if n in ("attack", "budget", "steps", "protocol")}
    usual = canonical_settings(point.cell.method, RECOMMENDED.replace(**columns), frozenset())
    return {n: v for n, v in point.settings.items() if v != getattr(usual, n)}


def to_json(points: Sequence[AblationPoint]) -> str:
    """The points as JSON, one line each: the columns of ``tables --format csv``, and the settings as ``knobs``."""
    rows = [{n: getattr(p.cell, n) for n in COLUMNS} | {"knobs": p.settings} for p in points]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def read_points(path: Path) -> tuple[AblationPoint, ...]:
    """The points of a file that :func:`to_json` made.

    Raises:
        DataError: the file is missing, or is not what ``tables --format points`` writes.
    """
    try:
        rows = json.loads(read_text(path))
        if not isinstance(rows, list):
            raise TypeError
        return tuple(
            AblationPoint(
                MeasuredCell(**{name: row[name] for name in COLUMNS if name in row}),
                {name: SETTINGS[name].before for name in _relevant(row["method"])}
                | {name: value for name, value in row["knobs"].items() if name in SETTINGS},
            )
            for row in rows
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path.name} holds no measured points.", "Write it with tables RUNS --format points."
        ) from error
