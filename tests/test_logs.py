"""What a process writes down, seen from outside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HAPPENINGS = """
import logging, threading, traceback, warnings
from rita_demo import logs
logs.start({style!r}, debug={debug})
logs.event("model", seconds=1.5, device="cpu")
number = logs.failure("unexpected", KeyError("a secret name"))
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
def fall():
    raise RuntimeError("a secret name")
worker = threading.Thread(target=fall)
worker.start()
worker.join()
raise SystemError("a secret name")
"""


def written(style: str, debug: bool = False) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HAPPENINGS.format(style=style, debug=debug)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_every_line_is_one_json_object() -> None:
    done = written("json")
    model, expected, elsewhere, warned, caught, fell, last = map(
        json.loads, done.stderr.splitlines()
    )
    assert (model["event"], model["seconds"], model["level"]) == ("model", 1.5, "info")
    assert model["time"].endswith("+00:00")
    assert elsewhere["event"] == "two\nlines"
    assert "take care" in warned["event"]
    assert expected["id"] == done.stdout.strip()
    assert caught["error"] == ["FileNotFoundError", "ValueError"]
    assert fell["where"][-1].endswith(" fall")
    ids = [one["id"] for one in (expected, caught, fell, last)]
    assert len(set(ids)) == 4
    assert last["error"] == ["SystemError"]


def test_people_get_a_line_and_a_traceback_with_its_id() -> None:
    done = written("text")
    first, second, *_ = done.stderr.splitlines()
    assert first.endswith(" info model seconds=1.5 device=cpu")
    assert second.endswith(f" error unexpected id={done.stdout.strip()}")
    assert done.stderr.count("Traceback (most recent call last):") == 5
    with pytest.raises(json.JSONDecodeError):
        json.loads(first)


@pytest.mark.parametrize("style", ["json", "text"])
def test_no_message_of_an_error_is_written_unless_asked_for(style: str) -> None:
    assert "secret" not in written(style).stderr
    assert "a secret name" in written(style, debug=True).stderr
