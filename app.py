"""Start the page: build the engine, build the page, launch.  Also what Hugging Face Spaces runs.

Environment: ``RITA_BACKBONE`` (default ``embedded``), ``RITA_DEVICE``, ``RITA_HOST``
(default ``127.0.0.1``), ``RITA_PORT`` (default 7860), ``RITA_DATA`` (the folder of the datasets,
default ``data``), ``RITA_RUNS`` (the folder of run folders, default ``runs``).
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rita_demo.bundle import Run

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


def serve(
    backbone: str | None = None,
    host: str | None = None,
    port: int | None = None,
    device: str | None = None,
    data_root: Path | None = None,
    run: Run | None = None,
) -> int:
    """Serve the page until it is interrupted, with a saved ``run`` on it if there is one; returns the
    exit status."""
    from rita_demo.errors import DemoError

    backbone = backbone or os.environ.get("RITA_BACKBONE") or "embedded"
    host = host or os.environ.get("RITA_HOST") or "127.0.0.1"
    try:
        number = _free_port(host, str(port or os.environ.get("RITA_PORT") or 7860))
        print(f"Loading the model {os.path.basename(backbone)} ...", flush=True)
        from rita_demo.engine import Engine
        from rita_demo.measuring import Places
        from rita_demo.ui.page import build, launch_options
        from rita_demo.ui.reopened import ReopenedRun

        data = data_root or Path(os.environ.get("RITA_DATA") or "data")
        places = Places(data, Path(os.environ.get("RITA_RUNS") or "runs"))
        engine = Engine(backbone, device)
        first = None if run is None else ReopenedRun(engine, run)
        ahead = run is None and os.environ.get("RITA_PREPARE") != "0"
        page = build(
            engine,
            load=lambda name: Engine(name, device),
            example=first,
            places=places,
            prepare=ahead,
        )
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    page.queue(max_size=64).launch(server_name=host, server_port=number, **launch_options())
    return 0


def _free_port(host: str, asked: str) -> int:
    """The port that was asked for, checked before anything heavy is loaded."""
    from rita_demo.errors import DemoError

    if not asked.isdigit() or not 0 < int(asked) < 65536:
        raise DemoError(f"RITA_PORT is a number from 1 to 65535; got {asked[:20]!r}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(asked)))
        except OSError:
            hint = "Stop what uses it, or choose another one: RITA_PORT=7861."
            raise DemoError(f"Nothing can listen on {host}, port {asked}.", hint) from None
    return int(asked)


if __name__ == "__main__":
    sys.exit(serve())
