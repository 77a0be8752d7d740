"""Files for the browser: few are made at a time, and none is kept after it was sent.

A file is sent as the value of a component, which the browser saves. Gradio stores every value of every open page: tens
of megabytes each, up to 256 times. They are dropped when the next file is made, and by the cleanup.
"""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MAX_PARALLEL = 2  # files made at a time, for all visitors


class DownloadSlots:
    """The files of one page, for all its visitors. Thread-safe."""

    def __init__(self) -> None:
        self._page: Any = lambda: None
        self._slots = threading.BoundedSemaphore(MAX_PARALLEL)

    def use_page(self, page: Any) -> None:
        """Set the ``gr.Blocks`` whose sent files are dropped."""
        self._page = weakref.ref(page)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Entered while a file is made: waits for a free slot, and drops files sent before."""
        with self._slots:
            drop_sent_files(self._page())
            yield


def drop_sent_files(page: Any) -> None:
    """Drop Gradio's copies of sent files; a running answer has its own copy."""
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
