"""Files for the browser: few are made at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MAX_PARALLEL = 2  # files made at a time, for all visitors


class DownloadSlots:
    """The files of one page, for all its visitors. Thread-safe."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(MAX_PARALLEL)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Entered while a file is made: waits for a free slot."""
        with self._slots:
            yield
