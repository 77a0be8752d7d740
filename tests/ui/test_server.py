"""The page as it is served: who is let in, what a supervisor is told, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import gradio as gr
import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rita_demo.data.pictures import LARGEST_PICTURE
from rita_demo.duty import DUTY
from rita_demo.ui import server
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.page import LARGEST_UPLOAD, build
from rita_demo.ui.walls import room
from tests.data.hostile import png_header
from tests.server import free_port
from tests.ui.addresses import every_route, filled
from tests.ui.fake import FakeEngine
from tests.ui.stranger import Stranger

pytestmark = pytest.mark.slow
ACCOUNTS = (("me", "one:two"), ("you", "three"))
#: What answers without a password, and why that is no harm. Everything else says 401, or 404 where the page has no use
#: for it (tests/ui/test_walls.py).
OPEN = {
    "/health": "for supervisors; tells nothing of anybody",
    "/": "the form that asks for the password",
    "/login": "takes the password",
    "/logout": "forgets a cookie",
    "/static": "Gradio's own files", "/assets": "Gradio's own files", "/favicon.ico": "Gradio's own files",
    "/theme.css": "colours", "/robots.txt": "asks robots to leave", "/manifest.json": "the title",
    "/app_id": "a random number", "/startup-events": "nothing to see",
    "/reset": "ends an event whose random name one knows", "/cancel": "the same",
    "/heartbeat": "says that a page is open whose random name one knows",
}  # fmt: skip


@pytest.fixture(scope="module")
def page() -> gr.Blocks:
    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    page = build(engine, example=example)
    assert example.wait(120, film=True)
    return page


@pytest.fixture(scope="module")
def locked(page: gr.Blocks) -> Iterator[str]:
    yield server.opened(page, "127.0.0.1", free_port(), ACCOUNTS)
    page.close(verbose=False)


def test_a_supervisor_needs_no_password_and_learns_one_word(locked: str) -> None:
    answer = httpx.get(f"{locked}health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_health_is_503_while_the_server_goes_down_and_when_the_queue_is_dead(
    locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = TestClient(Starlette(routes=[server.health(lambda: False)])).get("/health")
    assert (dead.status_code, dead.json()) == (503, {"status": "no queue"})
    monkeypatch.setattr(DUTY, "leaving", True)
    answer = httpx.get(f"{locked}health")
    assert (answer.status_code, answer.json()) == (503, {"status": "going down"})


def test_without_the_password_every_address_but_a_few_says_401(
    locked: str, page: gr.Blocks
) -> None:
    asked = 0
    for route in every_route(page.app.routes):
        path = route.path
        short = path.removeprefix("/gradio_api")
        if any(short == one or (one != "/" and short.startswith(one)) for one in OPEN):
            continue
        for method in sorted(route.methods - {"HEAD", "OPTIONS"}):
            body = (
                {"json": {"fn_index": 0, "data": [], "session_hash": "x"}}
                if method == "POST"
                else {}
            )
            answer = httpx.request(method, locked.rstrip("/") + filled(path, "x"), **body)
            here = room(method, filled(path, "x")) is not None
            assert answer.status_code == (401 if here else 404), (method, path, answer.status_code)
            asked += here
    assert asked >= 6


def test_the_form_for_the_password_tells_nothing_of_the_page(locked: str) -> None:
    answer = httpx.get(locked)
    assert "auth_required" in answer.text
    for part in ("motorbike", "knob-attack", "elem_id"):
        assert part not in answer.text


def test_a_wrong_password_is_refused_and_each_right_one_is_let_in(locked: str) -> None:
    for name, password in (("me", "one"), ("me", ""), ("", ""), ("you", "one:two"), ("x", "three")):
        answer = httpx.post(f"{locked}login", data={"username": name, "password": password})
        assert answer.status_code in (400, 422)
        assert not answer.cookies
    for account in ACCOUNTS:
        assert "A worked example" in Stranger(locked, login=account).open()


def test_a_file_that_is_too_large_is_not_taken(locked: str) -> None:
    visitor = Stranger(locked, login=ACCOUNTS[0])
    most = int(LARGEST_UPLOAD.removesuffix("mb")) * 1024**2
    for size, status in ((most + 1, 413), (most - 1000, 200)):
        answer = visitor.http.post("gradio_api/upload", files={"files": ("x.png", bytes(size))})
        assert answer.status_code == status


def test_a_picture_of_too_many_pixels_gets_a_sentence_over_http(locked: str) -> None:
    visitor = Stranger(locked, login=ACCOUNTS[0])
    visitor.open()
    side = int(LARGEST_PICTURE**0.5) + 2
    sent = visitor.http.post(
        "gradio_api/upload", files={"files": ("x.png", png_header(side, side))}
    )
    event = visitor.event("upload", "upload")
    file = {"path": sent.json()[0], "meta": {"_type": "gradio.FileData"}}
    assert "million pixels" in visitor.call(event["id"], [None, file])


FOREIGN = [
    "/etc/passwd", "../../../../etc/passwd", "app.py", "./app.py", "/proc/self/environ",
    "file:///etc/passwd", "http://127.0.0.1:1/x.png", "https://example.org/x.png", "\0", "", None, 7, ["app.py"],
]  # fmt: skip


def test_no_event_takes_a_path_that_no_upload_made(locked: str, tmp_path) -> None:
    """Every event of the page that is given a file, with every path that is not the visitor's."""
    visitor = Stranger(locked, login=ACCOUNTS[0])
    visitor.open()
    mine = tmp_path / "real.png"
    mine.write_bytes(png_header(8, 8))
    taking = {
        (d["id"], place)
        for d in visitor.config["dependencies"]
        for place, number in enumerate(d["inputs"])
        if visitor.parts[number]["type"] in {"uploadbutton", "file", "image"}
    }
    assert len(taking) >= 3
    by_id = {d["id"]: d for d in visitor.config["dependencies"]}
    for number, place in sorted(taking):
        for path in [*FOREIGN, str(mine)]:
            for file in ({"path": path, "meta": {"_type": "gradio.FileData"}}, path):
                inputs = [visitor._value(i, {}) for i in by_id[number]["inputs"]]
                inputs[place] = file
                answer = visitor.call(number, inputs)
                told = [json.loads(line[5:]) for line in answer.splitlines() if line[:5] == "data:"]
                assert "root:" not in answer
                assert "8 x 8" not in answer
                assert "Traceback" not in answer
                for one in told:
                    if one.get("success") and one["msg"] == "process_completed":
                        assert "notice" in json.dumps(one["output"]), (number, path)
    assert "Done in" in visitor.press("go")
