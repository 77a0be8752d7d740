"""Allowed addresses and request sizes.

Gradio has some seventy addresses; this page uses a third of them. Others write files that are never deleted (screen
recordings, stored page values) or are for development servers. Every address that is not listed below answers 404,
also those of a later Gradio. Gradio limits the size of files but not of events: each address here has a limit, counted
while the bytes arrive. Malformed bodies get a 400 instead of a server error.
"""

import re

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rita_demo.process import logging as process_logging

MB = 1 << 20
SMALL_LIMIT = 64 << 10  # bytes of a request that names things
QUEUED_EVENT_LIMIT = 2 * MB  # an event in the queue sends settings and class names
#: Outside the queue: “Save this run” sends the figures of the open tab (0.4 MB for 47 classes).
DIRECT_EVENT_LIMIT = 40 * MB
#: Bytes beyond 2 MB each of all events that are read or answered at a time: they are in memory, uploads on disk. Small
#: requests are never refused because of others.
TOTAL_LIMIT = 160 * MB
UPLOAD_LIMIT = 320 * MB  # a dozen of the largest files, or 32 pictures as cameras make them
DRAIN_SECONDS = 5.0  # seconds to read on from a client that sends too much, so that it gets the answer
BUSY = "The page is busy with what others send. Try again in a moment."
UNREADABLE = "The page cannot read this request. Reload the page and try again. If it happens again, this number helps to find out why: {}."
CLOSE_HEADER = {"Connection": "close"}

#: Addresses without a body: ``+`` is one part of a path, ``*`` any path. Launching asks for ``startup-events``, which
#: starts the queue; ``info`` and ``call`` are for programs.
GET_PATHS = """
/ /config /health /logout /theme.css /robots.txt /favicon.ico /manifest.json /static/* /assets/*
/gradio_api/startup-events /gradio_api/app_id /gradio_api/queue/data /gradio_api/info /gradio_api/call/+/+
/gradio_api/upload_progress /gradio_api/heartbeat/+ /gradio_api/file=*
"""
#: address -> maximum bytes of a body
POST_LIMITS = {
    "/login": SMALL_LIMIT,
    "/gradio_api/queue/join": QUEUED_EVENT_LIMIT,
    "/gradio_api/run/+": DIRECT_EVENT_LIMIT,  # an event in the queue, and one beside it
    "/gradio_api/call/v2/+": QUEUED_EVENT_LIMIT,  # an endpoint, without gradio_client
    "/gradio_api/upload": UPLOAD_LIMIT,
    "/gradio_api/cancel": SMALL_LIMIT,
    "/gradio_api/reset": SMALL_LIMIT,
}


def _pattern(address: str) -> re.Pattern[str]:
    return re.compile(re.escape(address).replace(r"\+", "[^/]+").replace(r"\*", ".*"))


_LIMITS = {
    "GET": {_pattern(address): SMALL_LIMIT for address in GET_PATHS.split()},
    "POST": {_pattern(address): most for address, most in POST_LIMITS.items()},
}


def body_limit(method: str, path: str) -> int | None:
    """Maximum bytes of a request's body; None: the page has no such address."""
    limits = _LIMITS.get("GET" if method == "HEAD" else method, {})
    return next((most for address, most in limits.items() if address.fullmatch(path)), None)


def too_large_text(limit: int) -> str:
    said = f"{limit // MB} MB" if limit >= MB else f"{limit >> 10} KB"
    return f"This is more than the page takes at once ({said}). Send less."


class RequestLimits:
    """ASGI middleware before all routes: 404 for unused addresses, 413 for too large bodies, 503 when the bodies of all
    requests together would be too large, 400 for malformed ones."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._bytes_in_use = 0  # bytes of large events, from when they arrive to the end of the answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most = body_limit(scope["method"], _path(scope))
        if most is None:
            return await JSONResponse({"detail": "Not Found"}, 404)(scope, receive, send)
        if _content_length(scope) > most:
            await _drain(receive)
            return await JSONResponse({"detail": too_large_text(most)}, 413, CLOSE_HEADER)(scope, receive, send)
        begun, came, mine = False, 0, 0

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        async def receive_limited() -> Message:
            nonlocal came, mine
            message = await receive()
            came += len(message.get("body", b""))
            more = max(0, came - QUEUED_EVENT_LIMIT) - mine if most == DIRECT_EVENT_LIMIT else 0
            if came > most or self._bytes_in_use + more > TOTAL_LIMIT:
                if message.get("more_body"):
                    await _drain(receive)
                if came > most:  # the reader of the body passes it on
                    raise HTTPException(413, too_large_text(most), CLOSE_HEADER)
                raise HTTPException(503, BUSY, CLOSE_HEADER | {"Retry-After": "5"})
            mine, self._bytes_in_use = mine + more, self._bytes_in_use + more
            return message

        try:
            await self.app(scope, receive_limited, send_and_note)
        except (OSError, MemoryError, ClientDisconnect):
            raise  # not the request's fault, or the client has gone
        except Exception as error:
            if begun and isinstance(error.__cause__, HTTPException):  # Gradio listens for an unknown visitor
                return await send({"type": "http.response.body", "body": b""})
            if begun or scope["method"] != "POST":
                raise  # there was no body that could be malformed
            said = UNREADABLE.format(process_logging.log_bad_request("a request that could not be read", error))
            await JSONResponse({"detail": said}, 400, CLOSE_HEADER)(scope, receive, send)
        finally:
            self._bytes_in_use -= mine


def _path(scope: Scope) -> str:
    """The path as the router sees it, without the prefix of a proxy."""
    path, below = scope["path"], scope.get("root_path", "").rstrip("/")
    return path[len(below) :] or "/" if path == below or path.startswith(f"{below}/") else path


def _content_length(scope: Scope) -> int:
    """The length that the request states, which may be missing or false."""
    stated = dict(scope["headers"]).get(b"content-length", b"")
    return int(stated[:18]) if stated.isdigit() else 0


async def _drain(receive: Receive) -> None:
    """Read and discard what still arrives: a client reads no answer while it sends."""
    with anyio.move_on_after(DRAIN_SECONDS):
        while (await receive()).get("more_body"):
            pass
