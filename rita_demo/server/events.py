"""An event is checked before Gradio reads it: its values are few, its files were uploaded, and its endpoint and inputs are
there."""

import inspect
import json
import re
from typing import Any

from starlette.responses import JSONResponse

from rita_demo.records.errors import did_you_mean
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.api import uploaded_file

MAX_PAGE_ID = 100  # characters; Gradio's clients send 11 or 36, and it keeps each for long
CALL_PATH = "/gradio_api/call/v2/"  # of an endpoint, without gradio_client
TOO_MANY_VALUES = "This has more values than the page takes at once ({:,}). Send less."
NO_UPLOAD = "This is no uploaded file. Choose it again: an upload is kept for an hour."
FULL_QUEUE = "Too many visitors wait for an answer. Try again in a minute."
LONG_PAGE_ID = "The random name of a page has at most 100 characters. Reload the page."
CLOSE_HEADER = {"Connection": "close"}
#: An escape of JSON; ``half``: of two that are one character, the other is missing.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>u[dD][89a-fA-F]..)|.)", re.DOTALL)


class Refusal(Exception):
    """A request that is not answered: an HTTP status, and a sentence for the visitor."""

    def __init__(self, status: int, detail: JsonValue, **headers: str) -> None:
        self.answer = JSONResponse({"detail": detail}, status, CLOSE_HEADER | headers)


def checked_event(app: Any, path: str, body: bytes, most: int) -> bytes:
    """The body of an event as Gradio may read it: half of an emoji, which no answer could repeat, is replaced. Raises
    Refusal: it has more than ``most`` values, names a file that was not uploaded, an unknown endpoint or input, a page
    with a very long name, or is one too many for the queue. ValueError, RecursionError: it is no JSON object."""
    if sum(map(body.count, (b",", b"[", b"{"))) > most:
        raise Refusal(413, TOO_MANY_VALUES.format(most))
    text = body.decode()
    if "\\ud" in text.lower():
        text = _ESCAPE.sub(lambda match: r"\ufffd" if match["half"] else match[0], text)
    event = json.loads(text)
    if not isinstance(event, dict):
        raise ValueError("no object")
    if len(str(event.get("session_hash", ""))) > MAX_PAGE_ID:
        raise Refusal(400, LONG_PAGE_ID)
    if path.startswith(CALL_PATH):
        _check_call(app, path.rpartition("/")[2], event)
    waiting: list[Any] = [event]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "path" in value and uploaded_file(value["path"]) is None:
                raise Refusal(400, NO_UPLOAD)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    queue = app.get_blocks()._queue
    if "/run/" not in path and len(queue) >= queue.max_size:
        raise Refusal(429, FULL_QUEUE, **{"Retry-After": "60"})
    return text.encode()


def _check_call(app: Any, name: str, event: dict[str, JsonValue]) -> None:
    """Raises Refusal: the page has no such endpoint, or the endpoint no such input."""
    endpoints = {event.api_name: event for event in app.get_blocks().fns.values() if event.api_visibility == "public"}
    if name not in endpoints:
        hint = did_you_mean(name, endpoints, f"Endpoints: {', '.join(endpoints)}.")
        raise Refusal(404, f"There is no endpoint {name[:40]!r}. {hint}")
    inputs = inspect.signature(endpoints[name].fn).parameters
    listed = f"Inputs: {', '.join(inputs) or 'none'}."
    for unknown in event.keys() - inputs.keys():
        hint = did_you_mean(unknown, inputs, listed)
        raise Refusal(400, f"This endpoint has no input {unknown[:40]!r}. {hint}")
    for parameter in inputs.values():
        if parameter.default is parameter.empty and parameter.name not in event:
            raise Refusal(400, f"The input {parameter.name!r} is missing. {listed}")
