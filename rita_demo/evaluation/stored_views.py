"""The memories of stored streams as one table: every view that entered, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rita_demo.data import memory_file
from rita_demo.evaluation.rows import run_folders
from rita_demo.evaluation.stream_trajectory import trajectory_of, view_boxes
from rita_demo.evaluation.streams import StreamRun, recorded_streams
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import RememberedView
from rita_demo.records.spreadsheet import csv_bytes

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    *("stream", "id", "picture", "file", "true_class", "attacked", "stored_as", "slot", "view"),
    *("left", "top", "right", "bottom", "entropy", "entered_at", "replaced", "replaced_file", "gain"),
    *("left_at", "replaced_by"),
)


def stored_views(*folders: str | Path) -> pandas.DataFrame:
    """One row per view that entered RITA's memory, of every stream in the folders that ``evaluate`` wrote to (or folders of
    such folders, as ``figures`` takes them), in order, and of memories that the page exported, which are files. A stream
    that several folders have counts once: the one with most pictures. The code of an own attack or defence need not be loaded.

    ``stream``: the stream's title, of a file its name. ``id``: the view's number in its stream. ``picture``: index of its
    picture in the stream, ``file`` the picture's name, ``true_class`` its class, ``attacked`` whether it arrived attacked. ``stored_as``: the
    class that it was stored under, ``slot`` its place there, ``view`` its number among the picture's views; ``left``,
    ``top``, ``right``, ``bottom``: its box as fractions of the picture's square. ``entropy`` in nats. ``entered_at``: the
    index of the picture after which it is in the memory, which is ``picture``. ``replaced``: the id of the view that left
    for it, ``replaced_file`` that one's picture, ``gain`` by how many nats its entropy is lower; ``left_at``: the index of
    the picture that took its place, ``replaced_by`` the id of that one's view. What does not apply is missing (NaN, None).

    Raises:
        DemoError: a folder is not a run folder, a file is no memory, or one is damaged; no folder holds a stream with a memory.
    """
    import pandas

    paths, rows = list(map(Path, folders)), list[tuple[object, ...]]()
    for path in filter(Path.is_file, paths):
        memory = memory_file.unpack(memory_file.read_file(path))
        entered = memory.views()
        boxes = {view.id: memory.box[row] for row, view in entered.items()}
        rows += view_rows(path.name, memory.names, list(entered.values()), boxes)
    for stream in streams_of(run_folders(path for path in paths if not path.is_file())):
        views = trajectory_of(stream).insertions
        rows += view_rows(stream.title, stream.names, views, view_boxes(stream, views))
    if not rows:
        raise DataError(
            "There is no stream of RITA's memory in these folders.", "Measure one with evaluate --protocols stream."
        )
    whole = ("id", "picture", "slot", "view", "entered_at", "replaced", "left_at", "replaced_by")
    return pandas.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(whole, "Int64"))


def streams_of(folders: Iterable[Path]) -> tuple[StreamRun, ...]:
    """The streams of run folders. One that several folders have counts once: the one with most pictures. Raises DataError:
    a run folder is damaged."""
    streams: dict[tuple[object, ...], StreamRun] = {}
    for stream in chain.from_iterable(map(recorded_streams, folders)):
        cell = tuple(stream.header.key.values())
        if cell not in streams or stream.decided > streams[cell].decided:
            streams[cell] = stream
    return tuple(streams.values())


def view_rows(
    title: str, names: Sequence[str], views: Sequence[RememberedView], boxes: Mapping[int, tuple[float, ...]]
) -> list[tuple[object, ...]]:
    """A row of :func:`stored_views` for each of the first views that entered a memory, in order. ``boxes``: id of a view ->
    its box, or () where that is not known; ``title``: of the memory."""
    rows = list[tuple[object, ...]]()
    for view in views:
        gone = (None, None) if view.replaced is None else (view.replaced, views[view.replaced].name)
        truth = names[view.truth] if view.truth >= 0 else ""
        picture = view.id, view.picture, view.name, truth, view.attacked, names[view.label], view.slot, view.view
        later = view.entropy, view.picture, *gone, view.gain, view.left, view.replaced_by
        rows.append((title, *picture, *(boxes[view.id] or (None,) * 4), *later))
    return rows


def stored_views_csv(
    title: str, names: Sequence[str], views: Sequence[RememberedView], boxes: Mapping[int, tuple[float, ...]]
) -> bytes:
    """The same as a file."""
    return csv_bytes([COLUMNS, *view_rows(title, names, views, boxes)])
