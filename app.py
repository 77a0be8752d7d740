"""Start the page: build the engine, build the page, open it.  Also what Hugging Face Spaces runs.

The environment variables are those of ``rita_demo/process/environment.py``; ``docs/deployment.md`` lists them.
"""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rita_demo.pipeline.bundle_read import SavedRun
    from rita_demo.settings import Settings

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
VIEW_PIXEL_BYTES = 64 << 20  # room for the pixels of the views on screen: six pictures of 64 views at 224 x 224


def serve(
    backbone: str | None = None,
    host: str | None = None,
    port: int | None = None,
    device: str | None = None,
    data_root: Path | None = None,
    run: SavedRun | None = None,
    settings: Settings | None = None,
) -> int:
    """Serve the page until SIGTERM or SIGINT, with a saved ``run`` or other ``settings`` on it if given; returns the
    exit status."""
    from rita_demo.process import environment
    from rita_demo.process import logging as process_logging
    from rita_demo.process.shutdown import SignalHandler
    from rita_demo.records.errors import DemoError

    signals = SignalHandler()
    signals.install()
    read, style = environment.value, "text"
    try:
        style = read("RITA_LOG")
        environment.check()
        process_logging.configure(style, debug=read("RITA_DEBUG"))
        host = host or read("RITA_HOST")
        number = _free_port(host, port or read("RITA_PORT"))
        backbone = backbone or read("RITA_BACKBONE")
        process_logging.log_event("start", python=platform.python_version(), model=os.path.basename(backbone))
        begin = time.perf_counter()
        from rita_demo.engine import Engine
        from rita_demo.evaluation.page import DataFolders
        from rita_demo.server import launch
        from rita_demo.ui.background.saved_run import ReopenedRun
        from rita_demo.ui.background.worked_example import CANDIDATES, WorkedExample
        from rita_demo.ui.page import build
        from rita_demo.ui.session.store import Sessions

        engine = Engine(backbone, device, VIEW_PIXEL_BYTES)
        spent = round(time.perf_counter() - begin, 1)
        process_logging.log_event("model", device=engine.info.device, precision=engine.info.precision, seconds=spent)
        example: WorkedExample | None = None if run is None else ReopenedRun(engine, run)
        if settings is not None:
            example = WorkedExample(engine, settings, [(CANDIDATES[0][0], settings.budget)])
        sessions = Sessions()
        page = build(
            engine,
            load=lambda name: Engine(name, device, VIEW_PIXEL_BYTES),
            example=example,
            sessions=sessions,
            folders=DataFolders(data_root or read("RITA_DATA"), read("RITA_RUNS")),
        )
    except DemoError as error:
        if style == "json":
            process_logging.configure(style)
            process_logging.LOG.error(str(error))
        else:
            print(error, file=sys.stderr)
        return 1
    accounts = read("RITA_AUTH")
    address = launch.launch_page(page, host, number, accounts, sessions)
    process_logging.log_event("open", address=address, accounts=len(accounts))
    launch.serve(page, signals, read("RITA_GRACE"))
    return 0


def _free_port(host: str, requested: int) -> int:
    """The port that was read for, checked before anything heavy is loaded."""
    from rita_demo.records.errors import DemoError

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, requested))
        except OSError:
            hint = "Stop what uses it, or choose another one: RITA_PORT=7861."
            raise DemoError(f"Nothing can listen on {host}, port {requested}.", hint) from None
    return requested


if __name__ == "__main__":
    sys.exit(serve())
