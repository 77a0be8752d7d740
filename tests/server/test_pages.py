"""Heartbeats: an invented page costs nothing, open ones are limited, and an open page is not forgotten before others."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlparse

import gradio as gr
import httpx
import pytest

from rita_demo.server import pages
from rita_demo.server.pages import Pages
from rita_demo.ui.session.store import Sessions
from tests.live_server import wait_until
from tests.page_client import HttpClient
from tests.ui.http_client import build_toy_page, launch_page

pytestmark = pytest.mark.slow
SESSIONS = Sessions()


@pytest.fixture(scope="module")
def page() -> Iterator[gr.Blocks]:
    page = build_toy_page(sessions=SESSIONS)
    yield page
    page.close(verbose=False)


@pytest.fixture(scope="module")
def address(page: gr.Blocks) -> str:
    return launch_page(page, (), SESSIONS)


def beat(address: str, page: str) -> socket.socket:
    """An open heartbeat, of which the first line has come."""
    line = socket.create_connection((urlparse(address).hostname, urlparse(address).port), 10)
    line.sendall(f"GET /gradio_api/heartbeat/{page} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert b" 200 " in line.recv(100)
    return line


def none_open(page: gr.Blocks) -> bool:
    return wait_until(lambda: not page.state_holder.connected)


def test_a_closed_heartbeat_of_an_invented_page_builds_nothing(address: str, page: gr.Blocks) -> None:
    visitor = HttpClient(address)
    visitor.open()
    known, sessions = dict(page.state_holder.session_data), len(SESSIONS)
    for line in [beat(address, f"invented{n}") for n in range(20)]:
        line.close()
    assert none_open(page)
    assert page.state_holder.session_data == known
    assert len(SESSIONS) == sessions
    assert "What the memory holds" in visitor.choose_room("memory")


def test_what_is_kept_of_a_page_is_deleted_with_its_last_heartbeat(address: str, page: gr.Blocks) -> None:
    stays, leaves = HttpClient(address), HttpClient(address)
    for visitor in (stays, leaves):
        visitor.open()
    kept, sessions = page.state_holder, len(SESSIONS)
    first, second = beat(address, leaves.session_hash), beat(address, leaves.session_hash)
    first.close()
    assert wait_until(lambda: kept.connected[leaves.session_hash] == 1)
    assert leaves.session_hash in kept, "its other connection is open"
    second.close()
    assert none_open(page)
    assert leaves.session_hash not in kept
    assert set(kept.time_last_used) == set(kept.session_data)
    assert len(SESSIONS) == sessions - 1
    assert "What the memory holds" in stays.choose_room("memory")


def test_open_heartbeats_are_limited_for_an_address_and_for_all(
    address: str, page: gr.Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_BEATS_PER_ADDRESS", 3)
    (heartbeats,) = (one.endpoint for one in page.app.routes if getattr(one, "path", "") == pages.HEARTBEAT)
    url, refusal = f"{address}gradio_api/heartbeat/one-more", {"detail": pages.TOO_MANY_BEATS}
    elsewhere = {"X-Forwarded-For": "192.0.2.1"}  # said by a proxy on this machine
    with ExitStack() as lines:
        for n in range(3):
            lines.enter_context(beat(address, f"p{n}"))
        answer = httpx.get(url)
        assert (answer.status_code, answer.json()) == (429, refusal)
        with httpx.stream("GET", url, headers=elsewhere) as other:
            assert other.status_code == 200
        monkeypatch.setattr(heartbeats, "_most", 3)
        assert wait_until(lambda: page.state_holder.connected.total() == 3)
        assert httpx.get(url, headers=elsewhere).json() == refusal
    assert none_open(page)
    beat(address, "p6").close()


def test_the_heartbeat_of_a_page_that_never_asks_for_anything_ends(
    address: str, page: gr.Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(pages, "UNKNOWN_SECONDS", 0.2)
    visitor = HttpClient(address)
    visitor.open()
    with visitor.connected():
        text = httpx.get(f"{address}gradio_api/heartbeat/unknown", timeout=10).text
        assert text.count("ALIVE") == 4
        assert wait_until(lambda: page.state_holder.connected == {visitor.session_hash: 1})


def test_a_page_with_a_heartbeat_keeps_its_place_before_one_without() -> None:
    kept = Pages(gr.Blocks())
    kept.capacity = 3
    kept.connected["open"] += 1
    for name in ("open", "old", "new", "newer"):
        kept[name]
    assert list(kept.session_data) == ["open", "new", "newer"]
    for name in ("new", "newer"):
        kept.connected[name] += 1
    kept["newest"]
    assert list(kept.session_data) == ["new", "newer", "newest"], "the longest unused one, where all are open"
    assert set(kept.time_last_used) == set(kept.session_data)


def test_gradio_stores_no_value_of_a_page(address: str, page: gr.Blocks) -> None:
    """Files for the browser have tens of megabytes."""
    visitor = HttpClient(address)
    visitor.open()
    assert "base64," in visitor.press("save-run", data={"figures": {"rita-plan": "<svg>" + "x" * 300_000}})
    state = page.state_holder.session_data[visitor.session_hash]
    values = [getattr(one, "value", None) for one in state.blocks_config.blocks.values()]
    assert "octet-stream" not in json.dumps([values, state.config_values], default=str)
