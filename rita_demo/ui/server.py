"""The page on a port: opened, watched, and closed without losing anything."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import gradio as gr
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rita_demo import logs
from rita_demo.duty import DUTY, Bell
from rita_demo.environment import Accounts
from rita_demo.ui.intake import tidy
from rita_demo.ui.letters import any_letters
from rita_demo.ui.page import launch_options
from rita_demo.ui.recluse import stay_in
from rita_demo.ui.walls import Walls

HEALTH = "/health"
WAITING = 64  # events in the queue; more are told that the page is busy
LAST_WORDS = 3.0  # seconds at most for the last answers to be handed to the network
SENDING = 0.2  # seconds for the network to take them
#: Seconds from the end of the events to the end of the process, whatever a thread may still be at.
PATIENCE = 10.0


def opened(page: gr.Blocks, host: str, port: int, accounts: Accounts = ()) -> str:
    """Open the page; gives its address. ``accounts``: who may see it; none: everybody."""
    stay_in()
    tidy()
    any_letters()
    page.queue(max_size=WAITING)
    _, address, _ = page.launch(
        server_name=host,
        server_port=port,
        auth=list(accounts) or None,
        prevent_thread_lock=True,
        quiet=True,
        app_kwargs={
            "routes": [health(lambda: not page._queue.stopped)],
            "middleware": [Middleware(Walls)],
            "openapi_url": None,  # a list of all addresses, which needs no password
        },
        **launch_options(),
    )
    logs.adopt("uvicorn", "uvicorn.error", "uvicorn.access")
    return address


def health(answers: Callable[[], bool]) -> Route:
    """The address that a supervisor asks: 200 while visitors can be served, else 503. It needs no password,
    computes nothing and tells nothing of anybody.

    Args:
        answers: whether the queue of events is at work. The model is in memory before the page is opened.
    """

    async def state(request: Request) -> JSONResponse:
        said = "going down" if DUTY.leaving else "ok" if answers() else "no queue"
        return JSONResponse({"status": said}, 200 if said == "ok" else 503)

    return Route(HEALTH, state)


def serve(page: gr.Blocks, bell: Bell, grace: float) -> None:
    """Until the bell rings; then let running events end, for ``grace`` seconds at most, and close the page."""
    bell.open = True
    bell.wait()
    logs.event("stopping", running=DUTY.running, grace=grace)
    left = DUTY.leave(grace)
    until = time.monotonic() + LAST_WORDS
    while page._queue.get_active_worker_count() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(SENDING)
    # A thread inside a long step of a model cannot be ended; what is stored does not need its end.
    last = threading.Timer(PATIENCE, os._exit, args=(0,))
    last.daemon = True
    last.start()
    page.close(verbose=False)
    logs.event("stopped", unfinished=left)
