"""The page with the fake engine in a process, a home and a working directory of its own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.server import ROOT, answering, free_port

PLACES = ("home", "cwd", "tmp", "uploads", "data", "runs", "watched")


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
        "PYTHONPATH": ROOT, "GRADIO_ANALYTICS_ENABLED": "False", "NUMBA_CACHE_DIR": place / "watched" / "numba",
        "GRADIO_TEMP_DIR": place / "uploads", "FUZZ_WATCHED": place / "watched",
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
    from rita_demo.ui.page import build
    from rita_demo.ui.server import opened
    from tests.ui.addresses import addresses
    from tests.ui.fake import FakeEngine

    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    places = Places(Path(os.environ["RITA_DATA"]), Path(os.environ["RITA_RUNS"]))
    page = build(engine, example=example, places=places)
    assert example.wait(120, film=True)
    opened(page, "127.0.0.1", int(os.environ["RITA_PORT"]))
    watched = Path(os.environ["FUZZ_WATCHED"])
    everything = [[*one] for one in addresses(page.app.routes)]
    _written(watched / "addresses.json", everything)
    while True:  # until it is ended
        kept = {*page.upload_file_set, *(f for b in page.blocks.values() for f in b.temp_files)}
        _written(watched / "kept.json", sorted(map(str, kept)))
        time.sleep(0.2)


def _written(path: Path, value: Any) -> None:
    """At once or not at all: somebody may read it right now."""
    path.with_suffix(".new").write_text(json.dumps(value))
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
