"""One cell on disk: ``header.json``, ``rows.jsonl`` and, for a stream, the views that entered its cache; ``failed.jsonl``, where
a file of the user's own failed.

The header has threat model, settings, pictures and machine.

A row is one picture and one method: ``label``, ``answer`` and ``target`` are class names (``target`` "" for an
untargeted attack); ``linf`` in 1/255; ``already_wrong``: CLIP was wrong on the clean square (None without an attack);
``gradient``: the norm of the attack's first gradient (None without one);
``picture_seed`` repeats the picture with ``explain --seed``; ``seconds`` per stage.

A cache is never stored as a whole. Every row lists the views that entered (class, slot, view, entropy), and
``memory.f32`` holds their features in the same order: replaying them gives the cache bit for bit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.attacks import differentiated, get_attack
from rita_demo.attacks.adaptive import AGAINST
from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.data.folders import is_leftover
from rita_demo.data.pictures import square_words
from rita_demo.defences.registry import DEFENCES, attacker_sentences, plugin_sentences
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import PictureSet, missing_text, split_note
from rita_demo.evaluation.planned_cells import COLUMNS, FORMAT, Cell, ModelFacts
from rita_demo.evaluation.request import NEXT_CLASS, SEEDS, Traffic
from rita_demo.evaluation.store import files
from rita_demo.process.output_file import replace_file
from rita_demo.process.text_file import read_text
from rita_demo.records import CacheState, CacheUpdate, DefenceFault, ThreatModel, Trace
from rita_demo.records.errors import DataError, SettingError, join_names, refuse_earlier
from rita_demo.records.grouping import group_by
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS, Settings, in_groups, is_complete

UNTARGETED_GOAL = "away from the true class of every picture"
FAILED = "failed.jsonl"  # instead of a row: ``picture``, ``fault``, ``detail``
MEASURE_AGAIN = "Measure again into a new folder, with --out; this one stays as it is."
MAX_NAMED = 5  # pictures that were left out
NEXT_CLASS_GOAL = "towards the class after the true one in the list of names (after the last comes the first)"
Row = dict[str, Any]  # one line of rows.jsonl


@dataclass(frozen=True, kw_only=True)
class CellHeader:
    """What was measured: ``header.json``, in its order.

    ``columns``: of the tables. ``pool``: the same for cells that differ in the seed alone. ``settings``: as they were
    requested, without the seeds that every picture has of its own. ``non_default``: what differs from the recommended
    settings. ``pictures`` of ``available`` ones were chosen; ``left_out``: picture -> why it cannot be opened.
    ``missing``: number of pictures that are not there of the ``listed`` ones, both 0 where all are.
    ``names``: the K ``classes``. ``width``: D, of the features. ``folder``: the
    dataset's, below the data folder, where it is not its name. ``method_title``: what people read, also where a user's own
    method is not loaded.
    """

    format: int = FORMAT
    columns: dict[str, Any]
    pool: str
    seed: int
    traffic: dict[str, JsonValue]
    target: str
    seeds: str
    threat_model: dict[str, Any]
    settings: dict[str, Any]
    non_default: dict[str, JsonValue]
    pictures: int
    available: int
    left_out: dict[str, str]
    missing: int
    listed: int
    classes: int
    classes_present: int
    names: Sequence[str]
    weights: str
    note: str
    width: int
    machine: dict[str, str]
    folder: str
    method_title: str

    @classmethod
    def of(cls, cell: Cell, picture_set: PictureSet, model: ModelFacts) -> CellHeader:
        """The header of a cell on these pictures with this model."""
        info = model.info
        columns = {name: getattr(cell.settings, name) for name in COLUMNS} | {"steps": cell.steps}
        columns |= {
            "attack": cell.attack_label,
            "dataset": picture_set.dataset,
            "split": picture_set.split,
            "method": cell.method,
            "backbone": model.name,
            "settings": planned_cells.settings_hash(cell, picture_set, model),
        }
        free = [name for name in SEEDS if name not in cell.fixed_seeds]
        requested = with_used_descriptions(cell.requested, picture_set.names)
        return cls(
            columns=columns,
            pool=planned_cells.digest(columns),
            seed=cell.seed,
            traffic=cell.traffic.as_header(),
            target=cell.target,
            seeds="every picture has its own, made from the seed and its name" if free else "given by hand",
            threat_model=asdict(threat_of(cell, info.side)),
            settings={n: v for n, v in requested.as_dict().items() if n not in free},
            non_default=planned_cells.non_default(cell, picture_set.names),
            pictures=len(picture_set.items),
            available=picture_set.available,
            left_out={one.id: one.reason for one in picture_set.unusable},
            missing=len(picture_set.missing),
            listed=picture_set.listed,
            classes=len(picture_set.names),
            classes_present=picture_set.classes_present,
            names=list(picture_set.names),
            weights=model.weights,
            note=info.note,
            width=info.width,
            machine={"device": info.device, "precision": info.precision},
            folder=picture_set.folder,
            method_title=DEFENCES[cell.method].full_title,
        )

    @classmethod
    def read(cls, folder: Path) -> CellHeader:
        """The header of a cell's folder; its ``non_default`` settings are those that differ from what is recommended now.

        Raises:
            DataError: it is missing or damaged, or of an earlier version.
        """
        try:
            stored = json.loads(read_text(folder / "header.json"))
            _refuse_earlier_header(stored, folder.absolute().parents[1].name)
            header = cls(**stored)
            with suppress(SettingError):  # its method is not loaded: as it was stored
                header = replace(header, non_default=planned_cells.non_default(header.cell, header.names))
            return header
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"The header of {folder.name} is damaged.", "Delete that folder and evaluate again."
            ) from error

    @property
    def method(self) -> str:
        return self.columns["method"]

    @property
    def title(self) -> str:
        """The method's title, or the stored one where the method is not loaded."""
        defence = DEFENCES.get(self.method)
        return defence.full_title if defence is not None else self.method_title or self.method

    @property
    def requested(self) -> Settings:
        """The settings that are loaded; seeds count only where they were given explicitly.

        Raises:
            SettingError: the code of its attack, or of the defence that this knows, is not loaded.
        """
        try:
            return Settings(**{n: v for n, v in self.settings.items() if n in SETTINGS})
        except SettingError as error:
            _ = self.requested_clean  # where more than the attack is wrong, this says it
            attack = re.sub(r":\d+$", "", str(self.columns["attack"]))  # without its share of the pictures
            raise SettingError(
                f"The attack {attack[:60]!r} needs code that is not loaded here, so that no picture "
                "of it can be attacked again.",
                "Start with --methods FILE.py:NAME or --attack FILE.py:NAME.",
            ) from error

    @property
    def requested_clean(self) -> Settings:
        """The settings without those of the attack, whose code need not be loaded."""
        known = {n: v for n, v in self.settings.items() if n in SETTINGS and n != AGAINST}
        return Settings(**(known | {"attack": "none"}))

    @property
    def cell(self) -> Cell:
        """The cell that was measured.

        Raises:
            SettingError: it names a method or setting that is not loaded.
        """
        if self.method not in DEFENCES or not set(self.settings) <= set(SETTINGS):
            raise SettingError("This run has a method or a setting that is not loaded here.", "Measure it again.")
        requested = with_used_descriptions(self.requested, self.names)
        fixed = frozenset(name for name in SEEDS if name in self.settings)
        settings = planned_cells.canonical_settings(self.method, requested, fixed)
        return Cell(self.method, self.seed, requested, settings, fixed, Traffic.from_header(self.traffic), self.target)

    @property
    def place(self) -> str:
        """The dataset's name, or its folder below the data folder (untrusted)."""
        return str(self.folder or self.columns["dataset"])

    def settings_for(self, row: Row) -> Settings:
        """The settings that repeat one of its rows: attacked or not, with the seeds of this picture."""
        seeds = {name: row["picture_seed"] for name in SEEDS if name not in self.settings}
        return (self.requested_clean if row["attack"] == "none" else self.requested).replace(**seeds)

    def view_settings_for(self, row: Row) -> Settings:
        """The settings that cut the views of one of its rows; others are the defaults, so that no attack need be loaded."""
        views = in_groups("views")
        seeds = {n: row["picture_seed"] for n in views if n in SEEDS}
        return Settings(**(seeds | {n: self.settings[n] for n in views if n in self.settings}))

    @property
    def omission(self) -> str:
        """Sentences on the pictures that were left out, on missing ones and on a random split; "" for none."""
        names = list(self.left_out)
        sentences = [split_note(str(self.columns["dataset"]), str(self.columns["split"]))]
        sentences += [missing_text(self.missing, self.listed)] if self.missing else []
        sentences += [f"Left out, because they cannot be opened: {join_names(names, MAX_NAMED)}."] if names else []
        return " ".join(filter(None, sentences))


def threat_of(cell: Cell, side: int) -> ThreatModel:
    """What is attacked, with which knowledge and budget. ``side``: of the model's input, in pixels."""
    row, settings = get_attack(cell.requested.attack), cell.settings
    attacked = row.name != "none"
    return ThreatModel(
        attack=row.name,
        budget=settings.budget,
        steps=cell.steps,
        seed=cell.seed,
        square=settings.square,
        side=side if settings.square == "model" else 0,  # 0: that of each picture
        goal=_goal(cell)[0] if attacked else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=(_sentences(cell, side) if attacked else ("No attack: clean pictures.",))
        + plugin_sentences([cell.method], cell.attack_settings),
    )


def _goal(cell: Cell) -> tuple[str, str | None]:
    """The goal of the attack in words, and the target class, if there is one."""
    if cell.target == NEXT_CLASS:
        return NEXT_CLASS_GOAL, "the next class"
    return (f"towards “{cell.target}”", cell.target) if cell.target else (UNTARGETED_GOAL, None)


def _sentences(cell: Cell, side: int) -> tuple[str, ...]:
    settings = cell.requested
    where = f"on {square_words(settings.square, side if settings.square == 'model' else None)}"
    goal, aim = _goal(cell)
    sentences = get_attack(settings.attack).threat_sentences(settings, goal, where, aim)
    if cell.target not in ("", NEXT_CLASS):
        sentences += (f"Pictures of {cell.target!r} itself are left out of everything measured with it.",)
    sentences += attacker_sentences(cell.attack_settings)
    if differentiated(settings) == "defence" and not cell.attack_uses_cache:
        sentences += ("The attack uses an empty memory for every picture.",)
    if (share := cell.traffic.share) != 100:
        sentences += (
            f"Mixed traffic: {share} % of the pictures, chosen by the seed, are attacked; the others are clean.",
        )
    return sentences


@dataclass
class RowWriter:
    """Takes the rows of a cell, in memory: ``columns`` of its tables, ``cache`` after the last row (None without a stream),
    ``count``: index of the first picture without a row or a failure on disk; ``decided``: RITA's decisions on pictures without a row."""

    columns: dict[str, Any]
    cache: CacheState | None
    count: int
    lines: list[tuple[Row, bytes]] = field(default_factory=list)
    decided: dict[int, tuple[Trace, CacheState]] = field(default_factory=dict)

    def append(self, row: Row, change: CacheUpdate | None, after: CacheState | None) -> None:
        """Add the row of the next picture; ``change`` and ``after``: the cache update and the updated cache."""
        features = b""
        if self.cache is not None and after is not None and change is not None:
            row = row | {"entered": [(e.label, e.slot, e.view, e.entropy) for e in change.events]}
            features = b"".join(after.features[e.label, e.slot].astype("<f4").tobytes() for e in change.events)
            self.cache = after
        self.write(row, features)

    def fail(self, picture: str, fault: DefenceFault) -> None:
        """The next picture has no row, because a file of the user's own failed; the cache stays as it is."""
        self.write({"picture": picture, "fault": fault.sentence, "detail": fault.detail}, b"")

    def write(self, line: Row, features: bytes) -> None:
        """Add a row as it is stored, or a failure, and the features that entered the cache."""
        self.lines.append((line, features))


class CellFile(RowWriter):
    """A cell's folder, opened to resume; ``failed``: number of pictures without an answer; ``fault``: why the last of them
    has none, "" before there is one."""

    def __init__(self, folder: Path, header: CellHeader, cache: CacheState | None) -> None:
        self._rows, self._features = folder / "rows.jsonl", folder / "memory.f32"
        folder.mkdir(parents=True, exist_ok=True)
        _write_header(folder / "header.json", header)
        files.truncate_partial_line(self._rows)
        rows = files.read_lines(self._rows)
        self._failed = folder / FAILED
        files.truncate_partial_line(self._failed)
        if not rows:  # without any answer it begins anew: a package may be installed by now
            self._failed.unlink(missing_ok=True)
        self.failed, self.fault = files.count_lines(self._failed), ""
        super().__init__(header.columns, cache, len(rows) + self.failed)
        if cache is not None:
            views = sum(len(row["entered"]) for row in rows)
            files.truncate(self._features, views * cache.features.shape[2] * 4)
            self.cache = cache_after_rows(folder, cache, rows)

    def write(self, line: Row, features: bytes) -> None:
        """The features are written first, then the line that counts them."""
        if features:
            files.append_bytes(self._features, features)
        failed = "fault" in line
        files.append_line(self._failed if failed else self._rows, line)
        self.count, self.failed, self.fault = self.count + 1, self.failed + failed, line.get("fault", self.fault)


def _write_header(path: Path, header: CellHeader) -> None:
    """Write the header of a new cell. A stored one stays, apart from the pictures that are left out or missing: a broken
    file may have been added or removed beside the same pictures."""
    content = asdict(header)
    beside = {name: content[name] for name in ("left_out", "missing", "listed")}
    if path.is_file():
        try:
            stored = json.loads(path.read_text("utf-8"))
            unchanged = beside.items() <= stored.items()
        except (OSError, ValueError, AttributeError):  # its readers say that it is damaged
            return
        if unchanged:
            return
        content = stored | beside
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(path, (text + "\n").encode())


@dataclass(frozen=True)
class SeedGroup:
    """The stored cells that differ in the seed alone: the header and the rows of each, and the number of pictures that have
    none, because a file of the user's own failed."""

    headers: tuple[CellHeader, ...]
    rows_by_seed: tuple[list[Row], ...]
    failed: tuple[int, ...] = ()

    @property
    def header(self) -> CellHeader:
        """That of the first; they differ in the seed alone."""
        return self.headers[0]

    @property
    def rows(self) -> list[Row]:
        """The rows of all seeds."""
        return [row for rows in self.rows_by_seed for row in rows]


def seed_groups(*folders: Path) -> list[SeedGroup]:
    """The cells that have rows, of :func:`run_folders`. A cell that several folders have counts once: the one with most
    rows.

    Raises:
        DataError: a folder is not a run folder, or one of its files is damaged.
    """
    cells: dict[str, tuple[CellHeader, list[Row], int]] = {}
    for folder in run_folders(folders):
        for place in sorted((folder / "cells").iterdir()):
            rows = files.read_lines(place / "rows.jsonl") if (place / "header.json").is_file() else []
            if len(rows) > (len(cells[place.name][1]) if place.name in cells else 0):
                failed = files.count_lines(place / FAILED)
                cells[place.name] = CellHeader.read(place), rows, failed
    return [SeedGroup(*zip(*same)) for same in group_by(cells.values(), lambda cell: cell[0].pool).values()]


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The run folders among ``paths`` and directly below them.

    Raises:
        DataError: a path is neither.
    """
    folders: list[Path] = []
    for path in paths:
        below = [place.parent for place in sorted(path.glob("*/cells")) if not is_leftover(place.parent.name)]
        if not (path / "cells").is_dir() and not below:
            raise DataError(
                f"There are no measurements in the folder {path.name or path}.",
                "Name the folder that evaluate wrote to.",
            )
        folders += [path] if (path / "cells").is_dir() else below
    return list(dict.fromkeys(folders))


def refuse_earlier_run(run: Path) -> None:
    """Raises DataError where a run folder has cells of an earlier version: the new ones would stand beside them, measured
    again. A damaged header says so to its readers."""
    for path in run.glob("cells/*/header.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            _refuse_earlier_header(json.loads(read_text(path)), run.name)


def _refuse_earlier_header(stored: dict[str, Any], run: str) -> None:
    if stored["format"] != FORMAT or not is_complete(stored["settings"]):
        refuse_earlier(f"The run folder {run}", MEASURE_AGAIN)


def cache_after_rows(folder: Path, empty: CacheState, rows: list[Row]) -> CacheState:
    """The cache of a cell after its first ``rows``; ``empty`` is the cache before them."""
    count = sum(len(row["entered"]) for row in rows)
    features = iter(inserted_features(folder, count, empty.features.shape[2]))
    arrays = {name: getattr(empty, name).copy() for name in ("features", "entropy", "born", "view", "count")}
    state = replace(empty, **arrays, pictures=empty.pictures + len(rows))
    for born, row in enumerate(rows):
        for label, slot, view, entropy in row["entered"]:
            state.features[label, slot] = next(features)
            state.entropy[label, slot] = entropy
            state.born[label, slot] = empty.pictures + born
            state.view[label, slot] = view
            state.count[label] = max(int(state.count[label]), slot + 1)
    return state


def inserted_features(folder: Path, count: int, width: int) -> np.ndarray:
    """The features of the first ``count`` views that entered a cell's cache: (count, D) float32.

    Raises:
        DataError: there are fewer of them than its rows say.
    """
    path = folder / "memory.f32"
    data = np.fromfile(path, "<f4", count * width) if count and path.is_file() else np.zeros(0, "<f4")
    if len(data) < count * width:
        raise DataError(
            f"The memory of {folder.name} is shorter than its rows say.",
            "Delete that folder inside the run folder and evaluate again.",
        )
    return data.reshape(count, width)
