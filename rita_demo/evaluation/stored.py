"""Run folders read back for the figures: what was measured, and the features of a stream.

Nothing here writes: a run may be going on in another process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.data.pictures import open_picture
from rita_demo.engine import Engine
from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation import files, plan
from rita_demo.evaluation.cells import replayed
from rita_demo.evaluation.collection import Collection
from rita_demo.evaluation.gather import MOST, VIEWS_SHOWN, attack_words, thumbnail
from rita_demo.evaluation.plan import Cell, Model
from rita_demo.evaluation.request import METHODS, SEEDS
from rita_demo.evaluation.tables import line_of, pooled, read_header
from rita_demo.records import Cloud, MeasuredCell, MeasuredPoint
from rita_demo.settings import KNOBS, Settings

_COLUMNS = tuple(field.name for field in fields(MeasuredCell))


def home() -> Path:
    """Where run folders are looked for: ``RITA_RUNS``, else ``runs`` where the server was started."""
    return Path(os.environ.get("RITA_RUNS") or "runs")


def runs(root: Path | None = None) -> tuple[str, ...]:
    """Names of the run folders below ``root``, newest first."""
    root = root or home()
    try:
        found = [place for place in root.iterdir() if (place / "cells").is_dir()]
        found.sort(key=lambda place: -(place / "cells").stat().st_mtime)
    except OSError:  # there is none, or it is not ours to read
        return ()
    return tuple(place.name for place in found)


def folder_of(name: str, root: Path | None = None) -> Path:
    """The run folder of that name, which must be one of :func:`runs`: a name may come from anywhere."""
    if name not in runs(root):
        raise DataError(f"There is no run {str(name)[:60]!r}.", "Choose one of the list.")
    return (root or home()) / name


def points(folder: Path) -> tuple[MeasuredPoint, ...]:
    """Every measured cell of a run folder with the settings that matter for it; seeds pooled.

    Cells whose settings this version does not know are left out.
    """
    found = []
    for cells in pooled(folder):
        try:
            cell = cell_of(cells[0][0])
        except SettingError:
            continue
        line = line_of(cells)
        row = METHODS[cell.method]
        knobs = {n: v for n, v in cell.settings.as_dict().items() if KNOBS[n].group in row.groups}
        measured = MeasuredCell(**{name: getattr(line, name) for name in _COLUMNS})
        found.append(MeasuredPoint(measured, {n: v for n, v in knobs.items() if n not in SEEDS}))
    return tuple(found)


def cell_of(header: dict[str, Any]) -> Cell:
    """The cell a header was written for.

    Raises:
        SettingError: it names a method or setting that this version does not have.
    """
    method, knobs = header["columns"]["method"], header["knobs"]
    if method not in METHODS or not set(knobs) <= set(KNOBS):
        raise SettingError("This run was made by another version.", "Measure it again.")
    asked = Settings(**knobs)
    fixed = frozenset(name for name in SEEDS if name in knobs)
    return Cell(method, header["seed"], asked, plan.canonical(method, asked, fixed), fixed)


@dataclass(frozen=True)
class Stream:
    """A stored stream that can be shown as a cloud: its folder below ``cells`` and a title."""

    name: str
    title: str
    pictures: int


def streams(folder: Path) -> tuple[Stream, ...]:
    """The stored streams of a run: RITA with its memory kept, under an attack."""
    found = []
    for place in sorted((folder / "cells").iterdir()):
        if not (place / "header.json").is_file():
            continue
        header = read_header(place)
        columns = header["columns"]
        if columns["protocol"] != "stream" or columns["attack"] == "none":
            continue
        special = "".join(f", {name}={value}" for name, value in header["special"].items())
        title = (
            f"{columns['dataset']} ({columns['split']}), {columns['attack']} {columns['budget']}/255, "
            f"{columns['steps']} steps, seed {header['seed']}{special}"
        )
        found.append(Stream(place.name, title, header["pictures"]))
    return tuple(found)


def cloud(folder: Path, name: str, engine: Engine) -> Cloud:
    """A stored stream as a cloud: at most the first ``MOST`` pictures, and the memory after them.

    Raises:
        DataError: no such stream, other model weights than the engine's, or no stored features.
    """
    if name not in {one.name for one in streams(folder)}:
        raise DataError(f"There is no stream {name[:60]!r} in this run.", "Choose one of the list.")
    place = folder / "cells" / name
    header, rows = read_header(place), files.read_lines(place / "rows.jsonl")[:MOST]
    if header["weights"] != engine.weights_key():
        raise DataError(
            f"This stream was made with other weights of {header['columns']['backbone']}.",
            "Choose that model first (the menu at the top), or measure again.",
        )
    cell, names = cell_of(header), tuple(header["names"])
    collection = Collection(header["columns"]["dataset"], "", names, (), 0, 0)
    model = Model(header["columns"]["backbone"], header["weights"])
    clean_cell = Cell(
        cell.method, cell.seed, cell.asked.but(attack="none"), cell.settings, cell.fixed
    )
    shape = (cell.asked.views, engine.info.width)
    seen = _features(folder / "looks" / plan.look_key(cell, collection, model), shape)
    before = _features(folder / "looks" / plan.look_key(clean_cell, collection, model), shape)
    ids = [row["picture"] for row in rows]
    if not rows or any(one not in seen or one not in before for one in ids):
        raise DataError(
            "The features of this stream, clean and attacked, are not all stored.",
            "Run evaluate with --attack none,pgd into this folder first.",
        )
    bank = engine.classes(names, cell.asked)
    attacked = np.stack([seen[one] for one in ids])
    return Cloud(
        title=f"{len(ids)} pictures of {collection.dataset}, {attack_words(cell.asked)}, {engine.info.title}",
        bank=bank,
        ids=tuple(ids),
        label=np.array([names.index(row["label"]) for row in rows]),
        clean=np.stack([before[one][0] for one in ids]),
        attacked=attacked[:, 0],
        views=attacked[:, 1 : 1 + VIEWS_SHOWN],
        memory=replayed(place, engine.empty_cache(bank, cell.settings), rows),
        thumbs=_thumbs(folder / "attacked" / plan.attack_key(cell, collection, model), ids),
    )


def _features(folder: Path, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """Picture -> its views (N, D), unit length; only those whose line is there."""
    rows = files.read_lines(folder / "looks.jsonl")
    if not rows:
        return {}
    size = shape[0] * shape[1]
    data = np.fromfile(folder / "features.f16", "<f2", count=len(rows) * size)
    found = {}
    for place, row in enumerate(rows[: len(data) // size]):
        one = data[place * size : (place + 1) * size].reshape(shape).astype(np.float32)
        found[row["id"]] = one / np.linalg.norm(one, axis=1, keepdims=True).clip(1e-12)
    return found


def _thumbs(folder: Path, ids: list[str]) -> np.ndarray | None:
    """(n, s, s, 3) uint8 of the stored attacked squares; None when they are not all there."""
    places = {row["id"]: at for at, row in enumerate(files.read_lines(folder / "attacked.jsonl"))}
    paths = [folder / f"{places.get(one, -1):06d}.png" for one in ids]
    if not all(path.is_file() for path in paths):
        return None
    return np.stack([thumbnail(open_picture(path).pixels) for path in paths])
