"""Start the page: build the engine, build the page, open it.  Also what Hugging Face Spaces runs.

The environment variables are those of ``rita_demo/environment.py``; ``docs/deployment.md`` lists them.
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
    """Serve the page until SIGTERM or SIGINT, with a saved ``run`` on it if there is one; returns the
    exit status."""
    from rita_demo import environment, logs
    from rita_demo.duty import Bell
    from rita_demo.errors import DemoError

    bell = Bell()
    bell.listen()
    asked, style = environment.value, "text"
    try:
        style = asked("RITA_LOG")
        environment.check()
        logs.start(style, debug=asked("RITA_DEBUG"))
        host = host or environment.host()
        number = _free_port(host, port or asked("RITA_PORT"))
        backbone = backbone or asked("RITA_BACKBONE")
        logs.event("start", python=platform.python_version(), model=os.path.basename(backbone))
        begin = time.perf_counter()
        from rita_demo.engine import Engine
        from rita_demo.measuring import Places
        from rita_demo.ui import server
        from rita_demo.ui.page import build
        from rita_demo.ui.reopened import ReopenedRun

        engine = Engine(backbone, device)
        spent = round(time.perf_counter() - begin, 1)
        logs.event(
            "model", device=engine.info.device, precision=engine.info.precision, seconds=spent
        )
        page = build(
            engine,
            load=lambda name: Engine(name, device),
            example=None if run is None else ReopenedRun(engine, run),
            places=Places(data_root or asked("RITA_DATA"), asked("RITA_RUNS")),
            prepare=run is None and asked("RITA_PREPARE"),
        )
    except DemoError as error:
        if style == "json":
            logs.start(style)
            logs.LOG.error(str(error))
        else:
            print(error, file=sys.stderr)
        return 1
    accounts = asked("RITA_AUTH")
    address = server.opened(page, host, number, accounts)
    logs.event("open", address=address, accounts=len(accounts))
    server.serve(page, bell, asked("RITA_GRACE"))
    return 0


def _free_port(host: str, asked: int) -> int:
    """The port that was asked for, checked before anything heavy is loaded."""
    from rita_demo.errors import DemoError

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, asked))
        except OSError:
            hint = "Stop what uses it, or choose another one: RITA_PORT=7861."
            raise DemoError(f"Nothing can listen on {host}, port {asked}.", hint) from None
    return asked


if __name__ == "__main__":
    sys.exit(serve())
