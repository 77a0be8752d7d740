"""Starting the page with a wrong setting gives one sentence."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def start_app(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "app.py"], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize("value", ["abc", "99999", "-1"])
def test_an_invalid_port_gives_an_error_message(value: str) -> None:
    done = start_app(RITA_PORT=value)
    assert done.returncode == 1
    assert done.stderr.strip() == f"RITA_PORT is a number from 1 to 65535; got {value!r}."


@pytest.mark.slow
def test_a_port_in_use_gives_an_error_message() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = start_app(RITA_PORT=str(port), RITA_BACKBONE="")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Nothing can listen on 127.0.0.1, port {port}.")
    assert "Traceback" not in done.stderr
