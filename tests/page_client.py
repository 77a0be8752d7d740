"""A visitor of the served page without a browser: the events of the page over HTTP, as its own script sends them."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx

NUMBER = count(1)


class HttpClient:
    """One visitor: ``press`` calls an event by its element. ``config``: the page's, if it is known; ``login``: name and
    password; ``http``: options of the connection."""

    def __init__(
        self, address: str, config: dict[str, Any] | None = None, login: tuple[str, str] | None = None, **http: Any
    ) -> None:
        self.http = httpx.Client(base_url=address, timeout=60, **({"trust_env": False} | http))  # no proxy
        if login is not None:
            answer = self.http.post("login", data={"username": login[0], "password": login[1]})
            answer.raise_for_status()
        self.config = config or self.http.get("config").json()
        self.components = {c["id"]: c for c in self.config["components"]}
        self.session_hash = f"client{next(NUMBER)}"
        self.choices = 0  # of a picture, which the page counts and sends
        self.room = "story"  # in sight

    def _bound(self, kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Every event of that kind, with the properties of its component."""
        for event in self.config["dependencies"]:
            for target, name in event["targets"]:
                if name == kind:
                    yield event, self.components.get(target, {}).get("props", {})

    def events(self, element: str, kind: str) -> list[dict[str, Any]]:
        """The events of an element; the last one is its job."""
        found = [event for event, props in self._bound(kind) if props.get("elem_id") == element]
        if not found:
            raise LookupError(element)
        return found

    def event(self, element: str, kind: str) -> dict[str, Any]:
        """The last event of an element: the job."""
        return self.events(element, kind)[-1]

    def press(self, element: str, kind: str = "click", data: Any = None, **changes: Any) -> str:
        """All that the server answers, also to the events that follow, and what the room in sight then draws; ``changes``
        replace inputs by element id."""
        event = self.event(element, kind)
        used = (one for one, _ in event["targets"] if self.components[one]["props"].get("elem_id") == element)
        self.choices += element == "samples"
        answers = [self.call(event["id"], self._inputs(event, changes), data, next(used))]
        for one in self.config["dependencies"]:
            if one["trigger_after"] == event["id"] and not one["trigger_only_on_success"]:
                answers.append(self._call(one))
        return "\n".join([*answers, self.draw()])

    def draw(self) -> str:
        """What the room in sight draws: all that changed since."""
        return "".join(self._call(event) for event, props in self._bound("select") if props.get("id") == self.room)

    def press_first_event(self, element: str) -> str:
        """The first event of a button alone, beside the queue."""
        return self.call_unqueued(self.events(element, "click")[0]["id"])

    def call_unqueued(self, number: int) -> str:
        """An event beside the queue, which may be asked while another one is under way."""
        body = {"fn_index": number, "data": [None], "session_hash": self.session_hash, "event_data": None}
        return self.http.post("gradio_api/run/predict", json=body).text

    def _call(self, event: dict[str, Any], data: Any = None, changes: dict[str, Any] | None = None) -> str:
        return self.call(event["id"], self._inputs(event, changes or {}), data)

    def call(self, number: int, inputs: list[Any], data: Any = None, used: int | None = None) -> str:
        return self.enqueue(number, inputs, data, used=used) or self.answer()

    def enqueue(
        self,
        number: int,
        inputs: list[Any],
        data: Any = None,
        query: dict[str, str] | None = None,
        used: int | None = None,
    ) -> str:
        """Put an event into the queue; ``query``: of the page's address; ``used``: the component that was clicked or changed.
        What the server said, if it refused."""
        body = {"fn_index": number, "data": inputs, "session_hash": self.session_hash}
        body |= {"event_data": data, "trigger_id": used}
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
        self.choices += 1
        assert not self.enqueue(self.load_event, [], query=query)
        lines = list(self.answers())
        return "\n".join(lines), [event["id"] for event in self._following(lines)]

    def _following(self, lines: Iterable[str]) -> list[dict[str, Any]]:
        """The events that these answers tell a browser to go on with: a state has changed that they wait for."""
        answers = [json.loads(line[5:]).get("output", {}) for line in lines]
        changed = {number for one in answers for number in one.get("changed_state_ids", ())}
        changes = [(event, target) for event in self.config["dependencies"] for target in event["targets"]]
        return [event for event, (target, kind) in changes if target in changed and kind == "change"]

    def upload(self, picture: bytes, **changes: Any) -> list[dict[str, Any]]:
        """Hand a picture file in; the events that a browser goes on with: the run."""
        self.choices += 1
        sent = self.http.post("gradio_api/upload", files={"files": ("mine.png", picture)})
        file = {"path": sent.json()[0], "orig_name": "mine.png", "meta": {"_type": "gradio.FileData"}}
        event = self.event("upload", "upload")
        return self._following(self.stream(event, upload=file, **changes))

    def stream(self, event: dict[str, Any], **changes: Any) -> Iterator[str]:
        """What an event answers, line by line; who stops reading has closed the page."""
        refused = self.enqueue(event["id"], self._inputs(event, changes))
        assert not refused, refused
        yield from self.answers()

    @contextmanager
    def connected(self) -> Iterator[None]:
        """The heartbeat stays open while the page is; when it ends the server ends the session."""
        with self.http.stream("GET", f"gradio_api/heartbeat/{self.session_hash}") as beat:
            lines = beat.iter_lines()  # keeps the connection open until it is gone
            next(lines)
            yield
            del lines

    @property
    def load_event(self) -> int:
        """The number of the event of opening the page."""
        ((load, _),) = self._bound("load")
        return load["id"]

    def open(self) -> str:
        self.room = "story"
        return self.call(self.load_event, []) + self.draw()

    def choose_room(self, name: str) -> str:
        """A room comes to sight, by its id; what it draws."""
        self.room = name
        return self.draw()

    def _inputs(self, event: dict[str, Any], changes: dict[str, Any]) -> list[Any]:
        return [self._value(number, changes) for number in event["inputs"]]

    def _value(self, number: int, changes: dict[str, Any]) -> Any:
        props = self.components[number]["props"]
        name = (props.get("elem_id") or "").replace("-", "_")
        return {"choice": self.choices, **changes}.get(name, props.get("value"))
