"""The page with the toy engine in a process, a home and a working directory of its own."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live_server import ROOT, free_port, running_process

FOLDERS = ("home", "cwd", "tmp", "uploads", "data", "runs", "watched")


@contextmanager
def isolated_page(folder: Path, *words: str) -> Iterator[str]:
    """Serve until the end of the block; gives the address. ``place`` has a folder for each of ``PLACES``, and
    ``log.txt``. ``words``: what python runs in place of the page."""
    port = free_port()
    for name in FOLDERS:
        (folder / name).mkdir()
    own = {
        "HOME": folder / "home",
        "TMPDIR": folder / "tmp",
        "RITA_DATA": folder / "data",
        "RITA_RUNS": folder / "runs",
        "RITA_PORT": port,
        "RITA_HOST": "127.0.0.1",
        "PYTHONPATH": ROOT,
        "GRADIO_ANALYTICS_ENABLED": "False",
        "NUMBA_CACHE_DIR": folder / "watched" / "numba",
        "GRADIO_TEMP_DIR": folder / "uploads",
        "FUZZ_WATCHED": folder / "watched",
        # a button of the page downloads: not from here
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "no_proxy": "127.0.0.1",
    }
    log = folder / "log.txt"
    environment = os.environ | {k: str(v) for k, v in own.items()}
    command = words or ("-m", "tests.fuzz.page")
    with running_process(command, port, log, folder / "cwd", environment) as address:
        yield address


def main() -> None:
    """The process."""
    from rita_demo.evaluation.page import DataFolders
    from tests.ui.addresses import addresses
    from tests.ui.http_client import build_toy_page, launch_page

    page = build_toy_page(folders=DataFolders(Path(os.environ["RITA_DATA"]), Path(os.environ["RITA_RUNS"])))
    launch_page(page, port=int(os.environ["RITA_PORT"]))
    watched = Path(os.environ["FUZZ_WATCHED"])
    everything = [[*one] for one in addresses(page.app.routes)]
    _write_json(watched / "addresses.json", everything)
    while True:  # until it is ended
        time.sleep(1)


def _write_json(path: Path, value: Any) -> None:
    """Atomic: another process may be reading the file."""
    path.with_suffix(".new").write_text(json.dumps(value))
    path.with_suffix(".new").replace(path)


if __name__ == "__main__":
    main()
