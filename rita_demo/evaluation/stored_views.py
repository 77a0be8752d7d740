"""The memories of stored streams as one table: every view that entered, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.evaluation.store.cell_file import run_folders
from rita_demo.evaluation.store.stream_runs import StreamRun, recorded_streams
from rita_demo.evaluation.stream_trajectory import trajectory_of, view_boxes
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
    such folders, as ``figures`` takes them), in order. A stream that several folders have counts once: the one with most
    pictures. The code of an own attack or defence need not be loaded.

    ``stream``: the stream's title. ``id``: the view's number in its stream. ``picture``: index of its picture in the stream,
    ``file`` the picture's name, ``true_class`` its class, ``attacked`` whether it arrived attacked. ``stored_as``: the
    class that it was stored under, ``slot`` its place there, ``view`` its number among the picture's views; ``left``,
    ``top``, ``right``, ``bottom``: its box as fractions of the picture's square. ``entropy`` in nats. ``entered_at``: the
    index of the picture after which it is in the memory, which is ``picture``. ``replaced``: the id of the view that left
    for it, ``replaced_file`` that one's picture, ``gain`` by how many nats its entropy is lower; ``left_at``: the index of
    the picture that took its place, ``replaced_by`` the id of that one's view. What does not apply is missing (NaN, None).

    Raises:
        DataError: a folder is not a run folder, or one of its files is damaged; no folder holds a stream with a memory.
    """
    import pandas

    rows = [
        row
        for one in streams_of(run_folders(map(Path, folders)))
        for row in view_rows(one, trajectory_of(one).insertions)
    ]
    if not rows:
        raise DataError(
            "There is no stream of RITA's memory in these folders.", "Measure one with evaluate --protocols stream."
        )
    whole = ("id", "picture", "slot", "view", "entered_at", "replaced", "left_at", "replaced_by")
    return pandas.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(whole, "Int64"))


def streams_of(folders: Iterable[Path]) -> tuple[StreamRun, ...]:
    """The streams of run folders. One that several folders have counts once: the one with most pictures. Raises DataError:
    a header is damaged."""
    streams: dict[str, StreamRun] = {}
    for one in chain.from_iterable(map(recorded_streams, folders)):
        cell = one.cells["rita"].name
        if one.decided > (streams[cell].decided if cell in streams else 0):
            streams[cell] = one
    return tuple(streams.values())


def view_rows(stream: StreamRun, views: Sequence[RememberedView]) -> list[dict[str, Any]]:
    """A row of :func:`stored_views` for each of the first views that entered the memory of a stream, in order."""
    names, boxes = stream.names, view_boxes(stream, views)
    return [
        {
            "stream": stream.title,
            "id": view.id,
            "picture": view.picture,
            "file": view.name,
            "true_class": names[view.truth],
            "attacked": view.attacked,
            "stored_as": names[view.label],
            "slot": view.slot,
            "view": view.view,
            **dict(zip(("left", "top", "right", "bottom"), boxes[view.id])),
            "entropy": view.entropy,
            "entered_at": view.picture,
            "replaced": view.replaced,
            "replaced_file": None if view.replaced is None else views[view.replaced].name,
            "gain": view.gain,
            "left_at": view.left,
            "replaced_by": view.replaced_by,
        }
        for view in views
    ]


def stored_views_csv(stream: StreamRun, views: Sequence[RememberedView]) -> bytes:
    """The table of a stream's first stored views as a file."""
    return csv_bytes([COLUMNS, *(tuple(row.values()) for row in view_rows(stream, views))])
