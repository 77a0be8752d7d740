"""A worker process that is killed gives one sentence, and the next call gets a new one."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rita_demo.figures.analysis import UmapProcess
from rita_demo.records.errors import DemoError
from tests.live_server import ROOT, wait_until


def slow_work(mark: str, seconds: float) -> int:
    """Work that writes its process id to a file when it begins."""
    Path(mark).write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.slow
def test_a_killed_worker_gives_an_error_message_and_the_next_call_works(tmp_path: Path) -> None:
    worker, mark = UmapProcess(slow_work), tmp_path / "begun"

    def kill() -> None:
        wait_until(lambda: mark.exists() and mark.read_text(), 60, 0.02)
        os.kill(int(mark.read_text()), signal.SIGKILL)

    threading.Thread(target=kill).start()
    begin = time.monotonic()
    with pytest.raises(DemoError, match=r"interrupted\. Try again"):
        worker.compute(str(mark), 300.0)
    assert time.monotonic() - begin < 60
    killed = int(mark.read_text())
    again = worker.compute(str(mark), 0.0)
    assert again == int(mark.read_text()) != killed
    worker.close()


UMAP = """
import numpy as np
from rita_demo.figures.analysis.projection import umap
print(np.isfinite(umap(np.random.default_rng(0).normal(size=(24, 8)), 5, np.arange(24))).all())
"""


@pytest.mark.nightly  # it compiles for a minute
def test_umap_works_for_a_user_without_a_home_and_with_read_only_packages(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NUMBA_"))}
    environment |= {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    # as where the packages cannot be written: root can write everywhere
    environment["NUMBA_CACHE_LOCATOR_CLASSES"] = "UserProvidedCacheLocator,UserWideCacheLocator"
    run = subprocess.run([sys.executable, "-c", UMAP], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.stdout == "True\n", run.stderr[-2000:]
    (own,) = tmp_path.glob("rita-*/numba")
    assert list(own.iterdir()), "it is compiled once"
