"""Run folders read back for the figures: what was measured, and the features of a stream.

Nothing here writes: a run may be going on in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.data import measured
from rita_demo.data.pictures import open_picture
from rita_demo.engine import Engine
from rita_demo.errors import DataError
from rita_demo.evaluation import files, plan
from rita_demo.evaluation.cells import replayed
from rita_demo.evaluation.collection import Collection
from rita_demo.evaluation.plan import Cell, Model
from rita_demo.evaluation.points import points_of, read_points
from rita_demo.evaluation.recordings import Recording, recording, recordings
from rita_demo.evaluation.threat import cell_of
from rita_demo.measuring.gather import MOST, VIEWS_SHOWN, attack_words, thumbnail
from rita_demo.measuring.places import Places
from rita_demo.measuring.streams import check_model, picture_of
from rita_demo.records import Picture
from rita_demo.surveys import Cloud, MeasuredPoint

SHIPPED = ""  # in the place of a run folder's name


def runs(places: Places) -> tuple[str, ...]:
    """Names of the run folders, newest first."""
    try:
        found = [place for place in places.runs.iterdir() if (place / "cells").is_dir()]
        found.sort(key=lambda place: -(place / "cells").stat().st_mtime)
    except OSError:  # there is none, or it is not ours to read
        return ()
    return tuple(place.name for place in found)


def points(places: Places, run: str) -> tuple[MeasuredPoint, ...]:
    """What was measured in a run folder, or with ``run`` = ``SHIPPED`` what came with this copy.

    Raises:
        DataError: ``run`` is not one of :func:`runs` (a name may come from anywhere), or is damaged.
    """
    if run == SHIPPED:
        try:
            return read_points(measured.ABLATIONS)
        except DataError:  # a damaged file must not keep the tab from opening
            return ()
    if run not in runs(places):
        raise DataError(f"There is no run {str(run)[:60]!r}.", "Choose one of the list.")
    return points_of(places.runs / run)


def clouds(places: Places) -> tuple[Recording, ...]:
    """The stored streams that :func:`reading` can show: all but those of an attacker who looks at the
    memory (what that one saw is found by the whole list of pictures alone)."""
    return tuple(one for one in recordings(places.runs) if not one.apart)


def reading(places: Places, name: str, engine: Engine) -> Generator[tuple[int, int], None, Cloud]:
    """A stored stream as a cloud: at most the first ``MOST`` pictures, and the memory after them.

    Yields (pictures done, pictures) while clean pictures are looked at that the run did not keep.

    Raises:
        DataError: no such stream, no stored features, or a clean picture that is not there any more.
        SettingError: the engine is not the model that was streamed.
    """
    one = recording(places.runs, name)
    check_model(engine, one)
    header, rows, cell = one.header, one.rows()[:MOST], cell_of(one.header)
    run, names = one.cells["rita"].parents[1], tuple(header["names"])
    collection = Collection(one.columns["dataset"], "", names, (), 0, 0)
    model = Model(one.columns["backbone"], header["weights"])
    seen = _features(run, cell, collection, model, engine.info.width)
    before = _features(run, cell.clean, collection, model, engine.info.width)
    ids, hit = [row["picture"] for row in rows], [row["attack"] != "none" for row in rows]
    if not rows or any(i not in (seen if was else before) for i, was in zip(ids, hit)):
        raise DataError(
            "The features of this stream are not all stored.",
            "Run the same evaluate again into this folder.",
        )

    def clean_square(picture: str) -> Picture:
        square, side = cell.asked.square, engine.info.side
        return picture_of(places, one, picture, square=square, side=side)

    for done, row in enumerate(rows):
        if row["picture"] not in before:
            yield done, len(rows)
            own = one.settings(row).but(views=1)
            before[row["picture"]] = engine.look(clean_square(row["picture"]), own).features
    bank, attacked = (
        engine.classes(names, cell.asked),
        np.stack([(seen if was else before)[i] for i, was in zip(ids, hit)]),
    )
    return Cloud(
        title=f"{len(ids)} pictures of {collection.dataset}, {attack_words(cell.asked)}, {engine.info.title}",
        bank=bank,
        ids=tuple(ids),
        label=np.array([names.index(row["label"]) for row in rows]),
        clean=np.stack([before[i][0] for i in ids]),
        attacked=attacked[:, 0],
        views=attacked[:, 1 : 1 + VIEWS_SHOWN],
        memory=replayed(one.cells["rita"], engine.empty_cache(bank, cell.settings), rows),
        thumbs=_thumbs(
            run / "attacked" / plan.attack_key(cell, collection, model), ids, clean_square
        ),
        whole=_whole(hit),
    )


def _whole(hit: list[bool]) -> str:
    """What the delivered pictures are, in plural."""
    if all(hit):
        return "attacked pictures"
    return f"pictures, {sum(hit)} of {len(hit)} attacked" if any(hit) else "clean pictures"


def _features(
    run: Path, cell: Cell, collection: Collection, model: Model, width: int
) -> dict[str, np.ndarray]:
    """Picture -> its views (N, D), unit length; only those whose line is there."""
    folder = run / "looks" / plan.look_key(cell, collection, model)
    rows: list[dict[str, Any]] = files.read_lines(folder / "looks.jsonl")
    if not rows:
        return {}
    shape = (cell.asked.views, width)
    size = shape[0] * shape[1]
    data = np.fromfile(folder / "features.f16", "<f2", count=len(rows) * size)
    found = {}
    for place, row in enumerate(rows[: len(data) // size]):
        one = data[place * size : (place + 1) * size].reshape(shape).astype(np.float32)
        found[row["id"]] = one / np.linalg.norm(one, axis=1, keepdims=True).clip(1e-12)
    return found


def _thumbs(
    folder: Path, ids: list[str], clean_square: Callable[[str], Picture]
) -> np.ndarray | None:
    """(n, s, s, 3) uint8 of the stored attacked squares, of the others as they came; None when some picture
    is not there any more."""
    places = {row["id"]: at for at, row in enumerate(files.read_lines(folder / "attacked.jsonl"))}
    paths = [folder / f"{places.get(one, -1):06d}.png" for one in ids]
    try:
        squares = [
            open_picture(path) if path.is_file() else clean_square(one)
            for one, path in zip(ids, paths)
        ]
    except DataError:
        return None
    return np.stack([thumbnail(square.pixels) for square in squares])
