"""The log of a process of its own."""

import os
import re
import subprocess
import sys

from tests.live_server import ROOT

SCRIPT = """
import logging, threading, traceback, warnings
from rita_demo.process import logging as logs
logs.configure(debug={debug})
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


def run_script(debug: bool = False) -> subprocess.CompletedProcess[str]:
    words, variables = [sys.executable, "-c", SCRIPT.format(debug=debug)], {"PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=60)


def test_an_event_has_a_line_and_an_error_a_traceback_with_its_id() -> None:
    done = run_script()
    first, second, *_ = lines = done.stderr.splitlines()
    assert first.endswith(" info model seconds=1.5 device=cpu")
    assert second.endswith(f" error unexpected id={done.stdout.strip()}")
    assert done.stderr.count("Traceback (most recent call last):") == 5
    assert " warning two\nlines\n" in done.stderr
    assert "not worth a line" not in done.stderr
    assert any(" warning " in line and "take care" in line for line in lines)
    assert lines.index("FileNotFoundError") < lines.index("ValueError"), "the first cause first"
    assert any(line.strip().endswith(", in fail") for line in lines)
    assert len(set(re.findall(r"id=(\w{8})", done.stderr))) == 4
    assert lines[-1] == "SystemError"


def test_error_messages_are_logged_only_on_request() -> None:
    assert "secret" not in run_script().stderr
    assert "a secret name" in run_script(debug=True).stderr
