"""The page with the fake engine on a port, and a client without a browser."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

import gradio as gr
import httpx

from rita_demo.server.gradio_patches import patch_gradio
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.page import build, launch_options
from tests.ui.fake_engine import FakeEngine

NUMBER = count(1)
ENGINE = FakeEngine(spread=0.2)


@cache
def ready_example(engine: FakeEngine) -> WorkedExample:
    """The worked example of an engine, computed once for all pages."""
    example = WorkedExample(engine)
    example.start()
    assert example.wait(120, complete=True)
    return example


def build_fake_page(engine: FakeEngine = ENGINE, **options: Any) -> gr.Blocks:
    """A page with the fake engine whose worked example is ready."""
    return build(engine, example=ready_example(engine), **options)


@contextmanager
def served(page: gr.Blocks) -> Iterator[str]:
    """The page on a port until the end of the block, with the project's patches of Gradio; gives its address."""
    patch_gradio()
    _, local, _ = page.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    try:
        yield local
    finally:
        page.close(verbose=False)


@contextmanager
def serve_fake_page(engine: FakeEngine = ENGINE, **options: Any) -> Iterator[str]:
    """The same, served."""
    with served(build_fake_page(engine, **options)) as local:
        yield local


class HttpClient:
    """One visitor: ``press`` calls an event by its element. ``config``: the page's, if it is known; ``login``: name and
    password; ``http``: options of the connection."""

    def __init__(
        self, address: str, config: dict[str, Any] | None = None, login: tuple[str, str] | None = None, **http: Any
    ) -> None:
        self.http = httpx.Client(base_url=address, timeout=60, **http)
        if login is not None:
            answer = self.http.post("login", data={"username": login[0], "password": login[1]})
            assert answer.status_code == 200, answer.text
        self.config = config or self.http.get("config").json()
        self.components = {c["id"]: c for c in self.config["components"]}
        self.session_hash = f"client{next(NUMBER)}"

    def _bound(self, kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every event of that kind, with the properties of its component."""
        for event in self.config["dependencies"]:
            for target, name in event["targets"]:
                if name == kind:
                    yield event, self.components.get(target, {}).get("props", {})

    def events(self, element: str, kind: str) -> list[dict[str, Any]]:
        """The events of an element: the note that it is queued, if there is one, and the job."""
        found = [event for event, props in self._bound(kind) if props.get("elem_id") == element]
        if not found:
            raise LookupError(element)
        return found

    def event(self, element: str, kind: str) -> dict[str, Any]:
        """The last event of an element: the job."""
        return self.events(element, kind)[-1]

    def press(self, element: str, kind: str = "click", data: Any = None, **changes: Any) -> str:
        """All that the server answers, also to the events that follow; ``changes`` replace inputs by element id."""
        event = self.event(element, kind)
        answers = [self._call(event, data, changes)]
        for one in self.config["dependencies"]:
            if one["trigger_after"] == event["id"] and not one["trigger_only_on_success"]:
                answers.append(self._call(one))
        return "\n".join(answers)

    def press_first_event(self, element: str) -> str:
        """The first event of a button alone: what is said when it is pressed, before the job's turn."""
        return self.call_unqueued(self.events(element, "click")[0]["id"])

    def tick(self) -> str:
        """The answer to the page's timer while a visitor waits."""
        return self.call_unqueued(next(self._bound("tick"))[0]["id"])

    def call_unqueued(self, number: int) -> str:
        """An event beside the queue, which may be asked while another one is under way."""
        body = {"fn_index": number, "data": [None], "session_hash": self.session_hash, "event_data": None}
        return self.http.post("gradio_api/run/predict", json=body).text

    def _call(self, event: dict[str, Any], data: Any = None, changes: dict[str, Any] | None = None) -> str:
        return self.call(event["id"], [self._value(i, changes or {}) for i in event["inputs"]], data)

    def call(self, number: int, inputs: list[Any], data: Any = None) -> str:
        return self.enqueue(number, inputs, data) or self.answer()

    def enqueue(self, number: int, inputs: list[Any], data: Any = None, query: dict[str, str] | None = None) -> str:
        """Put an event into the queue; ``query``: of the page's address. What the server said, if it refused."""
        body = {"fn_index": number, "data": inputs, "session_hash": self.session_hash}
        body |= {"event_data": data, "trigger_id": None}
        head = {"content-type": "application/json"}  # the body may hold NaN, which httpx refuses to write
        joined = self.http.post("gradio_api/queue/join", content=json.dumps(body), headers=head, params=query)
        return "" if joined.status_code == 200 else joined.text

    def answer(self) -> str:
        """All that the server answers to the event that was put into the queue."""
        return "\n".join(self.answers())

    def answers(self) -> Iterator[str]:
        """The same as it comes."""
        with self.http.stream("GET", "gradio_api/queue/data", params={"session_hash": self.session_hash}) as stream:
            for line in stream.iter_lines():
                if line.startswith("data:"):
                    yield line
                    if json.loads(line[5:]).get("msg") == "process_completed":
                        break

    def open_link(self, query: dict[str, str]) -> tuple[str, list[int]]:
        """Open the page with a link: what is answered, and the events that the answer tells a browser to go on with."""
        assert not self.enqueue(self.load_event, [], query=query)
        lines = list(self.answers())
        answers = [json.loads(line[5:]).get("output", {}) for line in lines]
        changed = {number for one in answers for number in one.get("changed_state_ids", ())}
        changes = [(event, target) for event in self.config["dependencies"] for target in event["targets"]]
        events = [event["id"] for event, (target, kind) in changes if target in changed and kind == "change"]
        return "\n".join(lines), events

    @property
    def load_event(self) -> int:
        """The number of the event of opening the page."""
        ((load, _),) = self._bound("load")
        return load["id"]

    def open(self) -> str:
        return self.call(self.load_event, [])

    def choose_tab(self, name: str) -> str:
        """A tab is opened, by its id; all that its events answer."""
        return "".join(self._call(event) for event, props in self._bound("select") if props.get("id") == name)

    def _value(self, number: int, changes: dict[str, Any]) -> Any:
        props = self.components[number]["props"]
        name = (props.get("elem_id") or "").replace("-", "_")
        return changes.get(name, props.get("value"))
