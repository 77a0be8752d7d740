"""Freed memory is used again, and what is not goes back to the system (glibc; other allocators have their own ways).

A picture's way through the model takes and frees hundreds of megabytes in pieces of up to 25. By itself glibc maps such
pieces one by one and gives them back at once, so that the system has to clear every page again for the next layer:
nearly half of an encoder's time. So pieces of up to 32 MB come from the heap, and it is given back when it has grown:
what is kept of a picture lies above the hole its views left, where glibc gives nothing back, and of a server's threads
each has a heap of its own (two hundred visits left 230 MB of freed pages in them).
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

PIECE = 32 << 20  # bytes; glibc takes no more
#: Bytes that a process may grow by before freed pages are given back; a picture needs half of it.
GROWN = 512 << 20

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_TRIM: Any = None
with suppress(AttributeError, OSError, TypeError):  # not glibc
    _LIBRARY = ctypes.CDLL(None)
    _TRIM = _LIBRARY.malloc_trim
    _LIBRARY.mallopt(_MMAP_THRESHOLD, PIECE)
    _LIBRARY.mallopt(_TRIM_THRESHOLD, GROWN)

_left = 0  # bytes resident when pages were last given back


def trim() -> None:
    """Give free pages back; takes a few milliseconds, and whoever needs them again as long as the system to clear them."""
    global _left
    if _TRIM is not None:
        _TRIM(0)
        _left = _resident()


def trim_if_grown() -> None:
    """The same where the process has grown by more than ``GROWN`` bytes since; costs next to nothing otherwise."""
    if _TRIM is not None and _resident() > _left + GROWN:
        trim()


def _resident() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
