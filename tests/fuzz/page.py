"""The page with the fake engine in a process, a home and a working directory of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server import ROOT, answering, free_port

PLACES = ("home", "cwd", "tmp", "data", "runs")


@contextmanager
def page_of_its_own(place: Path, *words: str) -> Iterator[str]:
    """Serve until the end of the block; gives the address. ``place`` has a folder for each of ``PLACES``, and
    ``log.txt``. ``words``: what python runs in place of the fake page."""
    port = free_port()
    for name in PLACES:
        (place / name).mkdir()
    own = {
        "HOME": place / "home", "TMPDIR": place / "tmp", "RITA_DATA": place / "data",
        "RITA_RUNS": place / "runs", "RITA_PORT": port, "RITA_HOST": "127.0.0.1", "RITA_PREPARE": "0",
        "PYTHONPATH": ROOT, "GRADIO_ANALYTICS_ENABLED": "False", "NUMBA_CACHE_DIR": place / "tmp",
        # a button of the page downloads: not from here
        "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1",
    }  # fmt: skip
    log = place / "log.txt"
    environment = os.environ | {k: str(v) for k, v in own.items()}
    command = words or ("-m", "tests.fuzz.page")
    with answering(command, port, log, place / "cwd", environment) as address:
        yield address


def main() -> None:
    """The process."""
    from rita_demo.measuring import Places
    from rita_demo.ui.example import WorkedExample
    from rita_demo.ui.page import build, launch_options
    from tests.ui.fake import FakeEngine

    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    places = Places(Path(os.environ["RITA_DATA"]), Path(os.environ["RITA_RUNS"]))
    page = build(engine, example=example, places=places)
    assert example.wait(120, film=True)
    page.queue(max_size=64).launch(
        server_name="127.0.0.1",
        server_port=int(os.environ["RITA_PORT"]),
        quiet=True,
        **launch_options(),
    )


if __name__ == "__main__":
    main()
