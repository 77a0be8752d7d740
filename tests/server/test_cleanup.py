"""Uploads and idle sessions stay within their limits, also without any event."""

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import StateHolder

from rita_demo.bench.http_client import HttpClient
from rita_demo.server import cleanup
from rita_demo.server.cleanup import start_cleanup, trim_uploads
from rita_demo.server.gradio_patches import TEMP_PREFIX, remove_abandoned
from rita_demo.ui.session.store import Sessions
from tests.live_server import wait_until
from tests.ui.http_client import serve_fake_page


def files(folder: Path, sizes: list[int]) -> list[str]:
    """Files of these sizes, the first the oldest."""
    made = [folder / f"{number}.png" for number in range(len(sizes))]
    for number, path in enumerate(made):
        path.write_bytes(bytes(sizes[number]))
        os.utime(path, (1000 + number, 1000 + number))
    return list(map(str, made))


def test_the_oldest_uploads_are_deleted_until_the_rest_fits(tmp_path: Path) -> None:
    made, gone = files(tmp_path, [50, 40, 30, 20]), str(tmp_path / "gone.png")
    assert set(trim_uploads([*made, gone], 60)) == {*made[:2], gone}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.png", "3.png"]
    assert trim_uploads(made[2:], 60) == []


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
        super().__init__(upload_file_set=set(uploads), state_holder=StateHolder(), blocks={}, GRADIO_CACHE="nowhere")


def test_cleanup_runs_without_user_events(tmp_path: Path) -> None:
    now, page = [0.0], FakePage(files(tmp_path, [50, 40, 30]))
    sessions = Sessions(idle_timeout=10, clock=lambda: now[0])
    sessions.open("page")
    start_cleanup(page, sessions, max_bytes=35, interval=0.02)
    now[0] = 20.0
    assert wait_until(lambda: not len(sessions) and page.upload_file_set == {str(tmp_path / "2.png")})
    assert [p.name for p in tmp_path.iterdir()] == ["2.png"]


@pytest.mark.slow
def test_gradio_state_of_a_closed_page_is_deleted() -> None:
    sessions = Sessions()
    with serve_fake_page(sessions=sessions) as address:
        stays, leaves = HttpClient(address), HttpClient(address)
        for visitor in (stays, leaves):
            visitor.open()
        kept = gradio_page(stays).state_holder
        start_cleanup(gradio_page(stays), sessions, interval=0.1)
        assert {stays.session_hash, leaves.session_hash} <= set(kept.session_data)
        with leaves.http.stream("GET", f"gradio_api/heartbeat/{leaves.session_hash}") as beat:
            next(beat.iter_lines())
        assert wait_until(lambda: leaves.session_hash not in kept.session_data, 30)
        assert stays.session_hash in kept.session_data
        assert set(kept.time_last_used) == set(kept.session_data)
        assert len(sessions) == 1
        assert "agreement" in stays.choose_tab("memory")


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
    remove_abandoned(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"{TEMP_PREFIX}new", f"{TEMP_PREFIX}still written to", "other program's"}


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


@pytest.mark.slow
def test_a_downloaded_file_is_not_retained() -> None:
    """Gradio keeps every value of an open page: this one goes when the next file is made, or in the next cleanup."""
    figures = {"rita-plan": "<svg>" + "x" * 300_000}
    with serve_fake_page() as address:
        one, two = HttpClient(address), HttpClient(address)
        for visitor in (one, two):
            visitor.open()
        kept = gradio_page(one).state_holder
        for visitor in (one, two):
            assert "base64," in visitor.press("save-run", data={"figures": figures})
        assert "base64," not in values_of(kept, one), "another visitor's page does not replace it"
        assert "base64," in values_of(kept, two)
        cleanup.drop_sent_files(gradio_page(one))
        assert "base64," not in values_of(kept, two)
        one.choose_tab("memory")
        assert "base64," in one.press("export", data={"kind": "json"})
        assert "base64," in values_of(kept, one)
        assert "base64," in two.press("save-run", data={"figures": {}})
        assert "base64," not in values_of(kept, one)


def values_of(kept: StateHolder, visitor: HttpClient) -> str:
    """The values of files that Gradio has of a visitor's page."""
    values = kept.session_data[visitor.session_hash].config_values
    names = ("save-run", "export")
    found = [v["props"].get("value") for v in values.values() if v["props"].get("elem_id") in names]
    assert len(found) == 2
    return json.dumps(found)


def gradio_page(visitor: HttpClient) -> gr.Blocks:
    """The page that a visitor opened; other tests' pages may not have been collected yet."""
    running = [page for page in gc.get_objects() if isinstance(page, gr.Blocks) and page.is_running]
    return next(page for page in running if visitor.session_hash in page.state_holder.session_data)
