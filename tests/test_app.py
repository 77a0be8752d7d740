"""Starting the page with a wrong setting gives one sentence."""

import os
import socket
import subprocess
import sys

import pytest

from tests.live_server import ROOT

pytestmark = pytest.mark.slow


def start_app(**environment: str) -> subprocess.CompletedProcess[str]:
    words, variables = [sys.executable, "app.py"], os.environ | environment
    return subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120)


def test_an_invalid_port_gives_an_error_message() -> None:
    done = start_app(RITA_PORT="99999")
    assert done.returncode == 1
    assert done.stderr.strip() == "RITA_PORT is a number from 1 to 65535; got '99999'."


def test_a_port_in_use_gives_an_error_message() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = start_app(RITA_PORT=str(port), RITA_BACKBONE="")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Nothing can listen on 127.0.0.1, port {port}.")
    assert "Traceback" not in done.stderr
