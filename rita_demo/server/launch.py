"""Serves the page on a port, with limits of its connections, a health check and an orderly shutdown."""

import asyncio
import math
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import gradio as gr
import uvicorn
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from rita_demo.process import logging as process_logging
from rita_demo.process.environment import Accounts
from rita_demo.process.shutdown import SHUTDOWN
from rita_demo.server.cleanup import start_cleanup
from rita_demo.server.pages import Heartbeats, Pages, patch_gradio
from rita_demo.server.request_limits import HEALTH, RequestLimits, logged_in, request_path
from rita_demo.ui.page import MAX_PAGES, launch_options, opening_html
from rita_demo.ui.session.store import Sessions

MAX_QUEUE = 64  # events in the queue; further ones are refused as busy
STEP_SECONDS = 8  # from the end of the grace period to the end of an event's current step
#: Seconds from the end of the server to the end of the process, even if a thread still runs.
EXIT_SECONDS = 5.0
REQUEST_SECONDS = 20.0  # for the first lines of a request, also of the next one on the same connection
#: Open connections, and new ones that are accepted at a time; a process may often open 1,024 files.
MAX_CONNECTIONS, BACKLOG = 640, 128


class Connection(H11Protocol):
    """uvicorn's connection, with limits: by itself it waits for ever for the rest of a request's first lines, and a thousand
    half-open ones are all that a process may have. Here one that sends no whole request in time is closed, and when there are
    too many, the one that is silent for longest."""

    _timer: asyncio.TimerHandle | None = None
    _silent_since = math.inf  # the loop's time; infinite while a request is answered

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > MAX_CONNECTIONS:
            ours = (connection for connection in self.connections if isinstance(connection, Connection))
            longest = min(ours, key=lambda connection: connection._silent_since)
            longest._stop_waiting()  # not chosen again
            longest.transport.close()

    def handle_events(self) -> None:
        last = self.cycle
        super().handle_events()
        if self.cycle is not last and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        self._stop_waiting()
        self._silent_since = self.loop.time()
        self._timer = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        self._silent_since = math.inf
        if self._timer is not None:
            self._timer.cancel()


def raise_file_limit() -> None:
    """Let this process open as many files as it may, 65,536 at most: often 1,024 are the default and not the limit."""
    with suppress(ImportError, OSError, ValueError):  # not on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 1 << 16 if most == resource.RLIM_INFINITY else min(most, 1 << 16)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


class PageServer(uvicorn.Server):
    """The page on a port. uvicorn ends at SIGTERM or SIGINT, once the answers that are under way are sent.

    Args:
        page: what :func:`rita_demo.ui.page.build` returns.
        accounts: names and passwords of those who may see it; none: everybody.
        sessions: the page's sessions, which the cleanup keeps within their limits.
        failure: why the model could not be loaded, None while nothing is wrong.
        grace: seconds that running events have at the end; None: the process goes on without the page.
        on_open: called once the page can be opened.
    """

    def __init__(
        self,
        page: gr.Blocks,
        host: str,
        port: int,
        accounts: Accounts = (),
        sessions: Sessions | None = None,
        failure: Callable[[], object] = lambda: None,
        grace: int | None = None,
        on_open: Callable[[], object] = lambda: None,
    ) -> None:
        raise_file_limit()
        patch_gradio()
        self.page, self._grace, self._on_open = page, grace, on_open
        self.address = f"http://{'localhost' if host == '0.0.0.0' else host}:{port}/"
        page.queue(max_size=MAX_QUEUE, api_open=False)  # what waits in the queue cannot be called beside it
        page._queue.ANALYTICS_MAX_EVENTS = 0  # statistics that nobody asks for, made anew with pandas after each event
        page.state_session_capacity = MAX_PAGES
        outer = gr.mount_gradio_app(
            FastAPI(openapi_url=None),
            page,
            "/",
            auth=list(accounts) or None,
            root_path=os.environ.get("GRADIO_ROOT_PATH"),
            app_kwargs={
                "routes": [health(lambda: not page._queue.stopped, failure), Heartbeats(page, MAX_PAGES).route],
                "middleware": [Middleware(RequestLimits), Middleware(Opening, opening_html())],
                "openapi_url": None,  # the list of all addresses would need no password
            },
            **launch_options(),
        )
        page.app = page.server_app = outer.routes[-1].app
        page.app.state_holder = Pages(page)
        page.has_launched = True  # else Gradio opens any file
        if sessions is not None:
            start_cleanup(page, sessions)
        connections: Any = {"http": Connection, "backlog": BACKLOG, "ws": "none", "lifespan": "on"}
        quiet: Any = {"log_config": None, "log_level": "warning", "access_log": False}
        end, host = (grace or 0) + STEP_SECONDS, host.strip("[]")
        super().__init__(uvicorn.Config(outer, host, port, timeout_graceful_shutdown=end, **connections, **quiet))

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._on_open()

    async def shutdown(self, sockets: Any = None) -> None:
        """Let running events end; start none, and end the heartbeats of open pages."""
        self.page.app.stop_event.set()
        if self._grace is None:
            return await super().shutdown(sockets)
        process_logging.log_event("stopping", running=SHUTDOWN.running, grace=self._grace)
        SHUTDOWN.drain(self._grace)
        await super().shutdown(sockets)
        process_logging.log_event("stopped", unfinished=SHUTDOWN.running)
        # A thread inside a long step of a model cannot be stopped; stored files do not depend on its end.
        last = threading.Timer(EXIT_SECONDS, os._exit, args=(0,))
        last.daemon = True
        last.start()


def health(is_serving: Callable[[], bool], failure: Callable[[], object] = lambda: None) -> Route:
    """The health check: 200 while visitors can be served, else 503, and for how long one step of an event has been
    running: a step that hangs keeps the others waiting. It needs no password and reveals nothing more. ``is_serving``:
    whether the queue of events runs; ``failure``: why the model could not be loaded. While it is being loaded, visitors
    are served and their first run waits."""

    async def state(request: Request) -> JSONResponse:
        word = "no queue" if not is_serving() else "no model" if failure() else "ok"
        answer = {"status": word, "step_seconds": round(SHUTDOWN.step_seconds, 1)}
        return JSONResponse(answer, 200 if word == "ok" else 503)

    return Route(HEALTH, state)


class Opening:
    """ASGI middleware: the page's document ends with ``html``, which is shown until Gradio has built the page; the login
    form does not."""

    def __init__(self, app: ASGIApp, html: str) -> None:
        self.app, self.end = app, f"{html}</body>".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: list[Message] = []

        async def send_longer(message: Message) -> None:
            if message["type"] == "http.response.start":
                return start.append(message)
            if start:
                message["body"] = self.end.join(message.get("body", b"").rsplit(b"</body>", 1))
                MutableHeaders(raw=start[0]["headers"])["content-length"] = str(len(message["body"]))
                await send(start.pop())
            await send(message)

        document = scope["type"] == "http" and request_path(scope) == "/" and logged_in(scope)
        await self.app(scope, receive, send_longer if document else send)
