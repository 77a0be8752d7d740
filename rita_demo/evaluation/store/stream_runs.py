"""Stored streams found in run folders, made by the command line or by the page."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from rita_demo.attacks import ATTACKS, differentiated
from rita_demo.data.folders import read_folder
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.planned_cells import canonical_settings
from rita_demo.evaluation.store.cell_file import CellHeader, Row, cache_after_rows
from rita_demo.evaluation.store.files import read_lines
from rita_demo.records import CacheState
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.measurement import MEMORY_TEXT, method_and_memory

STREAM_COLUMNS = ("dataset", "split", "backbone", "attack", "budget", "steps")  # shared by the cells of one stream
STREAM_FACTS = ("names", "weights", "pictures")  # likewise


def attack_words(attack: str) -> str:
    """An attack's name in words, without a comma: "PGD", "adaptive against RITA"; an unknown name stays."""
    name, _, against = attack.partition(":")
    title = ATTACKS[name].column_title if name in ATTACKS else name
    return f"{title} against {DEFENCES[against].title if against in DEFENCES else against}" if against else title


def traffic_words(columns: Mapping[str, Any]) -> str:
    """What arrived, by the columns of a cell: "clean", "PGD 4/255 on 50 %"."""
    attack, *share = re.split(r":(?=\d+$)", str(columns["attack"]))
    text = "clean" if attack == "none" else attack_words(attack) + f" {columns['budget']}/255" * bool(columns["budget"])
    return text + (f" on {share[0]} %" if share else "")


@dataclass(frozen=True)
class StreamRun:
    """One stream: RITA's cell with its cache, and the other methods' cells on the same pictures.

    ``name``: the path below the runs folder, which identifies it on the page. ``cells``: method -> folder; a method whose
    memory is off or reset, beside the stream, is ``method:protocol`` (``rita:off``).
    ``last_modified``: when its last row was written, in seconds since 1970; ``decided``: its number of rows. ``stored``: it
    comes with this project.
    """

    name: str
    header: CellHeader
    cells: dict[str, Path]
    last_modified: float = 0.0
    decided: int = 0
    stored: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The K class names."""
        return tuple(self.header.names)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the tables: dataset, split, model, attack, budget, ..."""
        return self.header.columns

    @property
    def place(self) -> str:
        """The dataset's name, or its folder below the data folder (untrusted)."""
        return self.header.place

    @property
    def title(self) -> str:
        """What was streamed, in one line."""
        c, names = self.columns, f"{len(self.names)} class names"
        traffic_text = traffic_words(c)
        traffic_text += ", class by class" if self.header.traffic.get("order") == "classes" else ""
        told = ("attacked_share", "stream_order", "views")
        shown = [f"{name}={value}" for name, value in self.header.non_default.items() if name not in told]
        settings = f" ({', '.join(shown)})" if shown else ""
        dataset = str(c["dataset"]).removesuffix(PRESENT_SUFFIX)
        names += " with pictures" if dataset != c["dataset"] else ""
        pictures = f"{self.header.pictures} pictures, {self.header.settings['views']} views each"
        return f"{dataset} {c['split']}, {names}, {pictures}, {traffic_text}, seed {self.header.seed}, {c['backbone']}{settings}"

    @property
    def about(self) -> str:
        """Where it is from, and whether it is finished."""
        if self.stored:
            return "stored example"
        written = datetime.fromtimestamp(self.last_modified).strftime("%Y-%m-%d %H:%M")
        left = self.header.pictures - self.decided
        state = f"unfinished: {self.decided} of {self.header.pictures} pictures decided" if left > 0 else "finished"
        return f"{state}, {written}, folder {PurePosixPath(self.name).parts[0]}"

    @property
    def titles(self) -> dict[str, str]:
        """The methods' titles, in the order of the tables; of one that is not loaded the stored title."""
        return {name: self._title(name) for name in sorted(self.cells, key=_table_order)}

    def _title(self, name: str) -> str:
        method, protocol = method_and_memory(name)
        title = DEFENCES[method].title if method in DEFENCES else CellHeader.read(self.cells[name]).title
        return f"{title}, {MEMORY_TEXT[protocol]}" if protocol else title

    @property
    def attack_uses_cache(self) -> bool:
        """Whether the attack uses RITA's cache: the pictures of the other methods were then attacked with an empty
        one, and differ. An attack that is not loaded does not say."""
        try:
            return differentiated(self.header.requested) == "defence"
        except SettingError:
            return False

    def rows(self, method: str = "rita") -> list[Row]:
        """The rows of a method, named as in ``cells``, that are written so far."""
        return read_lines(self.cells[method] / "rows.jsonl")

    def cache_after(self, empty: CacheState, pictures: int) -> CacheState:
        """RITA's cache after so many pictures; ``empty``: the cache before the first one."""
        return cache_after_rows(self.cells["rita"], empty, self.rows()[:pictures])


def stream_runs(root: Path, run: Path | None = None) -> tuple[StreamRun, ...]:
    """Every stream with at least one row below a folder of run folders, or in one ``run`` of it; newest first.

    Damaged folders are left out. The code of an own attack need not be loaded.
    """
    folders = [run] if run is not None else []
    if run is None and root.is_dir():
        folders = [root, *(root / name for name in read_folder(root).folders)]
    streams = [one for headers in map(_headers, folders) for one in _streams(root, headers)]
    return tuple(sorted(streams, key=lambda one: -one.last_modified))


def recorded_streams(run: Path) -> tuple[StreamRun, ...]:
    """Every stream with rows of a run folder, also where the code of its attack is not loaded: what was stored needs none.

    Raises:
        DataError: a header is damaged.
    """
    with_rows = (file.parent for file in sorted((run / "cells").glob("*/rows.jsonl")) if file.stat().st_size > 0)
    return _streams(run, {place: CellHeader.read(place) for place in with_rows if (place / "header.json").is_file()})


def _streams(root: Path, headers: dict[Path, CellHeader]) -> tuple[StreamRun, ...]:
    """The streams among the cells of one run folder, which is ``root`` or below it."""
    streams = []
    for place, header in headers.items():
        if (header.method, header.columns["protocol"]) == ("rita", "stream"):
            cells = {"rita": place, **_matching_cells(header, headers)}
            rows = place / "rows.jsonl"
            decided = rows.read_bytes().count(b"\n")
            name = place.relative_to(root).as_posix()
            streams.append(StreamRun(name, header, cells, rows.stat().st_mtime, decided))
    return tuple(streams)


def stream_choices(runs: Iterable[StreamRun]) -> list[tuple[str, str]]:
    """(text, name) of streams for a menu; no text stands twice: those that read alike end with the name of their cell."""
    listed = [
        (f"{'Stored example: ' * one.stored}{one.title}" + f"; {one.about}" * (not one.stored), one) for one in runs
    ]
    count = Counter(text for text, _ in listed)
    cell = (one.name.rpartition("_")[2] for _, one in listed)
    return [(text + f", cell {end}" * (count[text] > 1), one.name) for (text, one), end in zip(listed, cell)]


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
    headers: dict[Path, CellHeader] = {}
    for place in sorted((run / "cells").glob("*")):
        try:
            header = CellHeader.read(place)
            if header.requested_clean and (place / "rows.jsonl").stat().st_size > 0:
                headers[place] = header
        except (OSError, AttributeError, TypeError, DataError, SettingError):
            continue
    return headers


def _matching_cells(header: CellHeader, headers: dict[Path, CellHeader]) -> dict[str, Path]:
    """The other cells on the same pictures and the same views, named as in :class:`StreamRun`."""
    keeping = {other.method for other in headers.values() if other.columns["protocol"] == "stream"}
    cells: dict[str, Path] = {}
    for place, other in headers.items():
        same = all(other.columns[n] == header.columns[n] for n in STREAM_COLUMNS)
        same = same and all(getattr(other, n) == getattr(header, n) for n in STREAM_FACTS)
        protocol, method = other.columns["protocol"], other.method
        remembers = DEFENCES[method].uses_cache if method in DEFENCES else method in keeping
        name = f"{method}:{protocol}" if remembers and protocol != "stream" else method
        if same and name != "rita" and _same_conditions(header, other):
            cells.setdefault(name, place)
    return {name: cells[name] for name in sorted(cells, key=_table_order)}


def _table_order(name: str) -> tuple[int, int]:
    """The place of a cell of a stream in the tables: after its method, what has its memory off or reset."""
    method, protocol = method_and_memory(name)
    place = list(DEFENCES).index(method) if method in DEFENCES else len(DEFENCES)
    return place, ["", *MEMORY_TEXT].index(protocol)


def _same_conditions(header: CellHeader, other: CellHeader) -> bool:
    """Whether all settings that matter to the other method are equal, apart from its memory's ``protocol``, and the seed if
    that method is stochastic."""
    try:
        stream, cell = header.cell, other.cell
    except SettingError:  # code that is not loaded: only what was asked for alike
        asked, also = ({n: v for n, v in one.settings.items() if n != "protocol"} for one in (header, other))
        return (asked, header.seed, header.traffic, header.target) == (also, other.seed, other.traffic, other.target)
    asked_for = stream.requested.replace(protocol=cell.settings.protocol)
    settings = canonical_settings(cell.method, asked_for, stream.fixed_seeds)
    same = settings == cell.settings and stream.traffic == cell.traffic
    return same and (stream.seed == cell.seed or not cell.stochastic)
