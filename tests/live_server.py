"""The real server in a process of its own, started as a person would start it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def start_server(log: Path, *words: str, **variables: str) -> Iterator[str]:
    """``python app.py``, or ``python`` with these words, on a free port, with the embedded model and these environment variables; gives
    its address, stops it at the end.

    Raises:
        RuntimeError: with the end of the log, when it does not answer within two minutes.
    """
    port = free_port()
    environment = os.environ | {"RITA_PORT": str(port), "RITA_HOST": "127.0.0.1"}
    for name in ("RITA_BACKBONE", "RITA_AUTH"):
        environment.pop(name, None)
    # No test downloads anything, and none uses earlier downloads.
    environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(log.parent / "hub")}
    # Folders of their own for streams and datasets: those beside the project are not used.
    environment |= {"RITA_RUNS": str(log.parent / "runs"), "RITA_DATA": str(log.parent / "data")}
    with running_process(words or ("app.py",), port, log, ROOT, environment | variables) as address:
        yield address


@contextmanager
def running_process(
    words: tuple[str, ...], port: int, log: Path, folder: Path, environment: Mapping[str, str]
) -> Iterator[str]:
    """``python`` with these words in ``folder``, from when it answers on ``port`` to the end; gives its address."""
    with log.open("w") as output:
        server = subprocess.Popen([sys.executable, *words], cwd=folder, env=environment, stdout=output, stderr=output)
    try:
        address = f"http://127.0.0.1:{port}/"
        if (
            not wait_until(lambda: server.poll() is not None or _answers(address), 120, 0.5)
            or server.poll() is not None
        ):
            raise RuntimeError(f"the server does not answer:\n{log.read_text()[-4000:]}")
        yield address
    finally:
        server.terminate()
        server.wait(20)


def process_of(address: str) -> Path:
    """What /proc tells of the server at this address.

    Raises:
        LookupError: it is none of :func:`running_server`.
    """
    mark = f"RITA_PORT={address.rstrip('/').rpartition(':')[2]}\0".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # of another user, or just ended
            if mark in (place / "environ").read_bytes() + b"\0":
                return place
    raise LookupError(address)


def wait_until(reached: Callable[[], object], seconds: float = 20, pause: float = 0.05) -> bool:
    """Whether ``reached()`` becomes true within this time."""
    until = time.monotonic() + seconds
    while not (done := bool(reached())) and time.monotonic() < until:
        time.sleep(pause)
    return done


def tracked_files() -> list[Path]:
    """The files of the repository, and of its next commit."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).is_file()]


def free_port() -> int:
    """A free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False
