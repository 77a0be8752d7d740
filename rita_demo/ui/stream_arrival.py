"""A picture of a stream brought to the other tabs: asked again, with the memory that it met."""

from __future__ import annotations

from typing import Any

from rita_demo import measuring
from rita_demo.measuring import Places
from rita_demo.methods import ALWAYS, METHODS
from rita_demo.ui.ask import Ask
from rita_demo.ui.history import MOST_ENTRIES, Entry, History, shelf_of
from rita_demo.ui.stream_state import Streaming


def again(engine: Any, places: Places, view: Streaming, before: History) -> tuple[Ask, History]:
    """The picture that ``view`` looks at, to be told with every method of the stream; and the visitor's
    memory, which becomes the one the picture met (Undo brings the visitor's own one back).

    Raises:
        SettingError: the engine is not the model that was streamed.
        DataError, PictureError: the picture is not there.
    """
    assert view.recording is not None
    met = measuring.arrival(engine, places, view.recording, view.t)
    asked = tuple(m for m in METHODS if m in view.recording.cells or m in ALWAYS)
    ask = Ask(met.picture, met.names, met.settings, met.label, met.target, met.title, methods=asked)
    return ask, _remembering(before, met, view.t)


def _remembering(history: History, met: measuring.Arrival, t: int) -> History:
    """The visitor's memory becomes the one the picture met; Undo brings the visitor's own one back."""
    shelf = shelf_of(met.memory, met.names, None, None)
    entry = Entry(f"A stream, before its picture {t}", shelf)
    kept = history.entries if history.now is not None and history.now.key == shelf.key else ()
    return History((*kept, entry)[-MOST_ENTRIES:])
