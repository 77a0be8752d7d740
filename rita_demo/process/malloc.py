"""Settings of glibc's allocator: freed memory is reused, and returned to the system when the process has grown.

Encoding a picture allocates and frees hundreds of megabytes in blocks of up to 25. By default glibc maps each of these
blocks and unmaps it at once, and the system clears every page again: nearly half of the time of an encoder. So blocks
of up to 32 MB come from the heap. The heap alone does not shrink: small records lie above the freed blocks, and every
thread has a heap of its own (200 visits left 230 MB of freed pages). :func:`trim` returns freed pages.
"""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HEAP_BLOCK_BYTES = 32 << 20  # the largest value that glibc allows
#: Growth of the process before freed pages are returned; a picture needs half of it.
TRIM_GROWTH_BYTES = 512 << 20

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_MALLOC_TRIM: Callable[[int], int] | None = None
with suppress(AttributeError, OSError, TypeError):  # not glibc
    _LIBC = ctypes.CDLL(None)
    _MALLOC_TRIM = _LIBC.malloc_trim
    _LIBC.mallopt(_MMAP_THRESHOLD, HEAP_BLOCK_BYTES)
    _LIBC.mallopt(_TRIM_THRESHOLD, TRIM_GROWTH_BYTES)

_resident_after_trim = 0  # resident bytes when pages were last returned


def trim() -> None:
    """Return freed pages to the system; takes a few milliseconds."""
    global _resident_after_trim
    if _MALLOC_TRIM is not None:
        _MALLOC_TRIM(0)
        _resident_after_trim = _resident_bytes()


def trim_if_grown() -> None:
    """:func:`trim` if the process has grown by more than ``TRIM_GROWTH_BYTES`` since the last time."""
    if _MALLOC_TRIM is not None and _resident_bytes() > _resident_after_trim + TRIM_GROWTH_BYTES:
        trim()


def _resident_bytes() -> int:
    """The process's resident bytes; 0 on systems without ``/proc``."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
