"""Uploads and idle sessions stay within their limits, also without any event."""

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from rita_demo.server import cleanup
from rita_demo.server.cleanup import start_cleanup, sweep_uploads
from rita_demo.server.pages import Pages
from rita_demo.ui.session.store import Sessions
from tests.live_server import wait_until


def test_old_uploads_are_deleted_and_then_the_oldest_until_the_rest_fits(tmp_path, monkeypatch) -> None:
    """Also what a killed process or a broken connection has left; nothing of another program."""
    for name in ("other program", "a.png", "tmp-folder/a.png"):
        made(tmp_path / name, 10, 5000)
    for digest, seconds in (("a", 4000), ("b", 50), ("c", 30), ("d", 10)):
        made(tmp_path / (64 * digest) / "x.png", 40, seconds)
    made(tmp_path / (64 * "e") / "x.png", 40, 4000).unlink()
    os.utime(tmp_path / (64 * "e"), (time.time() - 4000,) * 2)
    made(tmp_path / "tmpold", 9, 4000)
    made(tmp_path / "tmpnew", 9, 5)
    others = {"other program", "a.png", "tmp-folder"}
    cleanup.sweep_uploads(tmp_path, 100)
    assert set(os.listdir(tmp_path)) == {*others, *(64 * digest for digest in "abcd"), "tmpnew"}
    assert [len(os.listdir(tmp_path / (64 * digest))) for digest in "abcd"] == [0, 0, 1, 1]
    monkeypatch.setattr(cleanup, "MAX_UPLOADS", 2)
    cleanup.sweep_uploads(tmp_path, 100)
    assert [len(os.listdir(tmp_path / (64 * digest))) for digest in "bcd"] == [0, 0, 1]


def made(path: Path, size: int, seconds: float) -> Path:
    """A file of that size, and its folder, from so many seconds ago."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes(size))
    for one in (path, path.parent):
        os.utime(one, (time.time() - seconds,) * 2)
    return path


class FakePage(SimpleNamespace):
    """What the cleanup knows of a page."""

    def __init__(self, uploads: Path) -> None:
        queue = SimpleNamespace(event_ids_to_events={}, pending_messages_per_session={}, pending_event_ids_session={})
        super().__init__(state_holder=Pages(gr.Blocks()), _queue=queue, GRADIO_CACHE=str(uploads))


def test_cleanup_runs_without_user_events(tmp_path: Path) -> None:
    now, page = [0.0], FakePage(tmp_path)
    old, new = (made(tmp_path / (64 * "a") / name, 30, age) for name, age in (("old", 9), ("new", 1)))
    sessions = Sessions(idle_timeout=10, clock=lambda: now[0])
    sessions.open("page")
    start_cleanup(page, sessions, max_bytes=35, interval=0.02)
    now[0] = 20.0
    assert wait_until(lambda: not len(sessions) and not old.exists())
    assert new.exists()


def test_a_failing_cleanup_task_is_logged_and_cleanup_continues(tmp_path, monkeypatch) -> None:
    logged, evicted, sessions = list[str](), list[int](), Sessions()

    def fail_at_first(*arguments: Any) -> None:
        if len(logged) < 3:
            raise PermissionError("of another user")
        sweep_uploads(*arguments)

    monkeypatch.setattr(cleanup, "sweep_uploads", fail_at_first)
    monkeypatch.setattr(cleanup.process_logging, "log_error", lambda what, error: logged.append(repr(error)))
    monkeypatch.setattr(sessions, "evict", lambda: evicted.append(1))
    old, page = made(tmp_path / (64 * "a") / "old", 30, 4000), FakePage(tmp_path)
    start_cleanup(page, sessions, interval=0.01)
    assert wait_until(lambda: not old.exists(), pause=0.01)
    assert ["PermissionError" in one for one in logged] == [True] * 3
    assert len(evicted) >= 3, "what comes after the failed task is left out"


def test_answers_to_pages_that_are_gone_are_dropped(tmp_path: Path) -> None:
    page, answers = FakePage(tmp_path), ["waits", "runs", "gone"]
    page.state_holder.session_data["waits"] = None
    page._queue.event_ids_to_events["event"] = SimpleNamespace(session_hash="runs")
    for kept in (page._queue.pending_messages_per_session, page._queue.pending_event_ids_session):
        kept.update(dict.fromkeys(answers, "x"))
        cleanup.drop_unread_answers(page)
        assert list(kept) == ["waits", "runs"]
