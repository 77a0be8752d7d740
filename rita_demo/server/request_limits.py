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
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rita_demo.process import logging as process_logging
from rita_demo.records.json_value import JsonValue
from rita_demo.server.events import CALL_PATH, Refusal, checked_event

MB = 1 << 20
LOGIN_LIMIT = 4 << 10  # bytes of a name and a password; each part of a larger form would take a temporary file
SMALL_LIMIT = 64 << 10  # bytes of a request that names things
QUEUED_EVENT_LIMIT = 2 * MB  # an event in the queue sends settings and class names
#: Outside the queue: “Save this run” sends the figures of the open tab (0.4 MB for 47 classes).
DIRECT_EVENT_LIMIT = 40 * MB
#: Events above 2 MB that are read or answered at a time: they are in memory, uploads on disk. Small ones always pass.
MAX_LARGE_EVENTS = 4
UPLOAD_LIMIT = 320 * MB  # a dozen of the largest files, or 32 pictures as cameras make them
#: Values in an event by its limit of bytes: in memory, a small one takes twenty to a hundred times its bytes, and an event
#: may wait. Commas in texts count, of class names and of figures.
MAX_VALUES = {QUEUED_EVENT_LIMIT: 100_000, DIRECT_EVENT_LIMIT: 2_000_000}
MAX_UPLOAD_FILES = 256  # of one request; the page adds 32 pictures at once
DRAIN_SECONDS = 5.0  # seconds to read on from a client that sends too much, so that it gets the answer
SILENT_SECONDS = 60.0  # between two parts of a body
#: Requests of one address that are being read or answered. An open page has two, while it loads six more.
MAX_OPEN_REQUESTS = 200
TOO_MANY_REQUESTS = "Too many requests come from your address at once. Close some pages, then try again."
TOO_SLOW = f"Nothing has arrived for {SILENT_SECONDS:.0f} seconds. Send it again."
TOO_MANY_FILES = f"Too many files: an upload has at most {MAX_UPLOAD_FILES}."
NO_LOGIN: JsonValue = {"error": "Not authenticated", "auth_message": None}  # as Gradio says it, which its clients read
BUSY = "The page is busy with what others send. Try again in a moment."
UNREADABLE = "The page cannot read this request. Reload the page and try again. If it happens again, this number helps to find out why: {}."
HEALTH = "/health"

#: Addresses without a body: ``+`` is one part of a path, ``*`` any path. ``info`` and
#: ``call`` are for programs.
GET_PATHS = f"""
/ /config {HEALTH} /logout /theme.css /robots.txt /favicon.ico /manifest.json /static/* /assets/*
/gradio_api/app_id /gradio_api/queue/data /gradio_api/info /gradio_api/call/+/+
/gradio_api/upload_progress /gradio_api/heartbeat/+ /gradio_api/file=*
"""
#: Gradio would fetch the address that this names.
_REMOTE_FILE = re.compile("/gradio_api/file=https?:.*", re.IGNORECASE)
#: address -> maximum bytes of a body
POST_LIMITS = {
    "/login": LOGIN_LIMIT,
    "/gradio_api/queue/join": QUEUED_EVENT_LIMIT,
    "/gradio_api/run/+": DIRECT_EVENT_LIMIT,  # an event in the queue, and one beside it
    f"{CALL_PATH}+": QUEUED_EVENT_LIMIT,  # an endpoint, without gradio_client
    "/gradio_api/upload": UPLOAD_LIMIT,
    "/gradio_api/cancel": SMALL_LIMIT,
    "/gradio_api/reset": SMALL_LIMIT,
}
#: Addresses that answer without a login, also where there are accounts: the form, Gradio's own files, and what supervisors
#: ask for.
PUBLIC_PATHS = f"""
/ {HEALTH} /login /logout /theme.css /robots.txt /favicon.ico /manifest.json /static/* /assets/*
/gradio_api/app_id
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
    limits = {} if _REMOTE_FILE.fullmatch(path) else _LIMITS.get("GET" if method == "HEAD" else method, {})
    return next((most for address, most in limits.items() if address.fullmatch(path)), None)


def too_large_text(limit: int) -> str:
    most = f"{limit // MB} MB" if limit >= MB else f"{limit >> 10} KB"
    return f"This is more than the page takes at once ({most}). Send less."


class RequestLimits:
    """ASGI middleware before all routes: 404 for unused addresses, 401 without a login, 413 for too large bodies, 429 for
    too many requests of one address, 503 for too many large events, 408 for a body that stops, 400 for one that Gradio
    could not read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._large_events = 0  # being read or answered
        self._open_requests: Counter[str] = Counter()  # by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        path, address = request_path(scope), (scope.get("client") or ("",))[0]
        most, begun = body_limit(scope["method"], path), False
        body = _Body(scope, receive, most or 0)

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if most is None:
                raise Refusal(404, "Not Found")
            if not logged_in(scope) and not any(public.fullmatch(path) for public in _PUBLIC):
                raise Refusal(401, NO_LOGIN)
            if self._open_requests[address] >= MAX_OPEN_REQUESTS and path != HEALTH:
                raise Refusal(429, TOO_MANY_REQUESTS, **{"Retry-After": "5"})
            with counted(self._open_requests, address):
                if most == UPLOAD_LIMIT:
                    await self.app(scope, body, send_and_note)  # goes to disk as it arrives
                else:
                    await self._answer_whole(scope, body, send_and_note)
        except ClientDisconnect:
            return
        except Exception as error:
            if begun and isinstance(error.__cause__, HTTPException):  # Gradio listens for an unknown visitor
                return await send({"type": "http.response.body", "body": b""})
            if not isinstance(error, Refusal):
                if begun or scope["method"] != "POST" or isinstance(error, OSError | MemoryError):
                    raise  # not the fault of a body
                number = process_logging.log_bad_request("a request that could not be read", error)
                error = Refusal(400, UNREADABLE.format(number))
            with anyio.move_on_after(0 if body.complete else DRAIN_SECONDS):  # a client reads no answer while it sends
                while (await receive()).get("more_body"):
                    pass
            await error.answer(scope, receive, send)

    async def _answer_whole(self, scope: Scope, body: "_Body", send: Send) -> None:
        """Read a request whole, check an event, and hand it on."""
        parts, large = list[bytes](), False
        try:
            while not body.complete:
                parts.append((await body()).get("body", b""))
                if not large and body.size > QUEUED_EVENT_LIMIT:
                    if self._large_events >= MAX_LARGE_EVENTS:
                        raise Refusal(503, BUSY, **{"Retry-After": "5"})
                    large, self._large_events = True, self._large_events + 1
            whole = [b"".join(parts)] if parts else []
            del parts
            if most := MAX_VALUES.get(body.most):
                whole = [checked_event(scope["app"], request_path(scope), whole[0], most)]

            async def receive() -> Message:
                return {"type": "http.request", "body": whole.pop()} if whole else await body()

            await self.app(scope, receive, send)
        finally:
            self._large_events -= large


class _Body:
    """The body of a request as it arrives, within its limits. Raises Refusal: it is too large, has too many files, or
    stops; ClientDisconnect."""

    def __init__(self, scope: Scope, receive: Receive, most: int) -> None:
        headers = Headers(scope=scope)
        stated = headers.get("content-length", "")
        self._stated = int(stated[:18]) if stated.isdecimal() else 0  # it may be missing or false
        self._receive, self.most = receive, most
        self.complete, self.size = scope["method"] != "POST", 0
        _, options = parse_options_header(headers.get("content-type", ""))
        self._mark, self._tail, self._marks = b"--" + options.get(b"boundary", b""), b"", 0

    async def __call__(self) -> Message:
        if self.complete:
            return await self._receive()
        if self._stated > self.most:
            raise Refusal(413, too_large_text(self.most))
        with anyio.move_on_after(SILENT_SECONDS) as wait:
            message = await self._receive()
        if wait.cancelled_caught:
            self.complete = True  # nothing more is waited for
            raise Refusal(408, TOO_SLOW)
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        self.complete, self.size = not message.get("more_body"), self.size + len(part)
        if self.size > self.most:
            raise Refusal(413, too_large_text(self.most))
        if self.most == UPLOAD_LIMIT:
            self._marks += (self._tail + part).count(self._mark)
            self._tail = (self._tail + part)[1 - len(self._mark) :]
            if self._marks > MAX_UPLOAD_FILES + 1:  # one ends the last file
                raise Refusal(400, TOO_MANY_FILES)
        return message


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


def request_path(scope: Scope) -> str:
    """The path as the router sees it, without the prefix of a proxy."""
    path, below = scope["path"], scope.get("root_path", "").rstrip("/")
    return path[len(below) :] or "/" if path == below or path.startswith(f"{below}/") else path
