"""Freed memory goes back to the system.

What is kept of a picture (64 kB of features) is allocated after its views (25 MB) and, once these are freed,
lies above the hole they leave, where glibc does not give it back and the next views often do not fit:
without this a process grew by 24 MB with every picture looked at, up to 7 GB. Of a server's threads each has a heap of
its own as well: two hundred visits left 230 MB of freed pages in them.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any

_TRIM: Any = None
with suppress(
    AttributeError, OSError, TypeError
):  # not glibc: other allocators have their own ways
    _TRIM = ctypes.CDLL(None).malloc_trim


def trim() -> None:
    """Return free pages; takes a few milliseconds at most."""
    if _TRIM is not None:
        _TRIM(0)
