"""The served page: login, health check, refused addresses, and a start under a proxy that is of no use."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlparse

import gradio as gr
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.testclient import TestClient

from rita_demo.server import launch, request_limits
from rita_demo.server.request_limits import body_limit
from rita_demo.ui.page import MAX_UPLOAD_SIZE, opening_html
from tests.live_server import ROOT
from tests.page_client import HttpClient
from tests.ui.addresses import addresses, filled
from tests.ui.http_client import build_toy_page, launch_page

pytestmark = pytest.mark.slow
ACCOUNTS = (("me", "one:two"), ("you", "three"))
#: What answers without a password. No harm in it: health check, login form, Gradio's own files, colours, a random number.
#: Everything else says 401, or 404 where the page has no use for it (tests/server/test_request_limits.py).
_PUBLIC = """/health / /login /logout /static /assets /favicon.ico /theme.css /robots.txt /manifest.json /app_id"""
PUBLIC_PATHS = _PUBLIC.split()


@pytest.fixture(scope="module")
def page() -> gr.Blocks:
    return build_toy_page()


@pytest.fixture(scope="module")
def locked_client(page: gr.Blocks) -> Iterator[str]:
    yield launch_page(page, ACCOUNTS)
    page.close(verbose=False)


def test_the_health_check_needs_no_password_and_returns_one_word_and_one_number(locked_client: str) -> None:
    answer = httpx.get(f"{locked_client}health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "step_seconds": 0.0})
    for is_serving, failure, said in (
        (lambda: False, lambda: None, "no queue"),
        (lambda: True, lambda: True, "no model"),
    ):
        dead = TestClient(Starlette(routes=[launch.health(is_serving, failure)])).get("/health")
        assert (dead.status_code, dead.json()["status"]) == (503, said)


def test_without_the_password_all_but_public_paths_return_401(locked_client: str, page: gr.Blocks) -> None:
    asked = 0
    for method, path in addresses(page.app.routes):
        short = path.removeprefix("/gradio_api")
        if any(short == one or (one != "/" and short.startswith(one)) for one in PUBLIC_PATHS):
            continue
        body = {"json": {"fn_index": 0, "data": [], "session_hash": "x"}} if method == "POST" else {}
        answer = httpx.request(method, locked_client.rstrip("/") + filled(path, "x"), **body)
        here = body_limit(method, filled(path, "x")) is not None
        assert answer.status_code == (401 if here else 404), (method, path, answer.status_code)
        asked += here
    assert asked >= 6


def test_what_a_stranger_sends_is_discarded(locked_client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradio reads all of an event before it asks for the password: 40 MB of it took a gigabyte."""
    read = list[int]()
    monkeypatch.setattr(Request, "json", lambda self: read.append(1))
    body = b'{"data":[' + b"{}," * (10 << 20) + b"{}]}"
    for path in ("run/predict", "queue/join", "call/v2/explain"):
        url, head = f"{locked_client}gradio_api/{path}", {"Content-Type": "application/json"}
        answer = httpx.post(url, content=body, headers=head)
        assert (answer.status_code, answer.json()["detail"]["error"]) == (401, "Not authenticated")
    assert not read
    monkeypatch.setattr(request_limits, "DRAIN_SECONDS", 0.3)
    target = urlparse(locked_client)
    with socket.create_connection((target.hostname, target.port), 20) as stranger:  # who sends nothing more
        stranger.sendall(b"POST /gradio_api/run/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 40000000\r\n\r\n")
        assert stranger.makefile().read().startswith("HTTP/1.1 401")


def test_the_login_form_reveals_nothing_about_the_page(locked_client: str) -> None:
    form, opening = httpx.get(locked_client).text, opening_html()
    assert "auth_required" in form
    assert not [part for part in ("motorbike", "setting-attack", "elem_id", opening) if part in form]
    assert len(opening) > 1000
    document = HttpClient(locked_client, login=ACCOUNTS[0]).http.get("/").text
    assert document.count(opening) == 1
    assert document.rstrip().endswith(f"{opening}</body>\n</html>")


def test_wrong_passwords_are_refused_and_right_ones_accepted(locked_client: str) -> None:
    for name, password in (("me", "one"), ("me", ""), ("", ""), ("you", "one:two"), ("x", "three")):
        answer = httpx.post(f"{locked_client}login", data={"username": name, "password": password})
        assert answer.status_code in (400, 422)
        assert not answer.cookies
    for account in ACCOUNTS:
        assert "Stored example." in HttpClient(locked_client, login=account).open()


def test_a_file_that_is_too_large_is_refused(locked_client: str) -> None:
    visitor = HttpClient(locked_client, login=ACCOUNTS[0])
    most = int(MAX_UPLOAD_SIZE.removesuffix("mb")) * 1024**2
    for size, status in ((most + 1, 413), (most - 1000, 200)):
        assert visitor.http.post("gradio_api/upload", files={"files": ("x.png", bytes(size))}).status_code == status


# --- behind a proxy of an institute that nothing on this machine can use

SOCKS = "socks5://127.0.0.1:9"
VARIABLES = {"all_proxy": SOCKS, "ALL_PROXY": SOCKS, "no_proxy": "localhost", "HTTP_PROXY": "no address::"}
LAUNCH = f"""
import tests.conftest
import os
os.environ.update({VARIABLES})
import rita_demo.ui
from tests.ui.http_client import build_toy_page, launch_page
page = build_toy_page()
print(launch_page(page))
page.close(verbose=False)
print({{name: os.environ.get(name) for name in {list(VARIABLES)}}})
os._exit(0)
"""


def test_the_page_opens_under_any_proxy_which_stays_set_for_downloads() -> None:
    done = subprocess.run([sys.executable, "-c", LAUNCH], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    address, kept = done.stdout.splitlines()[-2:]
    assert address.startswith("http://")
    assert kept == str(VARIABLES)
