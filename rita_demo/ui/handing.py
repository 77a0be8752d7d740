"""Files on their way to a browser: few at a time, and none kept once it has gone.

A file is handed over as the value of a component (its browser saves it), and of every open page Gradio keeps every
value: tens of megabytes each, up to 256 times. Nobody reads them there, so they are dropped when the next file is made,
and by the house's round.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AT_ONCE = 2  # files being made, of all visitors


class Handing:
    """The files of one page, for all its visitors. Thread-safe."""

    def __init__(self) -> None:
        self._page: Any = lambda: None
        self._making = threading.BoundedSemaphore(AT_ONCE)

    def of(self, page: Any) -> None:
        """From now on: the files of that ``gr.Blocks``."""
        self._page = weakref.ref(page)

    @contextmanager
    def making(self) -> Iterator[None]:
        """While a file is made: it waits for its turn, and what went before is dropped."""
        with self._making:
            forget_files(self._page())
            yield


def forget_files(page: Any) -> None:
    """Drop what Gradio keeps of the files that were handed over: its answers have been sent, or hold their own."""
    kept = getattr(page, "state_holder", None)  # there is none before the page is served
    if kept is None:
        return
    files = [number for number, part in page.blocks.items() if getattr(part, "holds_file", False)]
    with kept.lock:
        visits = list(kept.session_data.values())
    for visit in visits:
        for number in files:
            props = visit.config_values.get(number, {}).get("props", {})
            if props.get("value"):
                props["value"] = ""
