"""Gradio's pages with what is changed in them: what is kept of each open page, its heartbeat (a connection that it holds while
it is open), and what is answered to it.

When the last heartbeat of a page ends, all that is kept of the page is deleted. Gradio's own heartbeat runs the page's
unload event for any id, also an invented one: each built a session on the event loop and took one of the few places.
Here it builds nothing, and the open ones have a limit. A page with a heartbeat keeps its place before one without.
"""

import asyncio
import copy
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import gradio as gr
from gradio import utils
from gradio.blocks import Block, BlockFunction
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rita_demo.process import logging as process_logging
from rita_demo.records.json_value import JsonValue
from rita_demo.server.request_limits import UNREADABLE, counted

HEARTBEAT = "/gradio_api/heartbeat/{session_hash}"
BEAT_SECONDS = 15.0
#: Open heartbeats of one address: a class in one room is behind one.
MAX_BEATS_PER_ADDRESS = 100
UNKNOWN_SECONDS = 60.0  # after which the heartbeat of a page that has asked for nothing ends
TOO_MANY_BEATS = "Too many pages are open. Close some of them, then reload this one."


class PageState(SessionState):
    """Gradio's state of one page without the values of its components: Gradio copies all of them (70 ms and a megabyte at
    least), for links to stored pages, which answer 404 here."""

    def __init__(self, page: gr.Blocks) -> None:
        super().__init__(SimpleNamespace(default_config=page.default_config, blocks={}))  # type: ignore[arg-type]

    def __setitem__(self, key: int, value: Any) -> None:
        if isinstance(self.blocks_config.blocks.get(key), gr.State):
            super().__setitem__(key, value)
        else:
            self.blocks_config.blocks[key] = value

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: Any) -> None:
        pass


class Pages(StateHolder):
    """Gradio's states of all pages, by their random ids. ``connected``: the number of open heartbeats of a page."""

    def __init__(self, page: gr.Blocks) -> None:
        super().__init__()
        self.connected: Counter[str] = Counter()
        self.set_blocks(page)

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = PageState(self.blocks)
        return super().__getitem__(session_id)

    def update(self, session_id: str) -> None:
        """Note that a page was used, and make room: the longest unused page without a heartbeat goes first."""
        with self.lock:
            if session_id in self.session_data:
                self.session_data.move_to_end(session_id)
            if len(self.session_data) > self.capacity:
                pages = [page for page in self.session_data if page != session_id]
                self._drop(next((page for page in pages if not self.connected[page]), pages[0]))

    def close(self, page: str) -> None:
        with self.lock:
            self._drop(page)

    def _drop(self, page: str) -> None:
        self.session_data.pop(page, None)
        self.time_last_used.pop(page, None)


class Heartbeats:
    """The heartbeats of one page's visitors. ``most``: open ones of all addresses."""

    def __init__(self, blocks: gr.Blocks, most: int) -> None:
        self._blocks, self._most = blocks, most
        self._of_address: Counter[str] = Counter()

    @property
    def route(self) -> Route:
        return Route(HEARTBEAT, self, methods=["GET"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        address, page = request.client.host if request.client else "", request.path_params["session_hash"]
        if self._of_address[address] >= MAX_BEATS_PER_ADDRESS or self._of_address.total() >= self._most:
            return await JSONResponse({"detail": TOO_MANY_BEATS}, 429, {"Retry-After": "60"})(scope, receive, send)
        pages = request.app.state_holder
        with counted(self._of_address, address):
            try:
                with counted(pages.connected, page):
                    beats = self._beats(page, request.app)
                    await StreamingResponse(beats, media_type="text/event-stream")(scope, receive, send)
            finally:
                if not pages.connected[page] and not request.app.stop_event.is_set():
                    pages.close(page)
                    for event in self._blocks.fns.values():
                        if event.fn and any(kind == "unload" for _, kind in event.targets):
                            event.fn(gr.Request(session_hash=page))

    async def _beats(self, page: str, app: App) -> AsyncIterator[str]:
        """One line every now and then, until the server goes down or the page turns out to be none."""
        waited = 0.0
        while not app.stop_event.is_set() and (waited < UNKNOWN_SECONDS or page in app.state_holder):
            yield "data: ALIVE\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(app.stop_event.wait(), BEAT_SECONDS)
            waited += BEAT_SECONDS


_gradio_preprocess, _gradio_postprocess = gr.Blocks.preprocess_data, gr.Blocks.postprocess_data


def patch_gradio() -> None:
    """Change three things.

    - Values that no component takes are refused with one sentence; Gradio logs a traceback and says nothing.
    - An output that an event does not change costs nothing. Gradio builds its component anew, 0.7 ms for each.
    - A generator's next value of an output is sent whole. Gradio sends edits of the value before, and its browser client
      makes them in place: a value that a busy page has received but not shown yet becomes the next one, which for an
      output that does not change is no value at all. The page then kept an older picture.
    """
    for owner, name, ours in (
        (gr.Blocks, "preprocess_data", _preprocess_untrusted),
        (gr.Blocks, "postprocess_data", _postprocess_changed),
        (utils, "diff", _whole_value),
    ):
        setattr(owner, name, ours)


async def _preprocess_untrusted(page: gr.Blocks, event: BlockFunction, *values: Any, **named: Any) -> list[Any]:
    """Gradio's ``preprocess_data``. Raises gr.Error: a value that no browser sends."""
    try:
        return await _gradio_preprocess(page, event, *values, **named)
    except Exception as error:
        if isinstance(error, gr.Error) and not error.print_exception:
            raise
        number = process_logging.log_bad_request("an event that could not be read", error)
        raise gr.Error(UNREADABLE.format(number), print_exception=False) from error


async def _postprocess_changed(
    page: gr.Blocks, event: BlockFunction, answer: Any, state: SessionState | None
) -> list[Any]:
    """Gradio's ``postprocess_data`` of only those outputs to which the answer, ``{component: value}``, gives a value."""
    outputs: set[Block] = set(event.outputs)
    if not isinstance(answer, dict) or not answer.keys() <= outputs:
        return await _gradio_postprocess(page, event, answer, state)
    changed = {output: v for output, v in answer.items() if not (isinstance(v, dict) and v == gr.skip())}
    narrow, values = copy.copy(event), list(changed.values())
    narrow.outputs = list(changed)
    # a single output takes its value alone
    done = await _gradio_postprocess(page, narrow, values[0] if len(values) == 1 else values, state) if values else []
    answers = dict(zip(changed, done, strict=True))
    return [answers.get(output, None if output.stateful else gr.skip()) for output in event.outputs]


def _whole_value(old: JsonValue, new: JsonValue) -> list[list[JsonValue]]:
    """Gradio's edits from ``old`` to ``new``: none, or one that replaces it."""
    return [] if old == new else [["replace", [], new]]
