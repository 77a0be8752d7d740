"""What visitors leave behind on the server: uploaded files, sessions nobody came back to, and Gradio's copy of the page.

Gradio deletes uploads by age alone: somebody who uploads for an hour, without ever pressing a button, would fill the
disk. And of every visitor it keeps all values of the page, some 4 MB, until ten thousand others have come; what they
belong to is gone when the page is closed, so they go as well. So do the files that were handed over. What that frees,
and what a visitor's stories took while they were told, goes back to the system.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from rita_demo import heap, logs
from rita_demo.ui.handing import forget_files
from rita_demo.ui.intake import forget_abandoned
from rita_demo.ui.sessions import Sessions

BUDGET = 1 << 30  # bytes of uploads on disk
EVERY = 20.0  # seconds
MOST_PAGES = 256  # that Gradio keeps the values of, open ones and those whose end it never heard of


def sweep(files: Iterable[str], budget: int = BUDGET) -> list[str]:
    """Delete the oldest of these files until the others weigh at most ``budget`` bytes; the names of those that are
    not there (any more)."""
    found, gone, total = [], [], 0
    for name in list(files):
        try:
            about = Path(name).stat()
            found.append((about.st_mtime, about.st_size, name))
        except OSError:  # deleted by age meanwhile
            gone.append(name)
    for _, size, name in sorted(found, reverse=True):
        total += size
        if total > budget:
            Path(name).unlink(missing_ok=True)
            gone.append(name)
    return gone


def keep_house(
    page: Any, sessions: Sessions, *, budget: int = BUDGET, every: float = EVERY
) -> None:
    """From now on, as long as there is a page: uploads within their budget, sessions within theirs and their age, and
    nothing of pages that were closed."""
    threading.Thread(
        target=_keep, args=(weakref.ref(page), sessions, budget, every), daemon=True, name="house"
    ).start()


def _keep(page: Any, sessions: Sessions, budget: int, every: float) -> None:
    while True:
        time.sleep(every)
        here = page()
        if here is None:
            return
        for chore in (
            partial(_fit_uploads, budget=budget),
            forget_closed,
            forget_files,
            _forget_abandoned,
        ):
            _tried(chore, here)
        del here
        _tried(sessions.fit)
        _tried(heap.trim)


def _tried(chore: Callable[..., Any], *what: Any) -> None:
    """What fails is told in the log: the next chore is done, and the next round comes."""
    try:
        chore(*what)
    except Exception as error:
        logs.failure("the house could not be kept", error)


def _fit_uploads(page: Any, budget: int) -> None:
    page.upload_file_set.difference_update(sweep(page.upload_file_set, budget))


def _forget_abandoned(page: Any) -> None:
    forget_abandoned(page.GRADIO_CACHE)


def forget_closed(page: Any) -> None:
    """Drop what Gradio keeps of visits that are over."""
    kept = getattr(page, "state_holder", None)  # there is none before the page is served
    if kept is None:
        return
    with kept.lock:
        for visit in [name for name, state in kept.session_data.items() if state.is_closed]:
            kept.session_data.pop(visit, None)
            kept.time_last_used.pop(visit, None)
