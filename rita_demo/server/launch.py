"""Serves the page on a port, with a health check and an orderly shutdown."""

import os
import threading
import time
from collections.abc import Callable

import gradio as gr
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rita_demo.process import logging as process_logging
from rita_demo.process.environment import Accounts
from rita_demo.process.proxies import without_proxies
from rita_demo.process.shutdown import SHUTDOWN, SignalHandler
from rita_demo.server.cleanup import start_cleanup
from rita_demo.server.connections import raise_file_limit
from rita_demo.server.gradio_patches import patch_gradio
from rita_demo.server.pages import Heartbeats
from rita_demo.server.request_limits import HEALTH, RequestLimits
from rita_demo.ui.page import MAX_PAGES, launch_options, opening_html
from rita_demo.ui.session.store import Sessions

MAX_QUEUE = 64  # events in the queue; further ones are refused as busy
FLUSH_SECONDS = 3.0  # at most, until the last answers are passed to the network
NETWORK_SECONDS = 0.2  # for the network to send them
#: Seconds from the end of the events to the end of the process, even if a thread still runs.
EXIT_SECONDS = 10.0


def launch_page(
    page: gr.Blocks,
    host: str,
    port: int,
    accounts: Accounts = (),
    sessions: Sessions | None = None,
    failure: Callable[[], object] = lambda: None,
) -> str:
    """Open the page and start its cleanup; returns its address. ``accounts``: names and passwords of those who may see
    it; none: everybody; ``sessions``: the page's sessions, which the cleanup keeps within their limits; ``failure``:
    why the model could not be loaded, None while nothing is wrong."""
    raise_file_limit()
    patch_gradio(opening_html())
    page.queue(max_size=MAX_QUEUE, api_open=False)  # what waits in the queue cannot be called beside it
    page._queue.ANALYTICS_MAX_EVENTS = 0  # statistics that nobody asks for, made anew with pandas after each event
    with without_proxies():  # Gradio asks its own server whether it answers
        _, address, _ = page.launch(
            server_name=host,
            server_port=port,
            auth=list(accounts) or None,
            prevent_thread_lock=True,
            quiet=True,
            app_kwargs={
                "routes": [health(lambda: not page._queue.stopped, failure), Heartbeats(page, MAX_PAGES).route],
                "middleware": [Middleware(RequestLimits)],
                "openapi_url": None,  # the list of all addresses would need no password
            },
            **launch_options(),
        )
    if sessions is not None:
        start_cleanup(page, sessions)
    process_logging.route_loggers("uvicorn", "uvicorn.error", "uvicorn.access")
    return address


def health(is_serving: Callable[[], bool], failure: Callable[[], object] = lambda: None) -> Route:
    """The health check: 200 while visitors can be served, else 503, and for how long one step of an event has been
    running: a step that hangs keeps the others waiting. It needs no password and reveals nothing more. ``is_serving``: whether the queue of events runs; ``failure``: why the model could not be loaded. While it is being
    loaded, visitors are served and their first run waits."""

    async def state(request: Request) -> JSONResponse:
        said = "no queue" if not is_serving() else "no model" if failure() else "ok"
        said = "going down" if SHUTDOWN.draining else said
        answer = {"status": said, "step_seconds": round(SHUTDOWN.step_seconds, 1)}
        return JSONResponse(answer, 200 if said == "ok" else 503)

    return Route(HEALTH, state)


def serve(page: gr.Blocks, signals: SignalHandler, grace: float) -> None:
    """Serve until a signal arrives; then let running events end, for ``grace`` seconds at most, and close the page."""
    signals.page_open = True
    signals.wait()
    process_logging.log_event("stopping", running=SHUTDOWN.running, grace=grace)
    left = SHUTDOWN.drain(grace)
    until = time.monotonic() + FLUSH_SECONDS
    while page._queue.get_active_worker_count() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(NETWORK_SECONDS)
    # A thread inside a long step of a model cannot be stopped; stored files do not depend on its end.
    last = threading.Timer(EXIT_SECONDS, os._exit, args=(0,))
    last.daemon = True
    last.start()
    page.close(verbose=False)
    process_logging.log_event("stopped", unfinished=left)
