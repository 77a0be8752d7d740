"""Stored streams found in run folders, made by the command line or by the page."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.attacks import ATTACKS, access_of
from rita_demo.data.folders import read_folder
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.planned_cells import canonical_settings
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.store.cell_file import CellHeader, cache_after_rows
from rita_demo.evaluation.store.files import read_lines
from rita_demo.records import CacheState
from rita_demo.records.errors import DataError, SettingError
from rita_demo.settings import Settings

STREAM_COLUMNS = ("dataset", "split", "backbone", "attack", "budget", "steps")  # shared by the cells of one stream
STREAM_FACTS = ("names", "weights", "pictures")  # likewise


def attack_words(attack: str) -> str:
    """An attack's name in words: "PGD", "adaptive, made for RITA"; an unknown name stays."""
    name, _, against = attack.partition(":")
    title = ATTACKS[name].column_title if name in ATTACKS else name
    return f"{title}, made for {DEFENCES[against].title if against in DEFENCES else against}," if against else title


@dataclass(frozen=True)
class StreamRun:
    """One stream: RITA's cell with its cache, and the other methods' cells on the same pictures.

    ``name``: the path below the runs folder, which identifies it on the page. ``cells``: method -> folder.
    ``last_modified``: when its last row was written, in seconds since 1970.
    """

    name: str
    header: CellHeader
    cells: dict[str, Path]
    last_modified: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The K class names."""
        return tuple(self.header.names or ())

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the tables: dataset, split, model, attack, budget, ..."""
        return self.header.columns

    @property
    def place(self) -> str:
        """The dataset's name, or its folder below the data folder (untrusted)."""
        return str(self.header.folder or self.columns["dataset"])

    @property
    def title(self) -> str:
        """One line for a list."""
        c = self.columns
        attack, _, share = re.fullmatch(r"(.*?)(:(\d+))?", str(c["attack"])).groups()  # type: ignore[union-attr]
        traffic_text = "clean" if attack == "none" else f"{attack_words(attack)} {c['budget']}/255"
        traffic_text += f" on {share} %" if share else ""
        traffic_text += ", class by class" if self.header.traffic.get("order") == "classes" else ""
        shown = [f"{n}={v}" for n, v in self.header.non_default.items() if n not in ("attacked_share", "stream_order")]
        settings = f" ({', '.join(shown)})" if shown else ""
        seed = f"seed {self.header.seed}, {self.header.pictures} pictures"
        return f"{c['dataset']} {c['split']}, {traffic_text}, {seed}, {c['backbone']}{settings}"

    @property
    def attack_uses_cache(self) -> bool:
        """Whether the attack uses RITA's cache: the pictures of the other methods were then attacked with an empty
        one, and differ."""
        return access_of(self.header.requested) == "defence"

    def rows(self, method: str = "rita") -> list[dict[str, Any]]:
        """The rows of a method that are written so far."""
        return read_lines(self.cells[method] / "rows.jsonl")

    def cache_after(self, empty: CacheState, pictures: int) -> CacheState:
        """RITA's cache after so many pictures; ``empty``: the cache before the first one."""
        return cache_after_rows(self.cells["rita"], empty, self.rows()[:pictures])

    def settings_for(self, row: dict[str, Any]) -> Settings:
        """The settings that repeat one of its rows: attacked or not, with the seeds of this picture."""
        seeds = {name: row["picture_seed"] for name in SEEDS if name not in self.header.settings}
        return self.header.requested.replace(**{"attack": row["attack"], **seeds})


def stream_runs(root: Path, run: Path | None = None) -> tuple[StreamRun, ...]:
    """Every stream with at least one row below a folder of run folders, or in one ``run`` of it; newest first.

    Damaged folders are left out.
    """
    folders, found = [run] if run is not None else [], list[StreamRun]()
    if run is None and root.is_dir():
        folders = [root, *(root / name for name in read_folder(root).folders)]
    for headers in map(_headers, folders):
        for place, header in headers.items():
            if (header.method, header.columns["protocol"]) == ("rita", "stream"):
                cells = {"rita": place, **_matching_cells(header, headers)}
                modified = (place / "rows.jsonl").stat().st_mtime
                found.append(StreamRun(place.relative_to(root).as_posix(), header, cells, modified))
    return tuple(sorted(found, key=lambda one: -one.last_modified))


def find_stream_run(root: Path, name: str) -> StreamRun:
    """The stream of that name.

    Raises:
        DataError: there is none.
    """
    for one in stream_runs(root):
        if one.name == name:
            return one
    raise DataError("There is no stored run of that name.", "Choose one from the list.")


def _headers(run: Path) -> dict[Path, CellHeader]:
    """Cell folder -> its header; cells without rows or with a damaged header are left out."""
    found: dict[Path, CellHeader] = {}
    for place in sorted((run / "cells").glob("*")):
        try:
            header = CellHeader.read(place)
            complete = {*STREAM_COLUMNS, "method", "protocol"} <= header.columns.keys() and header.names is not None
            if complete and header.requested and (place / "rows.jsonl").stat().st_size > 0:
                found[place] = header
        except (OSError, AttributeError, TypeError, DataError, SettingError):
            continue
    return found


def _matching_cells(header: CellHeader, headers: dict[Path, CellHeader]) -> dict[str, Path]:
    """The other methods' cells on the same pictures and the same views."""
    found: dict[str, Path] = {}
    for place, other in headers.items():
        same = all(other.columns[n] == header.columns[n] for n in STREAM_COLUMNS)
        same = same and all(getattr(other, n) == getattr(header, n) for n in STREAM_FACTS)
        if same and other.method != "rita" and _same_conditions(header, other):
            found.setdefault(other.method, place)
    return {method: found[method] for method in DEFENCES if method in found}


def _same_conditions(header: CellHeader, other: CellHeader) -> bool:
    """Whether all settings that matter to the other method are equal, and the seed if that method is stochastic."""
    try:
        stream, cell = header.cell, other.cell
    except SettingError:  # of another version
        return False
    settings = canonical_settings(cell.method, stream.requested, stream.fixed_seeds)
    same = settings == cell.settings and stream.traffic == cell.traffic
    return same and (stream.seed == cell.seed or not cell.stochastic)
