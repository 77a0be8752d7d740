"""The log of a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from tests.live_server import ROOT

SCRIPT = """
import logging, threading, traceback, warnings
from rita_demo.process import logging as logs
logs.configure({style!r}, debug={debug})
logs.log_event("model", seconds=1.5, device="cpu")
number = logs.log_error("unexpected", KeyError("a secret name"))
print(number)
logging.getLogger("elsewhere").warning("two\\nlines")
logging.getLogger("elsewhere").info("not worth a line")
warnings.warn("take care")
try:
    try:
        open("/nowhere/secret picture.png")
    except OSError as error:
        raise ValueError("a secret name") from error
except ValueError:
    traceback.print_exc()
def fail():
    raise RuntimeError("a secret name")
worker = threading.Thread(target=fail)
worker.start()
worker.join()
raise SystemError("a secret name")
"""


def run_script(style: str, debug: bool = False) -> subprocess.CompletedProcess[str]:
    words, variables = [sys.executable, "-c", SCRIPT.format(style=style, debug=debug)], {"PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=60)


def test_every_line_is_one_json_object() -> None:
    done = run_script("json")
    model, expected, elsewhere, warned, caught, fell, last = map(json.loads, done.stderr.splitlines())
    assert (model["event"], model["seconds"], model["level"]) == ("model", 1.5, "info")
    assert model["time"].endswith("+00:00")
    assert elsewhere["event"] == "two\nlines"
    assert "take care" in warned["event"]
    assert expected["id"] == done.stdout.strip()
    assert caught["error"] == ["FileNotFoundError", "ValueError"]
    assert fell["where"][-1].endswith(" fail")
    assert len({one["id"] for one in (expected, caught, fell, last)}) == 4
    assert last["error"] == ["SystemError"]


def test_text_format_has_a_line_and_a_traceback_with_its_id() -> None:
    done = run_script("text")
    first, second, *_ = done.stderr.splitlines()
    assert first.endswith(" info model seconds=1.5 device=cpu")
    assert second.endswith(f" error unexpected id={done.stdout.strip()}")
    assert done.stderr.count("Traceback (most recent call last):") == 5


@pytest.mark.parametrize("style", ["json", "text"])
def test_error_messages_are_logged_only_on_request(style: str) -> None:
    assert "secret" not in run_script(style).stderr
    assert "a secret name" in run_script(style, debug=True).stderr
