"""A process that is killed in the middle of its work: a sentence, and the next one is served."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from rita_demo.analysis import Worker
from rita_demo.errors import DemoError


def patient(mark: str, seconds: float) -> int:
    """Work that says when it has begun, and who does it."""
    Path(mark).write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.slow
def test_a_worker_killed_while_it_works_is_a_sentence_and_the_next_call_is_answered(
    tmp_path: Path,
) -> None:
    worker, mark = Worker(patient), tmp_path / "begun"

    def kill() -> None:
        until = time.monotonic() + 60
        while not (mark.exists() and mark.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(int(mark.read_text()), signal.SIGKILL)

    threading.Thread(target=kill).start()
    begin = time.monotonic()
    with pytest.raises(DemoError, match=r"interrupted\. Try again"):
        worker.ask(str(mark), 300.0)
    assert time.monotonic() - begin < 60
    killed = int(mark.read_text())
    again = worker.ask(str(mark), 0.0)
    assert again == int(mark.read_text()) != killed
    worker.close()
