"""Start the page: build it, open it, load the model behind it.  Also what Hugging Face Spaces runs.

The environment variables are those of ``rita_demo/process/environment.py``; ``docs/deployment.md`` lists them.
"""

from __future__ import annotations

import gc
import os
import platform
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rita_demo.engine.protocol import Engine
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
    exit status. The embedded model is loaded once the page is open, any other before."""
    gc.disable()  # nothing of what starting makes is garbage: an eighth of its time
    from rita_demo.process import environment
    from rita_demo.process import logging as process_logging
    from rita_demo.process.output_file import choose_upload_folder
    from rita_demo.records.errors import DataError, DemoError

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):  # until uvicorn handles them, and once it has ended
            signal.signal(number, lambda *_: sys.exit(0))
    read = environment.value
    try:
        environment.check()
        process_logging.configure(debug=read("RITA_DEBUG"))
        choose_upload_folder()
        host = host or read("RITA_HOST")
        port = _free_port(host, port or read("RITA_PORT"))
        backbone = backbone or read("RITA_BACKBONE")
        process_logging.log_event("start", python=platform.python_version(), model=os.path.basename(backbone))
        from rita_demo.engine.loading import LoadingEngine, embedded_info, failure_of
        from rita_demo.evaluation.page import DataFolders
        from rita_demo.pipeline.example import CANDIDATES
        from rita_demo.server.launch import PageServer
        from rita_demo.settings.models import EMBEDDED
        from rita_demo.ui.background.worked_example import WorkedExample, reopened, stored_example
        from rita_demo.ui.page import build
        from rita_demo.ui.session.store import Sessions

        first = backbone

        def load_first() -> Engine:
            try:
                return _load_engine(first, device)
            except DemoError as error:
                print(error, file=sys.stderr)
                raise

        deferred = first == EMBEDDED and run is None and not (device or read("RITA_DEVICE"))
        known = embedded_info() if deferred else None
        engine = _load_engine(first, device) if known is None else LoadingEngine(known, load_first).as_engine()
        example = None if run is None else reopened(engine, run)
        if settings is not None:
            example = WorkedExample(engine, settings, [(CANDIDATES[0][0], settings.budget)])
        elif first == EMBEDDED and run is None:
            with suppress(DataError):  # else it is computed
                example = stored_example(engine)
        sessions = Sessions()
        page = build(
            engine,
            load=lambda name: _load_engine(name, device),
            example=example,
            sessions=sessions,
            folders=DataFolders(data_root or read("RITA_DATA"), read("RITA_RUNS")),
        )
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    accounts = read("RITA_AUTH")

    def opened() -> None:
        process_logging.log_event("open", address=server.address, accounts=len(accounts))
        gc.freeze()
        gc.enable()
        if isinstance(engine, LoadingEngine):
            engine.start()

    failure = partial(failure_of, engine)
    server = PageServer(page, host, port, accounts, sessions, failure, read("RITA_GRACE"), opened)
    server.run()
    return 0


def _load_engine(name: str, device: str | None) -> Engine:
    """The engine of a model, with a line in the log."""
    from rita_demo.process import logging as process_logging
    from rita_demo.process.torch_state import without_compiler

    begin = time.perf_counter()
    with without_compiler():
        from rita_demo.engine.engine import Engine  # imports torch: seconds

    engine = Engine(name, device, VIEW_PIXEL_BYTES)
    spent = round(time.perf_counter() - begin, 1)
    process_logging.log_event("model", device=engine.info.device, precision=engine.info.precision, seconds=spent)
    return engine


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
    if sys.argv[1:]:
        sys.exit("app.py takes no arguments. With options: python -m rita_demo serve --help")
    sys.exit(serve())
