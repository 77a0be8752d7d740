"""The walls around the page: addresses it does not use are not there, and no body or upload is larger than it needs."""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import gradio as gr
import httpx
import pytest
from starlette.testclient import TestClient

from rita_demo.ui import server, walls
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.page import build
from tests.server import free_port
from tests.ui.addresses import addresses, filled
from tests.ui.fake import FakeEngine
from tests.ui.stranger import Stranger

pytestmark = pytest.mark.slow
API = "/gradio_api"
#: What answers something else than that it is not there; every other address of Gradio's says 404.
ANSWERS = {
    ("GET", path)
    for path in (
        "/", "/config", "/health", "/logout", "/theme.css", "/robots.txt", "/favicon.ico", "/manifest.json",
        f"{API}/startup-events", f"{API}/app_id", f"{API}/queue/data", f"{API}/heartbeat/{{session_hash}}",
    )
} | {
    ("POST", path)
    for path in ("/login", *(f"{API}/{name}" for name in ("queue/join", "run/{api_name}", "upload", "cancel", "reset")))
}  # fmt: skip
NOT_THERE = {401, 403, 404, 405}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where temporary files and uploads go."""
    place = tmp_path_factory.mktemp("walls")
    with pytest.MonkeyPatch.context() as patch:
        for name, variable in (("tmp", "TMPDIR"), ("uploads", "GRADIO_TEMP_DIR")):
            (place / name).mkdir()
            patch.setenv(variable, str(place / name))
        patch.setattr(tempfile, "tempdir", str(place / "tmp"))
        yield place


@pytest.fixture(scope="module")
def page(place: Path) -> Iterator[gr.Blocks]:
    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    page = build(engine, example=example)
    assert example.wait(120, film=True)
    yield page
    page.close(verbose=False)


@pytest.fixture(scope="module")
def address(page: gr.Blocks) -> str:
    return server.opened(page, "127.0.0.1", free_port())


def strays(page: gr.Blocks, place: Path) -> list[Path]:
    """Files that no sweep would ever find."""
    kept = {Path(name).resolve() for name in page.upload_file_set}
    kept |= {Path(name).resolve() for block in page.blocks.values() for name in block.temp_files}
    return [
        path for path in place.rglob("*") if path.is_file() and path.resolve() not in kept
    ]  # fmt: skip


def test_only_the_addresses_of_the_list_answer_and_none_leaves_a_file(
    address: str, page: gr.Blocks, place: Path
) -> None:
    visitor = Stranger(address)
    assert "A worked example" in visitor.open()
    everything = addresses(page.app.routes)
    assert len(everything) > 60
    assert ("POST", f"{API}/process_recording") in everything
    found = set()
    for method, path in everything:
        for body in bodies(method, visitor.page):
            url = filled(path, visitor.page)
            about = {"session_hash": visitor.page, "upload_id": "x"} if method == "GET" else None
            with visitor.http.stream(method, url, params=about, **body) as answer:
                assert answer.status_code < 500 or (method, path) == ("POST", f"{API}/run/{{api_name}}"), url  # fmt: skip
                if answer.status_code not in NOT_THERE:
                    found.add((method, path))
    assert found == ANSWERS
    assert strays(page, place) == []


def bodies(method: str, page: str) -> list[dict]:
    """What an address may like to be sent: an event, and a form with a file."""
    if method == "GET":
        return [{}]
    event = {"fn_index": 0, "data": [], "session_hash": page, "event_id": "x", "name": "x"}
    event |= {"component_id": 3, "fn_name": "x"}
    form = {"session_hash": page, "event_id": "x", "username": "x", "password": "x"}
    file = {"files": ("a.png", b"a"), "video": ("a.mp4", b"a" * 1000)}
    return [{"json": event}, {"data": form}, {"data": form, "files": file}]


def test_what_leads_around_the_list_is_not_there_either(address: str) -> None:
    http = httpx.Client(base_url=address)
    for path in (
        "gradio_api/deep_link/", "gradio_api//deep_link", "gradio_api/queue/../deep_link", "gradio_api%2fdeep_link",
        "gradio_api/queue/join/", "gradio_api/process_recording/", "/gradio_api/info", "docs", "openapi.json", "x",
    ):  # fmt: skip
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"):
            assert http.request(method, path).status_code in (404, 405), (method, path)


def test_the_path_that_a_proxy_serves_the_page_under_does_not_count() -> None:
    for scope, path in (
        ({"path": "/rita/config", "root_path": "/rita"}, "/config"),
        ({"path": "/rita", "root_path": "/rita/"}, "/"),
        ({"path": "/ritabook", "root_path": "/rita"}, "/ritabook"),
        ({"path": "/config"}, "/config"),
    ):
        assert walls._path(scope) == path


LIMITS = [("queue/join", walls.QUEUED), ("run/predict", walls.EVENT), ("cancel", walls.WORDS)]


@pytest.mark.parametrize(("path", "most"), LIMITS, ids=[row[0] for row in LIMITS])
@pytest.mark.parametrize("named", [True, False], ids=["length named", "length not named"])
def test_a_body_that_is_too_large_gets_a_sentence_and_just_fits_otherwise(
    address: str, path: str, most: int, named: bool
) -> None:
    visitor = Stranger(address)
    body = {"fn_index": 0, "data": [], "session_hash": visitor.page, "event_id": "x"}
    short = json.dumps(body).encode()
    for size, refused in ((most, False), (most + 1, True)):
        data = short.ljust(size)  # blanks after JSON are JSON
        sent = data if named else iter([data[: size // 2], data[size // 2 :]])
        head = {"Content-Type": "application/json"}
        answer = visitor.http.post(f"gradio_api/{path}", content=sent, headers=head)
        assert (answer.status_code == 413) is refused, answer.text[:200]
        if refused:
            assert answer.json() == {"detail": walls.too_much(most)}


def test_of_a_body_without_end_no_more_than_the_limit_is_read(address: str) -> None:
    sent = [0]

    def endless() -> Iterator[bytes]:
        while sent[0] < 4_000:
            sent[0] += 1
            yield b"x" * walls.MB
            time.sleep(0.005)

    head = {"Content-Type": "application/json"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walls, "PATIENCE", 0.5)
        try:
            answer = httpx.post(f"{address}gradio_api/queue/join", content=endless(), headers=head)
            assert answer.status_code == 413
        except httpx.NetworkError:  # hung up on while he still sent
            pass
    assert sent[0] < 1_000


def test_150_mb_to_the_queue_are_refused(address: str) -> None:
    body = json.dumps({"fn_index": 0, "data": ["x" * (150 * walls.MB)], "session_hash": "x"})
    head = {"Content-Type": "application/json"}
    answer = httpx.post(f"{address}gradio_api/queue/join", content=body, headers=head, timeout=60)
    assert answer.status_code == 413
    assert "more than the page takes" in answer.json()["detail"]


def test_an_upload_that_breaks_or_is_none_leaves_no_file(
    address: str, page: gr.Blocks, place: Path
) -> None:
    visitor = Stranger(address)
    with socket.create_connection((urlparse(address).hostname, urlparse(address).port)) as line:
        line.sendall(
            b"POST /gradio_api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n"
            b"Content-Type: multipart/form-data; boundary=b\r\n\r\n"
            b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n' + bytes(99_999)
        )  # fmt: skip
        until = time.monotonic() + 20
        while not strays(page, place) and time.monotonic() < until:
            time.sleep(0.02)
        assert strays(page, place), "it was not being written"
    for files in (
        [("other", ("a.png", b"1"))],
        [("files", ("a.png", b"2")), ("files", ("..", b"3"))],
        [("files", ("a.png", b"4")), ("other", ("a.png", b"5"))],
    ):
        assert visitor.http.post("gradio_api/upload", files=files).status_code in (200, 400)
    until = time.monotonic() + 20
    while strays(page, place) and time.monotonic() < until:
        time.sleep(0.05)
    assert strays(page, place) == []
    assert not list((place / "uploads").glob("*arriving-*"))


def test_two_files_of_one_upload_arrive_and_can_be_used(
    address: str, page: gr.Blocks, place: Path
) -> None:
    visitor = Stranger(address)
    sent = visitor.http.post(
        "gradio_api/upload", files=[("files", ("a.png", b"6")), ("files", ("b.png", b"7"))]
    )
    assert [Path(name).read_bytes() for name in sent.json()] == [b"6", b"7"]
    assert set(sent.json()) <= {str(name) for name in page.upload_file_set}
    assert strays(page, place) == []


def test_large_events_that_are_held_together_have_a_limit_and_small_ones_pass(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walls, "HELD", 8 * walls.MB)
    there, port = urlparse(address).hostname, urlparse(address).port
    large = b'{"fn_index": 0, "session_hash": "x", "data": ["' + b"x" * (6 * walls.MB)
    visitor = Stranger(address)
    visitor.open()
    head = {"Content-Type": "application/json"}

    def send_large() -> httpx.Response:
        body = large + b'"]}'
        return visitor.http.post("gradio_api/run/predict", content=body, headers=head)

    waiting = [socket.create_connection((there, port)) for _ in range(2)]
    for line in waiting:  # the first part of two events, whose rest never comes
        line.sendall(
            b"POST /gradio_api/run/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 20000000\r\n\r\n" + large
        )
    until = time.monotonic() + 20
    while (answer := send_large()).status_code != 503 and time.monotonic() < until:
        time.sleep(0.05)
    assert answer.status_code == 503
    assert answer.json() == {"detail": walls.BUSY}
    assert "agreement" in visitor.choose_tab("memory"), "a small event passes"
    for line in waiting:
        line.close()
    until = time.monotonic() + 20
    while (answer := send_large()).status_code == 503 and time.monotonic() < until:
        time.sleep(0.05)
    assert answer.status_code != 503, "what was held is not free again"


JSON_HEADERS = {"Content-Type": "application/json"}
FORM_HEADERS = {"Content-Type": "multipart/form-data; boundary=x"}


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("run/predict", b'{"data": [NaN], "fn_index": {}}', JSON_HEADERS),
        ("run/predict", b'{"data": ["\xff"]}', {}),
        ("run/predict", b'{"data": [], "fn_index": 1000003}', JSON_HEADERS),
        ("run/predict", b'{"data": []}', JSON_HEADERS),
        ("queue/join", b'{"data": [], "fn_index": "\\ud800"}', JSON_HEADERS),
        (
            "upload",
            b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\nwords\r\n--x--\r\n',
            FORM_HEADERS,
        ),
    ],
    ids=["not JSON numbers", "not text", "no such event", "no event", "half a letter", "no file"],
)
def test_a_body_that_cannot_be_read_is_the_sender_s_fault(
    path: str,
    body: bytes,
    headers: dict[str, str],
    address: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    visitor = Stranger(address)
    visitor.open()
    answer = visitor.http.post(f"gradio_api/{path}", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["detail"]
    assert not [one for one in caplog.records if one.exc_info], "a traceback in the log"
    assert "agreement" in visitor.choose_tab("memory"), "the next request works"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_error_is_the_sender_s_only_where_he_sent_something(method: str) -> None:
    async def breaks(*_: object) -> None:
        raise KeyError("ours")

    def answer() -> httpx.Response:
        client = TestClient(walls.Walls(breaks))
        return client.request(method, "/" if method == "GET" else f"{API}/queue/join")

    if method == "POST":
        assert answer().status_code == 400
    else:
        with pytest.raises(KeyError, match="ours"):
            answer()
