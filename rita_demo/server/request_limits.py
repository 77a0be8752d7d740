"""Allowed addresses, the login, and limits of requests.

Gradio has some seventy addresses; this page uses a third of them. Others write files that are never deleted (screen
recordings, stored page values) or are for development servers. Every address that is not listed below answers 404,
also those of a later Gradio. Where there is a password, Gradio reads a whole event before it asks for it, and some
addresses never ask: here all but the public ones do, and what a stranger sends is discarded. Gradio limits the size of files but not of
events: each address here has a limit, counted while the bytes arrive. Malformed bodies get a 400 instead of a server
error.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rita_demo.process import logging as process_logging
from rita_demo.records.errors import did_you_mean

MB = 1 << 20
LOGIN_LIMIT = 4 << 10  # bytes of a name and a password; each part of a larger form would take a temporary file
SMALL_LIMIT = 64 << 10  # bytes of a request that names things
QUEUED_EVENT_LIMIT = 2 * MB  # an event in the queue sends settings and class names
#: Outside the queue: “Save this run” sends the figures of the open tab (0.4 MB for 47 classes).
DIRECT_EVENT_LIMIT = 40 * MB
#: Bytes beyond 2 MB each of all events that are read or answered at a time: they are in memory, uploads on disk. Small
#: requests are never refused because of others.
TOTAL_LIMIT = 160 * MB
UPLOAD_LIMIT = 320 * MB  # a dozen of the largest files, or 32 pictures as cameras make them
#: Values in an event by its limit of bytes: in memory, a small one takes twenty to a hundred times its bytes, and an event
#: may wait. Commas in texts count, of class names and of figures.
MAX_VALUES = {QUEUED_EVENT_LIMIT: 100_000, DIRECT_EVENT_LIMIT: 2_000_000}
DRAIN_SECONDS = 5.0  # seconds to read on from a client that sends too much, so that it gets the answer
SILENT_SECONDS = 60.0  # between two parts of a body
#: Requests of one address that are being read or answered. An open page has two, while it loads six more.
MAX_OPEN_REQUESTS = 200
TOO_MANY_VALUES = "This has more values than the page takes at once ({:,}). Send less."
TOO_MANY_REQUESTS = "Too many requests come from your address at once. Close some pages, then try again."
TOO_SLOW = f"Nothing has arrived for {SILENT_SECONDS:.0f} seconds. Send it again."
NO_LOGIN = {"error": "Not authenticated", "auth_message": None}  # as Gradio says it, which its clients read
BUSY = "The page is busy with what others send. Try again in a moment."
UNREADABLE = "The page cannot read this request. Reload the page and try again. If it happens again, this number helps to find out why: {}."
CLOSE_HEADER = {"Connection": "close"}
HEALTH, CALL_PATH = "/health", "/gradio_api/call/v2"

#: Addresses without a body: ``+`` is one part of a path, ``*`` any path. Launching asks for ``startup-events``, which
#: starts the queue; ``info`` and ``call`` are for programs.
GET_PATHS = f"""
/ /config {HEALTH} /logout /theme.css /robots.txt /favicon.ico /manifest.json /static/* /assets/*
/gradio_api/startup-events /gradio_api/app_id /gradio_api/queue/data /gradio_api/info /gradio_api/call/+/+
/gradio_api/upload_progress /gradio_api/heartbeat/+ /gradio_api/file=*
"""
#: address -> maximum bytes of a body
POST_LIMITS = {
    "/login": LOGIN_LIMIT,
    "/gradio_api/queue/join": QUEUED_EVENT_LIMIT,
    "/gradio_api/run/+": DIRECT_EVENT_LIMIT,  # an event in the queue, and one beside it
    f"{CALL_PATH}/+": QUEUED_EVENT_LIMIT,  # an endpoint, without gradio_client
    "/gradio_api/upload": UPLOAD_LIMIT,
    "/gradio_api/cancel": SMALL_LIMIT,
    "/gradio_api/reset": SMALL_LIMIT,
}
#: Addresses that answer without a login, also where there are accounts: the form, Gradio's own files, and what launching
#: and supervisors ask for.
PUBLIC_PATHS = f"""
/ {HEALTH} /login /logout /theme.css /robots.txt /favicon.ico /manifest.json /static/* /assets/*
/gradio_api/startup-events /gradio_api/app_id
"""


def _pattern(address: str) -> re.Pattern[str]:
    return re.compile(re.escape(address).replace(r"\+", "[^/]+").replace(r"\*", ".*"))


_LIMITS = {
    "GET": {_pattern(address): SMALL_LIMIT for address in GET_PATHS.split()},
    "POST": {_pattern(address): most for address, most in POST_LIMITS.items()},
}
_PUBLIC = [_pattern(address) for address in PUBLIC_PATHS.split()]


def body_limit(method: str, path: str) -> int | None:
    """Maximum bytes of a request's body; None: the page has no such address."""
    limits = _LIMITS.get("GET" if method == "HEAD" else method, {})
    return next((most for address, most in limits.items() if address.fullmatch(path)), None)


def too_large_text(limit: int) -> str:
    said = f"{limit // MB} MB" if limit >= MB else f"{limit >> 10} KB"
    return f"This is more than the page takes at once ({said}). Send less."


class RequestLimits:
    """ASGI middleware before all routes: 404 for unused addresses, 401 without a login, 413 for too large bodies, 429 for
    too many requests of one address, 503 when the bodies of all requests together would be too large, 408 for a body
    that stops, 400 for malformed ones."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._bytes_in_use = 0  # bytes of large events, from when they arrive to the end of the answer
        self._open_requests: Counter[str] = Counter()  # by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        path, address = _path(scope), (scope.get("client") or ("",))[0]
        most = body_limit(scope["method"], path)
        if most is None:
            return await JSONResponse({"detail": "Not Found"}, 404)(scope, receive, send)
        if not logged_in(scope) and not any(one.fullmatch(path) for one in _PUBLIC):
            await _drain(receive)
            return await JSONResponse({"detail": NO_LOGIN}, 401, CLOSE_HEADER)(scope, receive, send)
        if (unknown := _unknown_endpoint(scope, path)) is not None:
            return await JSONResponse({"detail": unknown}, 404, CLOSE_HEADER)(scope, receive, send)
        if _content_length(scope) > most:
            await _drain(receive)
            return await JSONResponse({"detail": too_large_text(most)}, 413, CLOSE_HEADER)(scope, receive, send)
        if self._open_requests[address] >= MAX_OPEN_REQUESTS and path != HEALTH:
            headers = CLOSE_HEADER | {"Retry-After": "5"}
            return await JSONResponse({"detail": TOO_MANY_REQUESTS}, 429, headers)(scope, receive, send)
        with counted(self._open_requests, address):
            await self._answer(scope, receive, send, most)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        begun, complete, came, values, mine = False, False, 0, 0, 0

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        async def refuse(status: int, said: str, more: bool, **headers: str) -> HTTPException:
            if more:
                await _drain(receive)
            return HTTPException(status, said, CLOSE_HEADER | headers)

        async def receive_limited() -> Message:
            nonlocal complete, came, values, mine
            with anyio.move_on_after(None if complete else SILENT_SECONDS) as wait:
                message = await receive()
            if wait.cancelled_caught:
                raise HTTPException(408, TOO_SLOW, CLOSE_HEADER)
            body, more_body = message.get("body", b""), bool(message.get("more_body"))
            complete, came = not more_body, came + len(body)
            values += sum(map(body.count, (b",", b"[", b"{"))) if most in MAX_VALUES else 0
            more = max(0, came - QUEUED_EVENT_LIMIT) - mine if most == DIRECT_EVENT_LIMIT else 0
            if came > most:  # the reader of the body passes it on
                raise await refuse(413, too_large_text(most), more_body)
            if values > MAX_VALUES.get(most, 0):
                raise await refuse(413, TOO_MANY_VALUES.format(MAX_VALUES[most]), more_body)
            if self._bytes_in_use + more > TOTAL_LIMIT:
                raise await refuse(503, BUSY, more_body, **{"Retry-After": "5"})
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


def logged_in(scope: Scope) -> bool:
    """Whether the request is of somebody who has logged in, or nobody needs to."""
    app, cookies = scope["app"], Request(scope).cookies
    names = (f"{prefix}-{app.cookie_id}" for prefix in ("access-token", "access-token-unsecure"))
    return app.auth is None or any(cookies.get(name) in app.tokens for name in names)


@contextmanager
def counted(counts: Counter[str], name: str) -> Iterator[None]:
    """One more of that name until the end of the block."""
    counts[name] += 1
    try:
        yield
    finally:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]


def _unknown_endpoint(scope: Scope, path: str) -> str | None:
    """What is said to a request that calls an endpoint the page does not have; None: it has it, or none is called."""
    before, _, name = path.rpartition("/")
    if before != CALL_PATH or scope["method"] != "POST":
        return None
    known = [event.api_name for event in scope["app"].get_blocks().fns.values() if event.api_visibility == "public"]
    if name in known:
        return None
    listed = f"Endpoints: {', '.join(map(str, known))}."
    return f"There is no endpoint {name[:40]!r}. {did_you_mean(name, map(str, known), listed)}"


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
