"""The process makes no request that was not asked for: an audit hook records every connection."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live_server import ROOT
from tests.page_client import HttpClient
from tests.process.test_shutdown import REAL_APP, TOY_APP, ServerProcess, server_process

pytestmark = pytest.mark.slow
#: Loaded by Python at its start, before anything else. Names are looked up before they are connected to.
AUDIT_HOOK = """
import os, sys
def record(event, words):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        place = words[1] if event in {"socket.connect", "socket.sendto"} else words[0]
        host = place[0] if isinstance(place, tuple) else place
        host = host.decode() if isinstance(host, bytes) else host
        if host not in {None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0"}:
            with open(os.environ["RECORD"], "a") as file:
                file.write(f"{event} {host}\\n")
sys.addaudithook(record)
"""


@contextmanager
def audited_server(folder: Path, *words: str, **more: str) -> Iterator[tuple[ServerProcess, HttpClient]]:
    """A server process whose connections are recorded, and a visitor who has opened its page."""
    (folder / "sitecustomize.py").write_text(AUDIT_HOOK)
    audited = {"PYTHONPATH": f"{folder}:{ROOT}", "RECORD": str(folder / "record.txt"), "HF_HOME": str(folder / "hub")}
    offered = {"HF_HUB_OFFLINE": "0", "GRADIO_ANALYTICS_ENABLED": "True"}
    with server_process(folder, *words, **audited | offered | more) as server:
        server.wait_until_open()
        visitor = HttpClient(server.address)
        visitor.open()
        yield server, visitor


@pytest.fixture(scope="module")
def toy_page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, HttpClient]]:
    """The page with the toy engine, and its visitor."""
    with audited_server(tmp_path_factory.mktemp("toy"), *TOY_APP) as both:
        yield both


def connections(server: ServerProcess) -> str:
    file = server.folder / "record.txt"
    return file.read_text() if file.exists() else ""


@pytest.mark.nightly
def test_starting_opening_and_defending_open_no_connection(tmp_path: Path) -> None:
    with audited_server(tmp_path, *REAL_APP, GRADIO_ANALYTICS_ENABLED="") as (server, visitor):
        assert "Done in" in visitor.press("go", setting_steps=1)
        for tab in ("inside", "arena", "memory", "figures"):
            visitor.choose_room(tab)
        assert connections(server) == ""


def test_an_address_given_by_a_client_is_not_contacted(toy_page: tuple[ServerProcess, HttpClient]) -> None:
    url, (server, visitor) = "https://example.org/picture.png", toy_page
    before, event = connections(server), visitor.event("upload", "upload")
    for file in ({"path": url}, {"path": "x.png", "url": url}, {"path": url, "url": url}):
        visitor.call(event["id"], [None, file | {"meta": {"_type": "gradio.FileData"}}, "pgd", "caltech101", ""])
    for path in (f"gradio_api/file={url}", f"gradio_api/proxy={url}", f"gradio_api/file/{url}"):
        assert visitor.http.get(path).status_code in {400, 403, 404}
    time.sleep(0.5)
    assert connections(server) == before


def test_a_requested_download_is_recorded(toy_page: tuple[ServerProcess, HttpClient]) -> None:
    """So that silence above means something."""
    server, visitor = toy_page
    before = connections(server)
    visitor.press("fetch-go", fetch_which="dtd")
    assert "robots.ox.ac.uk" in connections(server).removeprefix(before)
