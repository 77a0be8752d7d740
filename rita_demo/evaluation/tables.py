"""Stored rows to tables: one line per measured cell, seeds pooled, Wilson's 95 % interval.

Reads a run folder while another process is writing to it; a row that is being written is not counted.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.files import digest, read_lines
from rita_demo.evaluation.paired import Paired, compare
from rita_demo.evaluation.plan import special
from rita_demo.evaluation.threat import cell_of
from rita_demo.evaluation.together import together
from rita_demo.methods import METHODS
from rita_demo.records import MeasuredCell
from rita_demo.settings import KNOBS

COLUMNS = (
    "dataset", "backbone", "method", "attack", "budget", "steps", "protocol", "split", "accuracy",
    "n", "low", "high", "seeds", "settings",
)  # fmt: skip
Z95 = 1.959963984540054  # 97.5 % quantile of the normal distribution
Cells = list[tuple[dict[str, Any], list[dict[str, Any]]]]  # one cell's header and rows per seed


@dataclass(frozen=True)
class Line(MeasuredCell):
    """One measured cell: the contract's columns, and what a reader needs beside them.

    ``wanted`` rows when finished; ``seconds`` median
    per picture for the method itself; ``special`` the settings that differ from the recommended ones;
    ``threat`` the threat model's sentences; ``scope`` what the accuracy is among;
    ``already_wrong`` rows whose clean picture CLIP already got wrong (0 without an attack);
    ``against`` the plain Ensemble on the same attacked pictures, where it was measured;
    ``reached`` rows whose answer is the attack's target (None: it had none).
    """

    wanted: int
    seconds: float
    special: str
    threat: tuple[str, ...]
    scope: str
    already_wrong: int = 0
    against: Paired | None = None
    reached: int | None = None

    def columns(self) -> tuple[str, ...]:
        """The contract's columns as text."""
        values = [getattr(self, name) for name in COLUMNS]
        return tuple(f"{v:.2f}" if isinstance(v, float) else str(v) for v in values)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share ``right / n``, both ends in [0, 1] (Wilson 1927).

    ``(p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)``; n >= 1.
    """
    share, z2 = right / n, Z95 * Z95
    middle = share + z2 / (2 * n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z2 / n) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def lines(folder: Path) -> tuple[Line, ...]:
    """Every cell of a run folder that has at least one row, sorted for reading.

    Raises:
        DataError: this is not a run folder, or one of its files is damaged.
    """
    order = {name: number for number, name in enumerate(METHODS)}
    attacks = {name: number for number, name in enumerate(KNOBS["attack"].choices)}
    pools = pooled(folder)
    found = [replace(line_of(cells), against=_against(cells, pools)) for cells in pools]
    return tuple(
        sorted(
            found,
            key=lambda line: (
                line.dataset, line.split, line.backbone, attacks.get(line.attack, 99), line.budget,
                line.steps, order.get(line.method, 99), line.protocol, line.special, line.settings,
            ),
        )
    )  # fmt: skip


def _against(cells: Cells, pools: Iterable[Cells]) -> Paired | None:
    """The plain Ensemble with the settings nearest to these on the same attacked pictures."""
    header, rows = cells[0][0], _rows(cells)
    if header["columns"]["method"] == "ensemble":
        return None
    same = ("dataset", "split", "backbone", "attack", "budget", "steps")
    mine = [header["columns"][name] for name in same]
    found = [
        (len(header["special"].items() ^ other[0][0]["special"].items()), paired)
        for other in pools
        if other[0][0]["columns"]["method"] == "ensemble"
        and [other[0][0]["columns"][name] for name in same] == mine
        and (paired := compare(rows, _rows(other)))
    ]
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _rows(cells: Cells) -> list[dict[str, Any]]:
    return [row for _, found in cells for row in found]


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


def render(found: Sequence[Line], form: str) -> str:
    """The lines as ``markdown``, ``csv`` or ``latex``."""
    if form not in FORMATS:
        raise SettingError(f"The format is one of {', '.join(FORMATS)}; got {form[:40]!r}.")
    return FORMATS[form](found)


def as_csv(found: Sequence[Line]) -> str:
    """Exactly the contract's columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *(line.columns() for line in found)])
    return text.getvalue()


def as_markdown(found: Sequence[Line]) -> str:
    """One table per dataset and threat model, which stands above it."""
    head = [
        "method", "memory", "accuracy %", "95 %", "n", "against Ensemble", "seeds", "s per picture",
        "settings",
    ]  # fmt: skip
    parts = []
    for group in _grouped(found):
        above = [*group[0].threat, group[0].scope, *_untouched(group[0])]
        parts.append("\n".join([_title(group[0]), "", *above, ""]))
        parts[-1] += "\n" + _table([head, *(_cells(line) for line in group)])
    parts += _together(found)
    parts.append(
        "Intervals: Wilson, 95 %. Several seeds are counted together, as if their pictures were new "
        "ones. A star marks a cell that is not finished. Against Ensemble: points of accuracy more or less on "
        "the same attacked pictures; in brackets only this method right / only Ensemble right, and McNemar's "
        "exact two-sided p."
    )
    return "\n\n".join(parts) + "\n"


def as_latex(found: Sequence[Line]) -> str:
    """The same tables as LaTeX ``tabular``, the threat model in the caption."""
    parts = []
    for group in _grouped(found):
        rows = [
            " & ".join(_tex(cell) for cell in _cells(line)) + r" \\" for line in group
        ]  # fmt: skip
        above = (*group[0].threat, group[0].scope, *_untouched(group[0]))
        caption = " ".join((_title(group[0]).lstrip("# "), *above))
        head = (
            r"method & memory & accuracy (\%) & 95\,\% & $n$ & against Ensemble & seeds & s & settings "
            r"\\ \hline"
        )
        parts.append(
            "\n".join(
                [r"\begin{table}", rf"\caption{{{_tex(caption)}}}", r"\begin{tabular}{llrlrllrl}",
                 head, *rows, r"\end{tabular}", r"\end{table}"]
            )
        )  # fmt: skip
    return "\n\n".join(parts) + "\n"


FORMATS = {"markdown": as_markdown, "csv": as_csv, "latex": as_latex}


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
    rows = _rows(cells)
    right, n = sum(row["right"] for row in rows), len(rows)
    low, high = wilson(right, n)
    seconds = sorted(row["seconds"]["method"] for row in rows)
    return Line(
        **header["columns"],
        accuracy=100 * right / n,
        n=n,
        low=100 * low,
        high=100 * high,
        seeds=" ".join(str(seed) for seed in sorted({cell["seed"] for cell, _ in cells})),
        wanted=sum(cell["pictures"] for cell, _ in cells),
        seconds=seconds[n // 2],
        special=", ".join(f"{name}={value}" for name, value in header["special"].items()),
        threat=tuple(header["threat_model"]["sentences"]),
        scope=_scope(header),
        already_wrong=sum(bool(row["already_wrong"]) for row in rows),
        reached=sum(row["answer"] == row["target"] for row in rows)
        if header.get("target")
        else None,
    )


def _scope(header: dict[str, Any]) -> str:
    pictures, available = header["pictures"], header["available"]
    some = f"{pictures} of {available} pictures" if pictures < available else f"{pictures} pictures"
    classes, present = header["classes"], header["classes_present"]
    part = f" ({present} of these classes have pictures)" if present < classes else ""
    weights = f"Model weights {header['weights'][:8]}."
    return f"Accuracy on {some}, among {classes} prompts{part}. {weights}"


def _grouped(found: Iterable[Line]) -> list[list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in found:
        key = digest([line.dataset, line.split, line.backbone, line.threat, line.scope])
        groups.setdefault(key, []).append(line)
    return list(groups.values())


def _untouched(line: Line) -> tuple[str, ...]:
    """AutoAttack counts the pictures it has left alone: what a method scores on them is clean."""
    if line.attack != "autoattack":
        return ()
    return (f"Already wrong, so left untouched: {line.already_wrong} of {line.n} pictures.",)


def _title(line: Line) -> str:
    strength = f" {line.budget}/255" if line.budget else ""
    attack = "clean" if line.attack == "none" else f"{line.attack}{strength}"
    steps = f", {line.steps} steps" if line.steps > 1 else ""
    return f"### {line.dataset} ({line.split}), {line.backbone}, {attack}{steps}"


def _cells(line: Line) -> list[str]:
    star = "*" if line.n < line.wanted else ""
    remembers = METHODS[line.method].remembers if line.method in METHODS else True
    return [
        METHODS[line.method].full if line.method in METHODS else line.method,
        line.protocol if remembers else "",
        f"{line.accuracy:.1f}{star}",
        f"{line.low:.1f} to {line.high:.1f}",
        str(line.n),
        _beside(line.against),
        line.seeds,
        f"{line.seconds:.3f}",
        (line.special or "recommended") + _reached(line),
    ]


def _reached(line: Line) -> str:
    return "" if line.reached is None else f"; says the target: {line.reached} of {line.n}"


def _beside(against: Paired | None) -> str:
    if against is None:
        return ""
    signed = f"{against.difference:+.1f}".replace("-", "−")
    return f"{signed} ({against.gained} / {against.lost}, p {against.p:.2g})"


def _together(found: Sequence[Line]) -> list[str]:
    head = ["attack", "method", "memory", "datasets", "n", "against Ensemble", "settings"]
    rows = []
    for line, datasets, paired in together(found):
        attack = f"{line.attack} {line.budget}/255" if line.budget else line.attack
        name, memory = _cells(line)[:2]
        rows.append([attack, name, memory, str(datasets), str(paired.n), _beside(paired),
                     line.special or "recommended"])  # fmt: skip
    return (
        ["### All datasets together, against Ensemble\n\n" + _table([head, *rows])] if rows else []
    )


def _table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines
    )


def _tex(text: str) -> str:
    for sign in "&%$#_{}":
        text = text.replace(sign, "\\" + sign)
    return (
        text.replace("×", r"$\times$").replace("“", "``").replace("”", "''").replace("…", r"\dots")
    )
