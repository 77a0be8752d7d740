"""Hundreds of heartbeats of pages that do not exist, at night two thousand, opened and closed: nobody notices."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlparse

import httpx
import numpy as np
import pytest

from tests.live_server import start_server
from tests.load.clients import ClientRequest, LoadClient
from tests.load.test_memory import resident_megabytes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ACCOUNT = ("me", "a-long-password")
HEALTH_SECONDS = 5.0  # at most, while the same cores make the connections; 300 invented pages took 20 to 30
EXTRA_MEGABYTES = 60  # 300 invented pages took 280


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log, words = tmp_path_factory.mktemp("server") / "log.txt", ("-m", "tests.server.toy_server")
    with start_server(log, *words, RITA_AUTH=":".join(ACCOUNT)) as local:
        yield local


def health_seconds(address: str) -> float:
    begin = time.perf_counter()
    assert httpx.get(f"{address}health", timeout=60).json()["status"] == "ok"
    return time.perf_counter() - begin


def open_and_close(address: str, cookie: str, heartbeats: int) -> list[bytes]:
    """The first line of the answer to each heartbeat; all are open at the same time, as far as the server lets them."""
    target, lines, answers = urlparse(address), [], []
    for number in range(heartbeats):
        line = socket.create_connection((target.hostname, target.port), 30)
        line.sendall(f"GET /gradio_api/heartbeat/invented{number} HTTP/1.1\r\nHost: x\r\n{cookie}\r\n".encode())
        lines.append(line)
        if number % 200 == 199:
            assert health_seconds(address) < HEALTH_SECONDS
    for line in lines:
        answers.append(b"")
        with suppress(OSError):  # closed with what was sent unread
            answers[-1] = line.recv(100)[:12]
        line.close()
    return answers


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("logged_in", [False, True], ids=["strangers", "somebody who has logged in"])
@pytest.mark.nightly
def test_heartbeats_of_invented_pages_are_not_noticed(address: str, logged_in: bool) -> None:
    heartbeats = 2_000
    assert os.sysconf("SC_OPEN_MAX") > heartbeats + 100, "this process must hold them all: ulimit -n 4096"
    visitor = LoadClient(address, ClientRequest(1), login=ACCOUNT)
    cookie = f"Cookie: {'; '.join(f'{one.name}={one.value}' for one in visitor.http.cookies.jar)}\r\n" * logged_in
    assert '"success":true' in visitor.run()
    saved, memory = visitor.saved_run(), visitor.exported_memory()
    with visitor.connected():
        before = resident_megabytes(address)
        answers = open_and_close(address, cookie, heartbeats)
        time.sleep(1)  # the ends of all are seen
        assert health_seconds(address) < HEALTH_SECONDS
        assert resident_megabytes(address) < before + EXTRA_MEGABYTES
        answered = [answers.count(b"HTTP/1.1 " + status) for status in (b"200", b"401", b"429")]
        assert (answered[0] > 0, answered[1] > 0, answered[2] > 0) == (logged_in, not logged_in, logged_in)
        np.testing.assert_equal(vars(visitor.exported_memory()), vars(memory))
        assert visitor.saved_run().names == saved.names
        assert '"success":true' in visitor.run()
