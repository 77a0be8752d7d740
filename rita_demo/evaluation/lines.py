"""Stored rows to lines: one per measured cell, seeds pooled, Wilson's 95 % interval.

Reads a run folder while another process is writing to it; a row that is being written is not counted.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.bars import Cells, against_alike, against_plain, rows_of
from rita_demo.evaluation.files import read_lines
from rita_demo.evaluation.paired import Paired
from rita_demo.evaluation.plan import special
from rita_demo.evaluation.threat import cell_of
from rita_demo.intervals import wilson
from rita_demo.methods import METHODS
from rita_demo.records import MeasuredCell
from rita_demo.settings import KNOBS

COLUMNS = (
    "dataset", "backbone", "method", "attack", "budget", "steps", "protocol", "split", "accuracy",
    "n", "low", "high", "seeds", "settings",
)  # fmt: skip


@dataclass(frozen=True)
class Line(MeasuredCell):
    """One measured cell: the contract's columns, and what a reader needs beside them.

    ``n`` counts different pictures. ``accuracy`` is the mean over all answers, those of several seeds
    too; the interval is that of ``n`` pictures, because the same picture once more is no new one.

    ``wanted`` answers when finished, ``answers`` those that are there (None: ``n``); ``seconds`` median
    per picture for the method itself; ``special`` the settings that differ from the recommended ones;
    ``threat`` the threat model's sentences; ``scope`` what the accuracy is among;
    ``already_wrong`` pictures that CLIP got wrong before the attack (0 without an attack);
    ``against`` the plain Ensemble on the same attacked pictures, where it was measured (else the
    nearest one, which names itself), ``against_alike`` the Ensemble that takes the views as RITA does;
    ``looking`` median seconds per picture for cutting and encoding its ``views``, which all methods
    share; ``spread`` the lowest and highest accuracy of a single seed in percent, None for one seed;
    ``weights`` a hash of the model's, ``note`` a sentence on it; ``reached`` answers that are the attack's target (None: it had none).
    """

    wanted: int
    seconds: float
    special: str
    threat: tuple[str, ...]
    scope: str
    already_wrong: int = 0
    against: Paired | None = None
    against_alike: Paired | None = None
    answers: int | None = None
    looking: float = 0.0
    views: int = 0
    spread: tuple[float, float] | None = None
    weights: str = ""
    note: str = ""
    reached: int | None = None

    def columns(self) -> tuple[str, ...]:
        """The contract's columns as text."""
        values = [getattr(self, name) for name in COLUMNS]
        return tuple(f"{v:.2f}" if isinstance(v, float) else str(v) for v in values)

    @property
    def finished(self) -> bool:
        """Whether every picture was asked under every seed."""
        return (self.n if self.answers is None else self.answers) >= self.wanted


def lines(folder: Path) -> tuple[Line, ...]:
    """Every cell of a run folder that has at least one row, sorted for reading.

    Raises:
        DataError: this is not a run folder, or one of its files is damaged.
    """
    order = {name: number for number, name in enumerate(METHODS)}
    attacks = {name: number for number, name in enumerate(KNOBS["attack"].choices)}
    pools = pooled(folder)
    found = [
        replace(
            line_of(cells),
            against=against_plain(cells, pools),
            against_alike=against_alike(cells, pools),
        )
        for cells in pools
    ]
    return tuple(
        sorted(
            found,
            key=lambda line: (
                line.dataset, line.split, line.backbone, attacks.get(line.attack, 99), line.budget,
                line.steps, order.get(line.method, 99), line.protocol, line.special, line.settings,
            ),
        )
    )  # fmt: skip


def pooled(folder: Path) -> list[Cells]:
    """The cells of a run folder that have rows, as (header, rows); those of other seeds together.

    Raises:
        DataError: this is not a run folder, or one of its files is damaged.
    """
    if not (folder / "cells").is_dir():
        raise DataError(
            "There are no measurements in this folder.", "Name the folder that evaluate wrote to."
        )
    pools: dict[str, Cells] = {}
    for place in sorted((folder / "cells").iterdir()):
        if (place / "header.json").is_file() and (rows := read_lines(place / "rows.jsonl")):
            header = read_header(place)
            pools.setdefault(header["pool"], []).append((header, rows))
    return list(pools.values())


def read_header(place: Path) -> dict[str, Any]:
    """What was measured in a cell's folder; ``special`` is what differs from the settings that are recommended now.

    Raises:
        DataError: the header is missing or damaged.
    """
    try:
        header = json.loads((place / "header.json").read_text("utf-8"))
        header["columns"], header["pool"], header["threat_model"]["sentences"]
        with suppress(SettingError):  # another version's settings: as they were told then
            header["special"] = special(cell_of(header))
        return header
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"The header of {place.name} is damaged.", "Delete that folder and evaluate again."
        ) from error


def line_of(cells: Cells) -> Line:
    """The same cell measured with one or more seeds."""
    header = cells[0][0]
    rows = rows_of(cells)
    share, n = fmean(row["right"] for row in rows), len({row["picture"] for row in rows})
    low, high = wilson(share * n, n)
    by_seed = [100 * fmean(row["right"] for row in found) for _, found in cells]
    return Line(
        **header["columns"],
        accuracy=100 * share,
        n=n,
        low=100 * low,
        high=100 * high,
        seeds=" ".join(str(seed) for seed in sorted({cell["seed"] for cell, _ in cells})),
        wanted=sum(cell["pictures"] for cell, _ in cells),
        answers=len(rows),
        seconds=median(row["seconds"]["method"] for row in rows),
        looking=median(row["seconds"]["views"] for row in rows),
        views=header["knobs"].get("views", 0),
        special=", ".join(f"{name}={value}" for name, value in header["special"].items()),
        threat=tuple(header["threat_model"]["sentences"]),
        scope=_scope(header),
        already_wrong=len({row["picture"] for row in rows if row["already_wrong"]}),
        spread=(min(by_seed), max(by_seed)) if len(cells) > 1 else None,
        weights=header["weights"],
        note=header.get("note", ""),
        reached=sum(row["answer"] == row["target"] for row in rows)
        if header.get("target")
        else None,
    )


def _scope(header: dict[str, Any]) -> str:
    pictures, available = header["pictures"], header["available"]
    some = f"{pictures} of {available} pictures" if pictures < available else f"{pictures} pictures"
    classes, present = header["classes"], header["classes_present"]
    part = f" ({present} of these classes have pictures)" if present < classes else ""
    return f"Accuracy on {some}, among {classes} prompts{part}."
