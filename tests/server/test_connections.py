"""Connections that send no whole request end, and a new one is always accepted."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlparse

import httpx
import pytest

from rita_demo.server import connections
from tests.live_server import ROOT, wait_until
from tests.page_client import HttpClient
from tests.ui.http_client import build_toy_page, launch_page

pytestmark = pytest.mark.slow
HALF = b"GET /health HTTP/1.1\r\nHost: x\r\nX-More: "


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    page = build_toy_page()
    yield launch_page(page)
    page.close(verbose=False)


def connect(address: str) -> socket.socket:
    return socket.create_connection((urlparse(address).hostname, urlparse(address).port), 10)


def is_closed(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_request_that_does_not_get_complete_is_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    with connect(address) as silent, connect(address) as half, connect(address) as second, connect(address) as slow:
        half.sendall(HALF)
        second.sendall(HALF + b"\r\n\r\n")
        assert second.recv(12) == b"HTTP/1.1 200"
        while b"ok" not in second.recv(1000):
            pass
        second.sendall(HALF)  # of another request on this connection
        for n in range(4):
            slow.sendall(HALF if not n else b"x")
            time.sleep(0.1)
        assert wait_until(lambda: all(map(is_closed, (silent, half, second, slow))), 5)


def test_an_answer_that_takes_long_is_not_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    visitor = HttpClient(address)
    with visitor.connected():
        time.sleep(0.6)
        assert "Stored example." in visitor.open()
        assert "What the memory holds" in visitor.choose_room("memory")


def test_of_too_many_connections_the_longest_silent_one_is_closed(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    with HttpClient(address).connected(), ExitStack() as lines:
        half = []
        for _ in range(20):
            half.append(lines.enter_context(connect(address)))
            half[-1].sendall(HALF)
        assert wait_until(lambda: all(map(is_closed, half[:15])), 10)
        assert not is_closed(half[-1])
        for _ in range(5):
            assert httpx.get(f"{address}health", timeout=5).status_code == 200


LIMIT = """
import resource
from rita_demo.server.connections import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
raise_file_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_process_opens_as_many_files_as_it_may() -> None:
    run = subprocess.run([sys.executable, "-c", LIMIT], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "(300, 300)\n", run.stderr
