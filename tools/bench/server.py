"""The served page, as visitors without a browser meet it: one upload, many presses at once, many visits in a row."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from rita_demo.data.pictures import png_bytes
from rita_demo.data.samples import sample
from tools.bench.http_client import HttpClient
from tools.bench.stages import PICTURE, class_names
from tools.bench.timing import resident_bytes

UPLOADS = 5  # timed, after one that is not
VISITORS, NAMES_EACH = 20, 5
VISITS, WINDOW = 200, 25  # the server returns freed pages now and then: the highest of the last visits counts
REST_SECONDS = 25.0  # after the visits: every 20 s the server returns freed pages
TIMEOUT_SECONDS = 180.0  # until the server must answer
FORM = {"vocabulary": "caltech101", "truth": "not given"}  # 100 classes; the rest as the page opens: PGD, seven steps
#: What the page shows first, and a text that only that part of an answer has.
TIMED_TEXTS = {"the clean picture": '\\"clean\\": \\"data:', "the answer": '\\"claim\\":'}
_NUMBER = count(1)


@dataclass(frozen=True)
class RunningServer:
    """Where it answers, its process, and the seconds from its start to the first answer."""

    address: str
    process: int
    start_seconds: float


def measure(backbone: str, visits: int = VISITS, **form: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds by stage name, and the server's resident memory in GB: the highest of the last visits, and at rest after them.

    ``backbone``: the name of the server's model. ``form``: other values of the page's form, by name.
    """
    with start_server(backbone) as server:
        found = upload_seconds(server.address, **form)
        highest = visits_bytes(server, visits, **form)
        time.sleep(REST_SECONDS)
        rests = resident_bytes(server.process)
        found[f"server: {VISITORS} visitors at once, the last answer"] = crowd_seconds(server.address, **form)
    memory = {f"server_gb_after_{visits}_visits": rests, f"server_gb_during_{visits}_visits": highest}
    return found, {name: size / 1e9 for name, size in memory.items() if size}


def upload_seconds(address: str, **form: Any) -> dict[str, float]:
    """From the first byte of a new picture to each part of its answer; medians."""
    visitor, taken = _visitor(address), list[dict[str, float]]()
    for _ in range(UPLOADS + 1):
        begin, seen = time.perf_counter(), dict[str, float]()
        for line in _run_lines(visitor, _new_picture(), FORM | form):
            seen |= {
                name: time.perf_counter() - begin
                for name, mark in TIMED_TEXTS.items()
                if mark in line and name not in seen
            }
        taken.append(seen | {"whole story": time.perf_counter() - begin})
    return {f"server: upload, {name}": median(one[name] for one in taken[1:]) for name in taken[0]}


def crowd_seconds(address: str, **form: Any) -> float:
    """From when all visitors press at once, each with a picture and class names of their own, to the last answer."""
    names = class_names(VISITORS * NAMES_EACH)
    lists = [", ".join(names[n : n + NAMES_EACH]) for n in range(0, len(names), NAMES_EACH)]
    forms = [FORM | {"vocabulary": "own", "own_names": listed} | form for listed in lists]
    jobs = [(visitor := _visitor(address), visitor.upload(_new_picture(), **own)[0], own) for own in forms]
    with ThreadPoolExecutor(VISITORS) as pool:
        begin = time.perf_counter()
        list(pool.map(lambda job: _checked(job[0].stream(job[1], **job[2])), jobs))
        return time.perf_counter() - begin


def visits_bytes(server: RunningServer, visits: int, **form: Any) -> int | None:
    """The highest resident memory of the server after each of the last visits; None without Linux's ``/proc``. A visitor
    opens the page, hands in a picture, waits for the whole answer and leaves."""
    config, sizes = None, list[int | None]()
    for _ in range(visits):
        visitor = _visitor(server.address, config)
        config = visitor.config
        with visitor.connected():
            _checked(_run_lines(visitor, _new_picture(), FORM | form))
        visitor.http.close()
        sizes.append(resident_bytes(server.process))
    return max((size for size in sizes[-WINDOW:] if size), default=None)


def _visitor(address: str, config: dict[str, Any] | None = None) -> HttpClient:
    visitor = HttpClient(address, config)
    visitor.http.timeout = 600
    visitor.open()
    return visitor


def _run_lines(visitor: HttpClient, picture: bytes, form: dict[str, Any]) -> Iterator[str]:
    """All lines of the run that an upload starts, as they come."""
    (run,) = visitor.upload(picture, **form)
    yield from visitor.stream(run, **form)


def _checked(lines: Iterator[str]) -> Sequence[str]:
    """All lines. Raises RuntimeError: the run failed."""
    found = list(lines)
    if '"success":true' not in found[-1]:
        raise RuntimeError(f"The page did not answer: {found[-1][:400]}")
    return found


def _new_picture() -> bytes:
    """A file of a picture that the server has not seen."""
    return png_bytes(np.roll(sample(PICTURE).load(square="picture").pixels, 3 * next(_NUMBER), axis=(0, 1)))


@contextmanager
def start_server(backbone: str) -> Iterator[RunningServer]:
    """``python -m rita_demo serve`` on a free port until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    words = ["-m", "rita_demo", "serve", "--port", str(port), "--backbone", backbone]
    surroundings, quiet = os.environ | {"HF_HUB_OFFLINE": "1", "RITA_HOST": "127.0.0.1"}, subprocess.DEVNULL
    root, begin = Path(__file__).resolve().parents[2], time.perf_counter()
    server = subprocess.Popen([sys.executable, *words], cwd=root, env=surroundings, stdout=quiet, stderr=quiet)
    try:
        wait_for(lambda: get_seconds(address) > 0, server)
        yield RunningServer(address, server.pid, time.perf_counter() - begin)
    finally:
        server.terminate()
        server.wait(30)


def wait_for(answers: Callable[[], bool], server: subprocess.Popen[Any]) -> None:
    """Until the server answers. Raises RuntimeError: it has ended, or takes too long."""
    until = time.perf_counter() + TIMEOUT_SECONDS
    while True:
        if server.poll() is not None or time.perf_counter() > until:
            raise RuntimeError(f"The server does not answer; its status is {server.poll()} (None: it runs).")
        with suppress(OSError):
            if answers():
                return
        time.sleep(0.05)


def get_seconds(address: str) -> float:
    """Seconds of one GET of the page."""
    begin = time.perf_counter()
    without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with without_proxy.open(address, timeout=30) as answer:
        answer.read()
    return time.perf_counter() - begin
