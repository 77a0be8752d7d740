"""What a request may ask of the page, and how much it may bring along.

Gradio has some seventy addresses; this page uses a third of them. Among the others are some that write files nobody
deletes (screen recordings, links that keep a page's values) and some that run what a development server needs, so
what is not in the lists below is not there: 404, whatever a later Gradio adds. And Gradio limits files, but not
the bodies of events: each address here has a limit, counted while the bytes arrive. And what stumbles over a body that
is no event, no form or no text answers with a sentence instead of an error of the server.
"""

from __future__ import annotations

import re

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rita_demo import logs

MB = 1 << 20
WORDS = 64 << 10  # bytes of a request that names things
QUEUED = 2 * MB  # an event that waits in the queue brings settings and class names
EVENT = (
    40 * MB
)  # one beside the queue: “Save this run” brings the figures of the open tab (0.4 MB of 47 classes)
#: What all events that are read or answered at the same time may weigh beyond 2 MB each: they lie in memory, uploads on
#: disk. Who sends little is never turned away for what others send.
HELD = 160 * MB
UPLOAD = 320 * MB  # a dozen of the largest files, or 32 pictures as cameras make them
PATIENCE = (
    5.0  # seconds that somebody who sends too much is listened to, so that he hears the answer
)
BUSY = "The page is busy with what others send. Try again in a moment."
UNREADABLE = "The page cannot read this request. Reload the page and try again. If it happens again, this number helps to find out why: {}."
CLOSE = {"Connection": "close"}  # after that he may send to nobody

ONE, REST = "[^/]+", ".*"
API = "/gradio_api"
READ = (
    "/", "/config", "/health", "/logout",
    "/theme.css", "/robots.txt", "/favicon.ico", "/manifest.json", f"/static/{REST}", f"/assets/{REST}",
    f"{API}/startup-events",  # what starts the queue: launching asks for it
    f"{API}/app_id", f"{API}/queue/data", f"{API}/upload_progress", f"{API}/heartbeat/{ONE}", f"{API}/file={REST}",
)  # fmt: skip
#: address -> the most bytes of a body
SEND = {
    "/login": WORDS,
    f"{API}/queue/join": QUEUED, f"{API}/run/{ONE}": EVENT,  # an event in the queue, and one beside it
    f"{API}/upload": UPLOAD, f"{API}/cancel": WORDS, f"{API}/reset": WORDS,
}  # fmt: skip
_READ = re.compile("|".join(READ))
_SEND = {re.compile(address): most for address, most in SEND.items()}


def room(method: str, path: str) -> int | None:
    """How many bytes a request to an address may bring along; None: the page has no such address."""
    if method in ("GET", "HEAD"):
        return WORDS if _READ.fullmatch(path) else None
    if method == "POST":
        return next((most for address, most in _SEND.items() if address.fullmatch(path)), None)
    return None


def too_much(most: int) -> str:
    """The sentence for who sends more."""
    said = f"{most // MB} MB" if most >= MB else f"{most >> 10} KB"
    return f"This is more than the page takes at once ({said}). Send less."


class Walls:
    """An ASGI layer before all routes: 404 for addresses that the page does not use, 413 for too large bodies, 503 where
    all that are held together would be too large, 400 for those that nobody can read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._held = 0  # bytes of large events, from when they arrive to the end of the answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most = room(scope["method"], _path(scope))
        if most is None:
            return await JSONResponse({"detail": "Not Found"}, 404)(scope, receive, send)
        if _claimed(scope) > most:
            await _let_go(receive)
            return await JSONResponse({"detail": too_much(most)}, 413, CLOSE)(scope, receive, send)
        begun, came, mine = False, 0, 0

        async def heard(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        async def taken() -> Message:
            nonlocal came, mine
            message = await receive()
            came += len(message.get("body", b""))
            more = max(0, came - QUEUED) - mine if most == EVENT else 0
            if came > most or self._held + more > HELD:
                if message.get("more_body"):
                    await _let_go(receive)
                if came > most:  # whoever reads the body passes it on
                    raise HTTPException(413, too_much(most), CLOSE)
                raise HTTPException(503, BUSY, CLOSE | {"Retry-After": "5"})
            mine, self._held = mine + more, self._held + more
            return message

        try:
            await self.app(scope, taken, heard)
        except (OSError, MemoryError, ClientDisconnect):
            raise  # not the request's fault, or nobody is there
        except Exception as error:
            if begun or scope["method"] != "POST":
                raise  # nothing was brought along that it could have stumbled over
            number = logs.refused("a request that could not be read", error)
            said = UNREADABLE.format(number)
            await JSONResponse({"detail": said}, 400, CLOSE)(scope, receive, send)
        finally:
            self._held -= mine


def _path(scope: Scope) -> str:
    """The address below the path that a proxy serves the page under, as the router sees it."""
    path, below = scope["path"], scope.get("root_path", "").rstrip("/")
    return path[len(below) :] or "/" if path == below or path.startswith(f"{below}/") else path


def _claimed(scope: Scope) -> int:
    """The length that the request names; it need not name one, nor need it be true."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:18])
    return 0


async def _let_go(receive: Receive) -> None:
    """Take what still arrives and keep none of it: who is busy sending hears no answer."""
    with anyio.move_on_after(PATIENCE):
        while (await receive()).get("more_body"):
            pass
