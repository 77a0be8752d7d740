"""Open a picture of a stream in the other tabs: run it again, with the cache it was decided from."""

from __future__ import annotations

from typing import Any

from rita_demo.defences.registry import DEFENCES, default_methods
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.ui.session.cache_history import History, snapshot_of
from rita_demo.ui.session.run_request import RunRequest
from rita_demo.ui.session.stream_state import StreamState


def open_request(engine: Any, folders: DataFolders, stream: StreamState, before: History) -> tuple[RunRequest, History]:
    """The run request of the selected picture, with every method of the stream; and the history whose latest entry is
    the cache before that picture (Undo brings the visitor's own one back). Raises SettingError: the engine is not the
    model that was streamed; DataError, PictureError: the picture is not there."""
    assert stream.recording is not None
    met = evaluation_page.open_stream_picture(engine, folders, stream.recording, stream.shown_picture)
    asked = tuple(m for m in DEFENCES if m in stream.recording.cells or m in default_methods())
    request = RunRequest(met.picture, met.names, met.settings, met.label, met.target, met.title, methods=asked)
    return request, _history_with_cache(before, met, stream.shown_picture)


def _history_with_cache(history: History, arrival: evaluation_page.StreamPicture, t: int) -> History:
    snapshot = snapshot_of(arrival.cache, arrival.names, None, None)
    kept = history if history.current is not None and history.current.key == snapshot.key else History()
    return kept.with_snapshot(f"A stream, before its picture {t}", snapshot)
