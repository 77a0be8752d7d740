"""Periodic cleanup: uploaded files and unused sessions.

Gradio deletes uploads by age alone, so that uploading for an hour could fill the disk. Freed memory is returned to the
system.
"""

import threading
import time
import weakref
from collections.abc import Iterable
from pathlib import Path

import gradio as gr

from rita_demo.process import logging as process_logging
from rita_demo.process import malloc
from rita_demo.server.gradio_patches import remove_abandoned
from rita_demo.ui.session.store import Sessions

MAX_UPLOAD_BYTES, MAX_UPLOADS = 1 << 30, 10_000  # bytes and files of uploads on disk
INTERVAL_SECONDS = 20.0


def trim_uploads(files: Iterable[str], max_bytes: int = MAX_UPLOAD_BYTES) -> list[str]:
    """Delete the oldest files until the others have at most ``max_bytes`` bytes and are ``MAX_UPLOADS`` at most; returns the
    names of the deleted and missing ones."""
    found, gone, total = [], [], 0
    for name in list(files):
        try:
            about = Path(name).stat()
            found.append((about.st_mtime, about.st_size, name))
        except OSError:  # deleted by age meanwhile
            gone.append(name)
    for count, (_, size, name) in enumerate(sorted(found, reverse=True)):
        total += size
        if total > max_bytes or count >= MAX_UPLOADS:
            Path(name).unlink(missing_ok=True)
            gone.append(name)
    return gone


def start_cleanup(
    page: gr.Blocks, sessions: Sessions, *, max_bytes: int = MAX_UPLOAD_BYTES, interval: float = INTERVAL_SECONDS
) -> None:
    """Start the cleanup thread; it ends with the page. ``max_bytes``: of uploads; ``interval``: seconds between rounds."""
    there = weakref.ref(page)

    def clean_up_until_closed() -> None:
        while True:
            time.sleep(interval)
            here = there()
            if here is None:
                return
            _clean_up(here, sessions, max_bytes)
            del here

    threading.Thread(target=clean_up_until_closed, daemon=True, name="cleanup").start()


def _clean_up(page: gr.Blocks, sessions: Sessions, max_bytes: int) -> None:
    """One round; an error of one task is logged, and the next task follows."""
    for task in (
        lambda: page.upload_file_set.difference_update(trim_uploads(page.upload_file_set, max_bytes)),
        lambda: drop_unread_answers(page),
        lambda: remove_abandoned(page.GRADIO_CACHE),
        sessions.evict,
        malloc.trim,
    ):
        try:
            task()
        except Exception as error:
            process_logging.log_error("cleanup failed", error)


def drop_unread_answers(page: gr.Blocks) -> None:
    """Drop the answers to pages that are gone, which nobody will read; Gradio keeps those of two thousand."""
    queue, pages = page._queue, page.state_holder
    running = {event.session_hash for event in list(queue.event_ids_to_events.values())}
    for answers in (queue.pending_messages_per_session, queue.pending_event_ids_session):
        for name in [name for name in list(answers) if name not in pages and name not in running]:
            answers.pop(name, None)
