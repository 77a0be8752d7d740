"""Streams that were measured, found again in run folders, whoever made them: a terminal or the page."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rita_demo.attacks import looks_through
from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.cells import replayed
from rita_demo.evaluation.files import read_lines
from rita_demo.evaluation.plan import canonical
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.threat import cell_of
from rita_demo.methods import METHODS
from rita_demo.records import CacheState
from rita_demo.settings import KNOBS, Settings

SAME = (
    "dataset",
    "split",
    "backbone",
    "attack",
    "budget",
    "steps",
)  # columns of one stream's cells


@dataclass(frozen=True)
class Recording:
    """One stream: RITA's cell with its memory, and the other methods' cells on the same pictures.

    ``name`` is its place below the runs folder and names it on the page; ``cells`` method -> folder.
    """

    name: str
    header: dict[str, Any]
    cells: dict[str, Path]
    written: float = 0.0  # when its last row was written, seconds since 1970

    @property
    def columns(self) -> dict[str, Any]:
        """Dataset, split, model, attack and strength."""
        return self.header["columns"]

    @property
    def title(self) -> str:
        """What a person calls it."""
        c, traffic = self.columns, self.header.get("traffic", {})
        attack, _, share = str(c["attack"]).partition(":")
        said = "clean" if attack == "none" else f"{attack} {c['budget']}/255"
        said += f" on {share} %" if share else ""
        said += ", class by class" if traffic.get("order") == "classes" else ""
        more = [f"{n}={v}" for n, v in self.header["special"].items()]
        special = ", ".join(m for m in more if not m.startswith(("attacked_share", "stream_order")))
        rest = f" ({special})" if special else ""
        seed = f"seed {self.header['seed']}, {self.header['pictures']} pictures"
        return f"{c['dataset']} {c['split']}, {said}, {seed}, {c['backbone']}{rest}"

    @property
    def apart(self) -> bool:
        """Whether the attack looks at what RITA remembers: the other methods then met other attacked pictures,
        made against an empty memory."""
        return looks_through(self.asked) == "defence"

    @property
    def asked(self) -> Settings:
        """The settings of the run; the seeds are its own only where they were given by hand."""
        return _asked(self.header)

    def rows(self, method: str = "rita") -> list[dict[str, Any]]:
        """The rows of a method, as far as they are written."""
        return read_lines(self.cells[method] / "rows.jsonl")

    def memory(self, empty: CacheState, pictures: int) -> CacheState:
        """What RITA remembered after so many pictures; ``empty``: before the first one."""
        return replayed(self.cells["rita"], empty, self.rows()[:pictures])

    def settings(self, row: dict[str, Any]) -> Settings:
        """The settings that repeat one of its rows: attacked or not, with the picture's own seeds."""
        free = [name for name in SEEDS if name not in self.header["knobs"]]
        seeds = dict.fromkeys(free, row["picture_seed"])
        return self.asked.but(**{"attack": row["attack"], **seeds})


def recordings(root: Path, run: Path | None = None) -> tuple[Recording, ...]:
    """Every stream with at least one row below a folder of run folders, or in one ``run`` of it; newest first.

    A folder that is damaged is left out: it must not hide the others.
    """
    found = []
    for folder in _runs(root) if run is None else [run]:
        headers = _headers(folder)
        for place, header in headers.items():
            rows = place / "rows.jsonl"
            columns = header["columns"]
            if (columns["method"], columns["protocol"]) == ("rita", "stream") and _started(rows):
                name = place.relative_to(root).as_posix()
                cells = {"rita": place, **_others(header, headers)}
                found.append(Recording(name, header, cells, rows.stat().st_mtime))
    return tuple(sorted(found, key=lambda one: -one.written))


def recording(root: Path, name: str) -> Recording:
    """The stream of that name.

    Raises:
        DataError: there is none.
    """
    for one in recordings(root):
        if one.name == name:
            return one
    raise DataError("There is no stored run of that name.", "Choose one from the list.")


def _asked(header: dict[str, Any]) -> Settings:
    return Settings(**{n: v for n, v in header["knobs"].items() if n in KNOBS})


def _runs(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    return [p for p in (root, *sorted(root.iterdir())) if (p / "cells").is_dir()]


def _headers(run: Path) -> dict[Path, dict[str, Any]]:
    found: dict[Path, dict[str, Any]] = {}
    if not (run / "cells").is_dir():
        return found
    for place in sorted((run / "cells").iterdir()):
        try:
            header = json.loads((place / "header.json").read_text("utf-8"))
            [header["columns"][name] for name in (*SAME, "method", "protocol")]
            [header[name] for name in ("seed", "special", "pictures", "names", "weights")]
            _asked(header)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, SettingError):
            continue
        found[place] = header
    return found


def _started(rows: Path) -> bool:
    return rows.is_file() and rows.stat().st_size > 0


def _others(header: dict[str, Any], headers: dict[Path, dict[str, Any]]) -> dict[str, Path]:
    """The other methods' cells that saw the same pictures through the same views."""
    found: dict[str, Path] = {}
    for place, other in headers.items():
        method = other["columns"]["method"]
        same = all(other["columns"][n] == header["columns"][n] for n in SAME)
        same = same and all(other[n] == header[n] for n in ("names", "weights", "pictures"))
        if same and method != "rita" and _started(place / "rows.jsonl") and _alike(header, other):
            found.setdefault(method, place)
    return {method: found[method] for method in METHODS if method in found}


def _alike(header: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the other method met the same: every setting that matters to it, and its seed where it draws."""
    try:
        mine, cell = cell_of(header), cell_of(other)
    except SettingError:  # of another version
        return False
    asked = replace(cell, asked=mine.asked, settings=canonical(cell.method, mine.asked, mine.fixed))
    same = asked.settings == cell.settings and mine.traffic == cell.traffic
    return same and (mine.seed == cell.seed or not cell.drawn)
