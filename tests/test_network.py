"""No request leaves the machine that nobody asked for: the process tells of every connection it tries."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.test_going_down import FAKE, REAL, House, house
from tests.ui.stranger import Stranger

pytestmark = pytest.mark.slow
#: Loaded by Python at its start, before anything else. Names are looked up before they are connected to.
TELLTALE = """
import os, sys
def told(event, words):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        place = words[1] if event in {"socket.connect", "socket.sendto"} else words[0]
        host = place[0] if isinstance(place, tuple) else place
        host = host.decode() if isinstance(host, bytes) else host
        if host not in {None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0"}:
            with open(os.environ["TOLD"], "a") as file:
                file.write(f"{event} {host}\\n")
sys.addaudithook(told)
"""


@pytest.fixture
def watched(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(TELLTALE)
    root = Path(__file__).resolve().parents[1]
    return {
        "PYTHONPATH": f"{tmp_path}:{root}", "TOLD": str(tmp_path / "told.txt"),
        "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hub"), "GRADIO_ANALYTICS_ENABLED": "True",
    }  # fmt: skip


def told(server: House) -> str:
    file = server.folder / "told.txt"
    return file.read_text() if file.exists() else ""


def test_starting_opening_and_defending_ask_nobody(tmp_path: Path, watched: dict[str, str]) -> None:
    with house(tmp_path, *REAL, **watched | {"GRADIO_ANALYTICS_ENABLED": ""}) as server:
        server.until_open()
        visitor = Stranger(server.address)
        visitor.open()
        assert "Done in" in visitor.press("go", knob_steps=1)
        for tab in ("inside", "memory", "stream", "figures", "learn-tab"):
            visitor.choose_tab(tab)
        assert told(server) == ""


def test_an_address_that_a_visitor_names_is_not_asked(
    tmp_path: Path, watched: dict[str, str]
) -> None:
    url = "https://example.org/picture.png"
    with house(tmp_path, *FAKE, **watched) as server:
        server.until_open()
        visitor = Stranger(server.address)
        visitor.open()
        event = visitor.event("upload", "upload")
        for file in ({"path": url}, {"path": "x.png", "url": url}, {"path": url, "url": url}):
            visitor.call(event["id"], [None, file | {"meta": {"_type": "gradio.FileData"}}])
        for path in (f"gradio_api/file={url}", f"gradio_api/proxy={url}", f"gradio_api/file/{url}"):
            assert visitor.http.get(path).status_code in {400, 403, 404}
        time.sleep(0.5)
        assert told(server) == ""


def test_a_download_that_was_asked_for_is_told(tmp_path: Path, watched: dict[str, str]) -> None:
    """So that silence above means something."""
    with house(tmp_path, *FAKE, **watched | {"RITA_DATA": str(tmp_path / "data")}) as server:
        server.until_open()
        visitor = Stranger(server.address)
        visitor.open()
        visitor.press("fetch-go", fetch_which="dtd")
        assert "robots.ox.ac.uk" in told(server)
