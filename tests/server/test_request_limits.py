"""The walls around the page: addresses it does not use are not there, and no body or upload is larger than it needs."""

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import gradio as gr
import httpx
import pytest
from starlette.testclient import TestClient

from rita_demo.server import cleanup, events, launch, pages, request_limits
from rita_demo.server.pages import Pages
from rita_demo.ui.session.store import Sessions
from tests.live_server import ROOT, wait_until
from tests.page_client import HttpClient
from tests.ui.addresses import addresses, filled
from tests.ui.http_client import build_toy_page, launch_page

pytestmark = pytest.mark.slow
API = "/gradio_api"
JSON_HEADERS = {"Content-Type": "application/json"}
FORM_HEADERS = {"Content-Type": "multipart/form-data; boundary=x"}
_GETS = f"""/ /config /health /logout /theme.css /robots.txt /favicon.ico /manifest.json {API}/app_id {API}/queue/data
{API}/info {API}/call/{{api_name}}/{{event_id}} {API}/heartbeat/{{session_hash}}"""
_POSTS = f"""/login {API}/queue/join {API}/run/{{api_name}} {API}/call/v2/{{api_name}} {API}/upload {API}/cancel {API}/reset"""
#: What answers something else than that it is not there; every other address of Gradio's says 404.
ALLOWED_ROUTES = {("GET", path) for path in _GETS.split()} | {("POST", path) for path in _POSTS.split()}
REFUSED_STATUS = {401, 403, 404, 405}
HALF = b"GET /health HTTP/1.1\r\nHost: x\r\nX-More: "
SESSIONS = Sessions()


@pytest.fixture(scope="module")
def temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where temporary files and uploads go."""
    place = tmp_path_factory.mktemp("walls")
    with pytest.MonkeyPatch.context() as patch:
        for name, variable in (("tmp", "TMPDIR"), ("uploads", "GRADIO_TEMP_DIR")):
            (place / name).mkdir()
            patch.setenv(variable, str(place / name))
        patch.setattr(tempfile, "tempdir", str(place / "tmp"))
        yield place


@pytest.fixture(scope="module")
def page(temporary_folder: Path) -> Iterator[gr.Blocks]:
    page = build_toy_page(sessions=SESSIONS)
    yield page
    page.close(verbose=False)


@pytest.fixture(scope="module")
def address(page: gr.Blocks) -> str:
    return launch_page(page, (), SESSIONS)


def connect(address: str, first: bytes = b"") -> socket.socket:
    """A connection of our own, on which this is sent."""
    line = socket.create_connection((urlparse(address).hostname, urlparse(address).port), 20)
    line.sendall(first)
    return line


def leftover_files(place: Path) -> list[Path]:
    """Files that no sweep would ever find: those that are there after their hour."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleanup, "UPLOAD_MAX_AGE", -1)
        cleanup.sweep_uploads(place / "uploads")
    return [path for path in place.rglob("*") if path.is_file()]


def test_only_allowed_routes_answer_and_no_file_stays(address: str, page: gr.Blocks, temporary_folder: Path) -> None:
    visitor = HttpClient(address)
    assert "Stored example." in visitor.open()
    everything = addresses(page.app.routes)
    assert len(everything) > 60
    assert ("POST", f"{API}/process_recording") in everything
    found = set()
    for method, path in everything:
        for body in bodies(method, visitor.session_hash):
            url = filled(path, visitor.session_hash)
            about = {"session_hash": visitor.session_hash, "upload_id": "x"} if method == "GET" else None
            with visitor.http.stream(method, url, params=about, **body) as answer:
                assert answer.status_code < 500 or (method, path) == ("POST", f"{API}/run/{{api_name}}"), url
                if answer.status_code not in REFUSED_STATUS:
                    found.add((method, path))
    assert found == ALLOWED_ROUTES
    assert leftover_files(temporary_folder) == []


def test_listening_for_an_unknown_visitor_ends_without_an_error(address: str, caplog) -> None:
    with caplog.at_level("ERROR"):
        HttpClient(address).http.get(f"{API}/queue/data", params={"session_hash": "nobody"}, timeout=30)
    assert not [record for record in caplog.records if record.exc_info]


def bodies(method: str, page: str) -> list[dict]:
    """What an address may like to be sent: an event, and a form with a file."""
    if method == "GET":
        return [{}]
    event = {"fn_index": 0, "data": [], "session_hash": page, "event_id": "x"}
    event |= {"name": "x", "component_id": 3, "fn_name": "x"}
    form = {"session_hash": page, "event_id": "x", "username": "x", "password": "x"}
    file = {"files": ("a.png", b"a"), "video": ("a.mp4", b"a" * 1000)}
    return [{"json": event}, {"data": form}, {"data": form, "files": file}]


def test_path_tricks_do_not_bypass_the_route_list(address: str) -> None:
    http = httpx.Client(base_url=address)
    tricks = """gradio_api/deep_link/ gradio_api//deep_link gradio_api/queue/../deep_link gradio_api%2fdeep_link
    gradio_api/queue/join/ gradio_api/process_recording/ /gradio_api/info/ docs openapi.json x"""
    for path in filter(None, re.split(r"\s+", tricks)):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"):
            assert http.request(method, path).status_code in (404, 405), (method, path)


def test_the_proxy_root_path_is_ignored_by_the_route_list() -> None:
    for scope, path in (
        ({"path": "/rita/config", "root_path": "/rita"}, "/config"),
        ({"path": "/rita", "root_path": "/rita/"}, "/"),
        ({"path": "/ritabook", "root_path": "/rita"}, "/ritabook"),
        ({"path": "/config"}, "/config"),
    ):
        assert request_limits.request_path(scope) == path


class WithoutLogin:
    """The application around a middleware; nobody needs to log in."""

    auth, cookie_id, tokens = None, "", ()

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.inside(scope | {"app": self}, receive, send)


LIMITS = {
    "queue/join": request_limits.QUEUED_EVENT_LIMIT,
    "run/predict": request_limits.DIRECT_EVENT_LIMIT,
    "cancel": request_limits.SMALL_LIMIT,
}


@pytest.mark.parametrize(("path", "most"), LIMITS.items(), ids=LIMITS)
@pytest.mark.parametrize("named", [True, False], ids=["length named", "length not named"])
def test_a_body_above_the_limit_gives_an_error_message_and_at_the_limit_is_accepted(address, path, most, named) -> None:
    visitor = HttpClient(address)
    body = {"fn_index": 0, "data": [], "session_hash": visitor.session_hash, "event_id": "x"}
    short = json.dumps(body).encode()
    for size, refused in ((most, False), (most + 1, True)):
        data = short.ljust(size)  # blanks after JSON are JSON
        sent = data if named else iter([data[: size // 2], data[size // 2 :]])
        answer = visitor.http.post(f"gradio_api/{path}", content=sent, headers=JSON_HEADERS)
        assert (answer.status_code == 413) is refused, answer.text[:200]
        if refused:
            assert answer.json() == {"detail": request_limits.too_large_text(most)}


@pytest.mark.parametrize("path", ["queue/join", "run/predict"])
def test_an_event_of_very_many_values_is_refused_before_it_is_read(address: str, path: str) -> None:
    """13 million empty objects, 40 MB, take a gigabyte, and 64 events may wait."""
    visitor, limit = HttpClient(address), LIMITS[path]
    most = request_limits.MAX_VALUES[limit]
    for pairs, refused in ((most // 2 - 100, False), (most // 2 + 1, True)):
        body = {"fn_index": 0, "session_hash": visitor.session_hash, "data": [{}] * pairs}
        data = json.dumps(body, separators=(",", ":"))
        assert len(data) < limit
        answer = visitor.http.post(f"gradio_api/{path}", content=data, headers=JSON_HEADERS)
        assert (answer.status_code == 413) is refused, answer.text[:200]
    assert answer.json() == {"detail": events.TOO_MANY_VALUES.format(most)}


def test_a_login_form_of_many_parts_is_refused(address: str) -> None:
    """Each part takes a temporary file: 900 of them took 80 ms."""
    parts = [("x", (f"{n}", b"")) for n in range(60)]
    answer = httpx.post(f"{address}login", data={"username": "x", "password": "x"}, files=parts)
    assert (answer.status_code, answer.json()) == (413, {"detail": request_limits.too_large_text(4 << 10)})


def test_a_body_that_stops_arriving_is_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "SILENT_SECONDS", 0.3)
    with connect(address, b"POST /gradio_api/queue/join HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{") as line:
        answer = line.makefile().read()
    assert answer.startswith("HTTP/1.1 408")
    assert request_limits.TOO_SLOW in answer


def test_one_address_has_a_limit_of_open_requests_and_the_health_check_none(address, monkeypatch) -> None:
    monkeypatch.setattr(request_limits, "MAX_OPEN_REQUESTS", 2)
    with ExitStack() as open_requests:
        for n in range(2):
            beat = open_requests.enter_context(httpx.stream("GET", f"{address}gradio_api/heartbeat/{n}"))
            assert beat.status_code == 200
        answer = httpx.get(address)
        assert (answer.status_code, answer.json()) == (429, {"detail": request_limits.TOO_MANY_REQUESTS})
        assert httpx.get(f"{address}health").status_code == 200
        assert httpx.get(address, headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 200
    assert wait_until(lambda: httpx.get(address).status_code == 200)


@pytest.mark.parametrize("path", ["queue/join", "run/predict"])
def test_a_page_with_a_very_long_random_name_is_refused(address: str, page: gr.Blocks, path: str) -> None:
    for length, refused in ((100, False), (101, True)):
        name = "n" * length
        body = {"fn_index": HttpClient(address).load_event, "data": [], "session_hash": name}
        answer = httpx.post(f"{address}gradio_api/{path}", json=body)
        assert (answer.json().get("detail") == events.LONG_PAGE_ID) is refused
        assert (name not in page.state_holder) is refused


def test_what_waits_in_the_queue_cannot_be_called_beside_it(address: str) -> None:
    visitor = HttpClient(address)
    body = {"fn_index": visitor.event("go", "click")["id"], "data": [], "session_hash": visitor.session_hash}
    answer = visitor.http.post("gradio_api/run/predict", json=body)
    assert (answer.status_code, "join the queue" in answer.text) == (404, True)


def test_a_full_queue_is_answered_in_our_words(address: str, page: gr.Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = HttpClient(address)
    monkeypatch.setattr(page._queue, "max_size", 0)
    assert json.loads(visitor.enqueue(visitor.load_event, [])) == {"detail": events.FULL_QUEUE}


def test_an_endless_body_is_read_only_up_to_the_limit(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = [0]

    def endless() -> Iterator[bytes]:
        while sent[0] < 4_000:
            sent[0] += 1
            yield b"x" * request_limits.MB
            time.sleep(0.005)

    monkeypatch.setattr(request_limits, "DRAIN_SECONDS", 0.5)
    with suppress(httpx.NetworkError):  # the connection was closed while the client still sent
        answer = httpx.post(f"{address}gradio_api/queue/join", content=endless(), headers=JSON_HEADERS)
        assert answer.status_code == 413
    assert sent[0] < 1_000


def test_a_broken_or_invalid_upload_is_gone_after_its_hour(address: str, temporary_folder: Path) -> None:
    visitor, uploads = HttpClient(address), temporary_folder / "uploads"
    head = b"POST /gradio_api/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n"
    head += b"Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    head += b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'
    with connect(address, head + bytes(99_999)):
        assert wait_until(lambda: list(uploads.glob("tmp*")), pause=0.02), "it was not being written"
    for files in (
        [("other", ("a.png", b"1"))],
        [("files", ("a.png", b"2")), ("files", ("..", b"3"))],
        [("files", ("a.png", b"4")), ("other", ("a.png", b"5"))],
    ):
        assert visitor.http.post("gradio_api/upload", files=files).status_code in (200, 400)
    assert wait_until(lambda: not leftover_files(temporary_folder))


def test_an_upload_of_very_many_files_is_refused(address: str, temporary_folder: Path) -> None:
    """Each is open until the last one has come: a thousand are all that a process may have."""
    for count, status in ((request_limits.MAX_UPLOAD_FILES, 200), (request_limits.MAX_UPLOAD_FILES + 1, 400)):
        files = [("files", (f"{n}.png", f"{count} {n}".encode())) for n in range(count)]
        answer = httpx.post(f"{address}gradio_api/upload", files=files)
        assert answer.status_code == status, answer.text
    assert answer.json() == {"detail": request_limits.TOO_MANY_FILES}
    assert wait_until(lambda: not leftover_files(temporary_folder))


def test_large_concurrent_events_share_a_limit_and_small_ones_pass(address, monkeypatch) -> None:
    monkeypatch.setattr(request_limits, "MAX_LARGE_EVENTS", 2)
    large = b'{"fn_index": 0, "session_hash": "x", "data": ["' + b"x" * (6 * request_limits.MB)
    visitor = HttpClient(address)
    visitor.open()

    def send_large() -> httpx.Response:
        return visitor.http.post("gradio_api/run/predict", content=large + b'"]}', headers=JSON_HEADERS)

    head = b"POST /gradio_api/run/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 20000000\r\n\r\n"
    waiting = [connect(address, head + large) for _ in range(2)]  # the first part of two events, whose rest never comes
    assert wait_until(lambda: send_large().status_code == 503)
    answer = send_large()
    assert answer.json() == {"detail": request_limits.BUSY}
    assert "What the memory holds" in visitor.choose_room("memory"), "a small event passes"
    for line in waiting:
        line.close()
    assert wait_until(lambda: send_large().status_code != 503), "what was held is not free again"


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("run/predict", b'{"data": [NaN], "fn_index": {}}', JSON_HEADERS),
        ("run/predict", b'{"data": ["\xff"]}', {}),
        ("run/predict", b'{"data": [], "fn_index": 1000003}', JSON_HEADERS),
        ("run/predict", b'{"data": []}', JSON_HEADERS),
        ("queue/join", b'{"data": [], "fn_index": "\\ud800"}', JSON_HEADERS),
        ("upload", b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\nwords\r\n--x--\r\n', FORM_HEADERS),
    ],
    ids=["not JSON numbers", "not text", "no such event", "no event", "half a letter", "no file"],
)
def test_an_unreadable_body_gives_a_400(path, body, headers, address, caplog) -> None:
    visitor = HttpClient(address)
    visitor.open()
    answer = visitor.http.post(f"gradio_api/{path}", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["detail"]
    assert not [one for one in caplog.records if one.exc_info], "a traceback in the log"
    assert "What the memory holds" in visitor.choose_room("memory"), "the next request works"


def test_only_requests_with_a_body_give_a_400() -> None:
    async def breaks(*_: object) -> None:
        raise KeyError("ours")

    client = TestClient(WithoutLogin(request_limits.RequestLimits(breaks)))
    assert client.post(f"{API}/queue/join").status_code == 400
    with pytest.raises(KeyError, match="ours"):
        client.get("/")


# --- connections that send no whole request end, and a new one is always accepted


def is_closed(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_request_that_does_not_get_complete_is_ended(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "REQUEST_SECONDS", 0.5)
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
    monkeypatch.setattr(launch, "REQUEST_SECONDS", 0.2)
    visitor = HttpClient(address)
    with visitor.connected():
        time.sleep(0.6)
        assert "Stored example." in visitor.open()
        assert "What the memory holds" in visitor.choose_room("memory")


def test_of_too_many_connections_the_longest_silent_one_is_closed(address, monkeypatch) -> None:
    monkeypatch.setattr(launch, "MAX_CONNECTIONS", 5)
    with HttpClient(address).connected(), ExitStack() as lines:
        half = []
        for _ in range(20):
            half.append(lines.enter_context(connect(address, HALF)))
        assert wait_until(lambda: all(map(is_closed, half[:15])), 10)
        assert not is_closed(half[-1])
        for _ in range(5):
            assert httpx.get(f"{address}health", timeout=5).status_code == 200


LIMIT = """
import resource
from rita_demo.server.launch import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
raise_file_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_process_opens_as_many_files_as_it_may() -> None:
    run = subprocess.run([sys.executable, "-c", LIMIT], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "(300, 300)\n", run.stderr


# --- heartbeats: an invented page costs nothing, open ones are limited, and an open page is not forgotten before others


def beat(address: str, page: str) -> socket.socket:
    """An open heartbeat, of which the first line has come."""
    line = connect(address, f"GET /gradio_api/heartbeat/{page} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
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


def test_open_heartbeats_are_limited_for_an_address_and_for_all(address, page, monkeypatch) -> None:
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


def test_the_heartbeat_of_a_page_that_never_asks_for_anything_ends(address, page, monkeypatch) -> None:
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
