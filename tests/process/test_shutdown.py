"""A server process gets a signal: running events end, no new ones start, stored results stay.

The process is ``app.py``, or the same page with the toy engine.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rita_demo.process.shutdown import ShutdownState, ShuttingDown
from tests.live_server import ROOT, free_port, wait_until
from tests.page_client import HttpClient

REAL_APP, TOY_APP = ("app.py",), ("-m", "tests.server.toy_server")
BACKGROUND = ThreadPoolExecutor(2)
pytestmark = pytest.mark.slow


class ServerProcess:
    """``python`` with these arguments, and its log."""

    def __init__(self, folder: Path, *arguments: str, cwd: Path = ROOT, **environment: str) -> None:
        port = free_port()
        self.folder, self.address = folder, f"http://127.0.0.1:{port}/"
        variables = os.environ | {
            "RITA_PORT": str(port),
            "RITA_HOST": "127.0.0.1",
            "RITA_RUNS": str(folder / "runs"),
            "RITA_DATA": str(folder / "data"),
            "HF_HUB_OFFLINE": "1",
        }
        self.err = (folder / "err.txt").open("w")
        words, quiet = [sys.executable, *arguments], {"stdout": subprocess.DEVNULL, "stderr": self.err}
        self.process = subprocess.Popen(words, cwd=cwd, env=variables | environment, **quiet)

    def wait_until_open(self) -> None:
        wait_until(lambda: self.process.poll() is not None or self.health()[0] == 200, 120, pause=0.5)
        assert self.health()[0] == 200, self.log()

    def health(self) -> tuple[int, str]:
        try:
            answer = httpx.get(f"{self.address}health", timeout=5)
            return answer.status_code, answer.json()["status"]
        except httpx.TransportError:
            return 0, ""

    def log(self) -> list[dict[str, str]]:
        """Event and fields of the lines that are of an event."""
        text = (self.folder / "err.txt").read_text(encoding="utf-8")
        lines = [re.fullmatch(r"\d\d:\d\d:\d\d \w+ (\w+)((?: \w+=\S*)*)", line) for line in text.splitlines()]
        return [{"event": one[1]} | dict(re.findall(r" (\w+)=(\S*)", one[2])) for one in lines if one]

    def stop(self, number: int, seconds: float = 30) -> None:
        """Send a signal; the process ends with status 0."""
        self.process.send_signal(number)
        assert self.process.wait(seconds) == 0


@contextmanager
def server_process(folder: Path, *arguments: str, **more: Any) -> Iterator[ServerProcess]:
    one = ServerProcess(folder, *arguments, **more)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.wait(20)
        one.err.close()


def submit_press(visitor: HttpClient, element: str, **changes: Any) -> Future[str]:
    """A press in the background; what follows in a browser would find nobody."""
    event = visitor.event(element, "click")
    return BACKGROUND.submit(visitor.call, event["id"], visitor._inputs(event, changes))


@pytest.mark.nightly
def test_a_running_event_finishes_no_new_one_starts_and_the_log_holds_no_visitor_data(tmp_path: Path) -> None:
    name, account = "zebrafinch", ("gatekeeper", "correct-horse")
    picture = (ROOT / "docs" / "first-screen.jpg").read_bytes()
    with server_process(tmp_path, *TOY_APP, RITA_GRACE="120", RITA_AUTH=":".join(account)) as server:
        server.wait_until_open()
        visitor = HttpClient(server.address, login=account)
        visitor.open()
        sent = visitor.http.post("gradio_api/upload", files={"files": (f"{name}.jpg", picture)})
        upload = {"path": sent.json()[0], "orig_name": f"{name}.jpg", "meta": {"_type": "gradio.FileData"}}
        event = visitor.event("upload", "upload")
        visitor.choices += 1
        visitor.call(event["id"], [None, upload, "pgd", "own", f"{name}, cup, crab"])
        visitor.press("go", vocabulary=f"no {name}")  # a value that Gradio itself refuses
        visitor.press("go", vocabulary="own", own_names=name, setting_steps=name)
        own = {"vocabulary": "own", "own_names": f"{name}, cup, crab", "truth": "not given"}
        pressed = submit_press(visitor, "go", setting_steps=40, **own)
        time.sleep(1)  # of two
        assert pressed.running(), "the event runs when the signal comes"
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: server.health() == (0, ""), 5), "it takes new connections"
        assert "Drawing the figures" in pressed.result(120)  # its last words
        assert server.process.wait(30) == 0
        log = server.log()
    assert [one["event"] for one in log if one["event"] in {"stopping", "stopped"}] == ["stopping", "stopped"]
    assert [one["outcome"] for one in log if one.get("name", "").endswith("and_defend")] == ["refused", "done"]
    written = (tmp_path / "err.txt").read_text()
    assert "AttackDefendTab.attack_and_defend" in written
    for secret in (name, *account, "base64", upload["path"], ".jpg"):
        assert secret not in written


def test_a_starting_process_stops_immediately(tmp_path: Path) -> None:
    with server_process(tmp_path, *REAL_APP) as server:
        assert wait_until(server.log, 60)
        server.stop(signal.SIGTERM)
        assert [one["event"] for one in server.log()] == ["start"]


# --- the state that a process keeps


def test_during_shutdown_no_event_starts_and_a_running_one_ends_at_its_first_step_after_the_grace_period() -> None:
    state = ShutdownState()
    with pytest.raises(ValueError, match="x"), state.track_event():
        raise ValueError("x")
    assert state.running == 0, "a failed event is no longer counted"
    with state.track_event() as event:
        event.next_step()
        state.drain(60)
        with pytest.raises(ShuttingDown), state.track_event():
            raise AssertionError("it began")
        event.next_step()
        state.drain(0)
        with pytest.raises(ShuttingDown, match="going down"):
            event.next_step()
    assert state.running == 0


def test_the_longest_current_step_of_all_events_is_known() -> None:
    state = ShutdownState()
    assert state.step_seconds == 0
    with state.track_event() as first:
        time.sleep(0.1)
        with state.track_event() as second:
            assert 0.1 <= state.step_seconds < 60
            first.next_step()
            time.sleep(0.02)
            second.next_step()
            assert second.step_began - first.step_began >= 0.02
            assert 0.02 <= state.step_seconds < 60
    assert state.step_seconds == 0
