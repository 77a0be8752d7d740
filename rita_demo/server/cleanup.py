"""Periodic cleanup: uploaded files and unused sessions.

Gradio deletes complete uploads by age alone: uploading for an hour could fill the disk, and what a broken connection left
would stay. Freed memory is returned to the system.
"""

import os
import re
import threading
import time
import weakref
from contextlib import suppress
from functools import partial
from pathlib import Path

import gradio as gr
from gradio import routes
from gradio.route_utils import FileUploadProgress

from rita_demo.process import logging as process_logging
from rita_demo.process import malloc
from rita_demo.ui.page import UPLOAD_MAX_AGE
from rita_demo.ui.session.store import Sessions

MAX_UPLOAD_BYTES, MAX_UPLOADS = 1 << 30, 10_000  # bytes and files of uploads on disk
DIGEST = re.compile("[0-9a-f]{64}")  # the name of an upload's folder
RECENT_UPLOADS = 256  # whose progress can be asked for
INTERVAL_SECONDS = 20.0


def sweep_uploads(folder: Path, max_bytes: int = MAX_UPLOAD_BYTES) -> None:
    """Delete uploads that are older than :data:`UPLOAD_MAX_AGE`, also what Gradio has left of incomplete ones, and then the
    oldest until the others have at most ``max_bytes`` bytes and are :data:`MAX_UPLOADS` at most. Other files stay."""
    uploads = []
    for place, _, names in os.walk(folder):  # a folder that is deleted meanwhile is passed over
        if place == str(folder):
            names = [name for name in names if name.startswith("tmp")]
        elif Path(place).parent != folder or not DIGEST.fullmatch(Path(place).name):
            continue
        for path in map(Path(place).joinpath, names):
            with suppress(OSError):  # deleted meanwhile
                uploads.append((path.stat().st_mtime, path.stat().st_size, path))
    total, oldest = 0, time.time() - UPLOAD_MAX_AGE
    for count, (changed, size, path) in enumerate(sorted(uploads, reverse=True)):
        total += size
        if total > max_bytes or count >= MAX_UPLOADS or changed < oldest:
            path.unlink(missing_ok=True)
    for path in folder.glob("*"):
        with suppress(OSError):  # another file has come
            if DIGEST.fullmatch(path.name) and path.stat().st_mtime < oldest:
                path.rmdir()


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
            for work in (
                partial(sweep_uploads, Path(here.GRADIO_CACHE), max_bytes),
                partial(drop_unread_answers, here),
                partial(drop_progress, routes.file_upload_statuses),
                sessions.evict,
                malloc.trim,
            ):
                try:
                    work()
                except Exception as error:  # what comes after it is done all the same
                    process_logging.log_error("cleanup failed", error)
            del here, work

    threading.Thread(target=clean_up_until_closed, daemon=True, name="cleanup").start()


def drop_unread_answers(page: gr.Blocks) -> None:
    """Drop the answers to pages that are gone, which nobody will read; Gradio keeps those of two thousand."""
    queue, pages = page._queue, page.state_holder
    running = {event.session_hash for event in list(queue.event_ids_to_events.values())}
    for answers in (queue.pending_messages_per_session, queue.pending_event_ids_session):
        for name in [name for name in list(answers) if name not in pages and name not in running]:
            answers.pop(name, None)


def drop_progress(progress: FileUploadProgress) -> None:
    """Keep the progress of the last uploads alone; Gradio keeps that of each, and an entry for each question."""
    for old in list(progress._statuses)[:-RECENT_UPLOADS]:
        progress.stop_tracking(old)
    for name in [name for name in list(progress._signals) if name not in progress._statuses]:
        progress._signals.pop(name, None)
