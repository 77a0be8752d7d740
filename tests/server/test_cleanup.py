"""Uploads and idle sessions stay within their limits, also without any event."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rita_demo.server import cleanup
from rita_demo.server.cleanup import start_cleanup, trim_uploads
from rita_demo.server.gradio_patches import TEMP_PREFIX, remove_abandoned
from rita_demo.server.pages import Pages
from rita_demo.ui.session.store import Sessions
from tests.live_server import wait_until


def files(folder: Path, sizes: list[int]) -> list[str]:
    """Files of these sizes, the first the oldest."""
    made = [folder / f"{number}.png" for number in range(len(sizes))]
    for number, path in enumerate(made):
        path.write_bytes(bytes(sizes[number]))
        os.utime(path, (1000 + number, 1000 + number))
    return list(map(str, made))


def test_the_oldest_uploads_are_deleted_until_the_rest_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, gone = files(tmp_path, [50, 40, 30, 20]), str(tmp_path / "gone.png")
    assert set(trim_uploads([*made, gone], 60)) == {*made[:2], gone}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.png", "3.png"]
    assert trim_uploads(made[2:], 60) == []
    monkeypatch.setattr(cleanup, "MAX_UPLOADS", 1)
    assert trim_uploads(made[2:], 60) == made[2:3]


SCRIPT = """
import threading
from rita_demo.server.cleanup import start_cleanup
from rita_demo.ui.session.store import Sessions
from tests.live_server import wait_until

def resident():
    line = next(l for l in open("/proc/self/status") if l.startswith("VmRSS"))
    return int(line.split()[1]) >> 10

class Page:
    upload_file_set, blocks, GRADIO_CACHE = set(), {}, "no such folder"

def fill_and_free():
    pieces = [b"x" * 65536 for _ in range(3200)]
    kept.extend(pieces[::100])
    del pieces
    freed.set()
    done.wait()

kept, freed, done, page = [], threading.Event(), threading.Event(), Page()
before = resident()
threading.Thread(target=fill_and_free).start()
freed.wait()
held = resident()
start_cleanup(page, Sessions(), interval=0.05)
wait_until(lambda: resident() <= before + 50)
print(before, held, resident())
done.set()
"""


class FakePage(SimpleNamespace):
    """What the cleanup knows of a page."""

    def __init__(self, uploads: list[str]) -> None:
        queue = SimpleNamespace(event_ids_to_events={}, pending_messages_per_session={}, pending_event_ids_session={})
        super().__init__(upload_file_set=set(uploads), state_holder=Pages(), _queue=queue, GRADIO_CACHE="nowhere")


def test_cleanup_runs_without_user_events(tmp_path: Path) -> None:
    now, page = [0.0], FakePage(files(tmp_path, [50, 40, 30]))
    sessions = Sessions(idle_timeout=10, clock=lambda: now[0])
    sessions.open("page")
    start_cleanup(page, sessions, max_bytes=35, interval=0.02)
    now[0] = 20.0
    assert wait_until(lambda: not len(sessions) and page.upload_file_set == {str(tmp_path / "2.png")})
    assert [p.name for p in tmp_path.iterdir()] == ["2.png"]


def test_partial_uploads_of_a_killed_process_are_deleted_after_an_hour(tmp_path: Path) -> None:
    for name, seconds in (("old", 4000), ("new", 10), ("still written to", 4000)):
        aside = tmp_path / f"{TEMP_PREFIX}{name}"
        aside.mkdir()
        (aside / "half.png").write_bytes(b"x")
        for path in (aside / "half.png", aside):
            os.utime(path, (time.time() - seconds,) * 2)
    (tmp_path / f"{TEMP_PREFIX}still written to" / "half.png").write_bytes(b"xx")
    (tmp_path / "other program's").mkdir()
    os.utime(tmp_path / "other program's", (1000, 1000))
    for name, seconds in (("a" * 64, 4000), ("b" * 64, 10), ("c" * 64, 4000)):
        (tmp_path / name).mkdir()
        if name[0] == "c":
            (tmp_path / name / "kept.png").write_bytes(b"x")
        os.utime(tmp_path / name, (time.time() - seconds,) * 2)
    remove_abandoned(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"{TEMP_PREFIX}new", f"{TEMP_PREFIX}still written to", "other program's", "b" * 64, "c" * 64}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.nightly
def test_freed_memory_is_returned_to_the_system() -> None:
    """A thread that freed 200 MB, all but every hundredth piece, returns it only after a cleanup."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    before, held, after = map(int, ran.stdout.split())
    assert held > before + 150, "nothing was held: the test says nothing"
    assert after < before + 50


def test_a_failing_cleanup_task_is_logged_and_cleanup_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged, fits, sessions = list[str](), list[str](), Sessions()

    def fail_at_first(*arguments: Any) -> list[str]:
        if len(logged) < 3:
            raise PermissionError("of another user")
        return trim_uploads(*arguments)

    monkeypatch.setattr(cleanup, "trim_uploads", fail_at_first)
    monkeypatch.setattr(cleanup.process_logging, "log_error", lambda what, error: logged.append(repr(error)))
    monkeypatch.setattr(sessions, "evict", lambda: fits.append("evicted"))
    page = FakePage(files(tmp_path, [50, 40]))
    start_cleanup(page, sessions, max_bytes=45, interval=0.01)
    assert wait_until(lambda: len(list(tmp_path.iterdir())) == 1, pause=0.01)
    assert [p.name for p in tmp_path.iterdir()] == ["1.png"]
    assert ["PermissionError" in one for one in logged] == [True] * 3
    assert len(fits) >= 3, "what comes after the failed task is left out"


def test_answers_to_pages_that_are_gone_are_dropped(tmp_path: Path) -> None:
    page, answers = FakePage([]), ["waits", "runs", "gone"]
    page.state_holder.session_data["waits"] = None
    page._queue.event_ids_to_events["event"] = SimpleNamespace(session_hash="runs")
    for kept in (page._queue.pending_messages_per_session, page._queue.pending_event_ids_session):
        kept.update(dict.fromkeys(answers, "x"))
        cleanup.drop_unread_answers(page)
        assert list(kept) == ["waits", "runs"]
