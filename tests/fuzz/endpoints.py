"""Malformed input for a running page: every event, files, links and raw requests.

A round is one visitor and ``EACH`` things they send; its number is its seed. What one thing does may depend
on those before it, so a round is repeated as a whole.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.fuzz import corpus, mutate
from tests.ui.addresses import filled
from tests.ui.http_client import HttpClient

EVENTS_PER_ROUND = 30
JSON = {"Content-Type": "application/json"}
TIMEOUT = 5.0  # seconds until the visitor leaves in the middle of an answer
#: Beside every address that the app has: what leads out of a folder, or asks another machine.
FOREIGN = (
    "gradio_api/file=/etc/passwd",
    "gradio_api/file=../../etc/passwd",
    "gradio_api/file=%2e%2e/%2e%2e/etc/passwd",
    "file=/etc/passwd",
    "static/../../app.py",
    "svelte/../../app.py",
    "gradio_api/proxy=http://127.0.0.1:1/",
    "theme.css/",
)
#: How often each kind is sent; an address of the app's own is asked more often than before there were so many.
KINDS = {"event": 50, "file": 10, "link": 8, "route": 20, "post": 12}


@dataclass
class FuzzReport:
    """What came of it: how many of each kind were ``sent``, and one line on each fault."""

    sent: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def check_answer(self, what: str, answer: str) -> None:
        """Whether a visitor may read this."""
        for never in ("Traceback", "Something went wrong on our side", "root:x:", "site-packages"):
            if never in answer:
                self.faults.append(f"{what}: answers {never!r}")


class FuzzClient(HttpClient):
    """A visitor who sends odd things, and does not wait for ever. Every request has a connection of its own: after an
    odd one the server may close it."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.http.close()
        alone = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(base_url=address, timeout=60, limits=alone)

    def send_event(self, number: int, inputs: Any, data: Any, query: dict[str, str], timeout: float = TIMEOUT) -> str:
        """One event; what it answers until it is done, or until this visitor has left."""
        body = {"fn_index": number, "data": inputs, "session_hash": self.session_hash, "event_data": data}
        coded = json.dumps(body)
        joined = self.post("gradio_api/queue/join", coded.encode(), query)
        if joined.status_code != 200:
            return joined.text
        answers, listening = [], {"session_hash": self.session_hash}
        try:
            waits = httpx.Timeout(60, read=timeout)
            with self.http.stream("GET", "gradio_api/queue/data", params=listening, timeout=waits) as stream:
                for line in stream.iter_lines():
                    answers.append(line)
                    if '"process_completed"' in line:
                        break
        except httpx.ReadTimeout:
            answers.append("left")
        except (httpx.ReadError, httpx.RemoteProtocolError):
            # Gradio's own complaint repeats the half character, which no answer can hold: the stream ends
            if "\\ud800" not in coded:
                raise
            answers.append("left")
        return "\n".join(answers)

    def post(self, path: str, data: bytes, query: dict[str, str] | None = None) -> httpx.Response:
        head = {"Content-Type": "application/json"}
        return self.http.post(path, content=data, params=query, headers=head)

    def defaults(self, inputs: list[int]) -> list[Any]:
        return [self._value(number, {}) for number in inputs]


def run_round(address: str, number: int, report: FuzzReport, everything: Sequence[tuple[str, str]]) -> None:
    """One visitor, and everything they send; ``everything``: method and path of all that the app answers."""
    rng = random.Random(f"round {number}")
    visitor, events = FuzzClient(address), 0
    events = len(visitor.config["dependencies"])
    report.check_answer(f"round {number} opening", visitor.open())
    for turn in range(EVENTS_PER_ROUND):
        what = f"round {number}, turn {turn}"
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        report.sent[kind] += 1
        try:
            if kind == "event":
                at = (number * EVENTS_PER_ROUND + turn) % events  # every event has its turn
                answer = _event(rng, visitor, visitor.config["dependencies"][at])
                what += f", event {at}"
            elif kind == "route":
                answer = _route(rng, visitor, *everything[(number * EVENTS_PER_ROUND + turn) % len(everything)])
            else:
                answer = _KINDS[kind](rng, visitor)
        except httpx.HTTPError as error:
            answer = f"{type(error).__name__}"
            if not isinstance(error, httpx.TimeoutException):
                report.faults.append(f"{what}: the server does not answer ({answer})")
        report.check_answer(what, answer)
        if answer.endswith("left"):
            visitor = FuzzClient(address)
            visitor.open()
    if "starfish" not in check_normal_use(address):
        report.faults.append(f"round {number}: the next visitor is not answered")
    visitor.http.close()


def check_normal_use(address: str) -> str:
    """The answer to a well-formed visit."""
    visitor = FuzzClient(address)
    event = visitor.event("vocabulary", "input")
    return visitor.send_event(event["id"], ["own", "cup, starfish", "", ""], None, {}, 60)


def _event(rng: random.Random, visitor: FuzzClient, event: dict[str, Any]) -> str:
    inputs: Any = [mutate.value(rng) if rng.random() < 0.4 else given for given in visitor.defaults(event["inputs"])]
    if rng.random() < 0.03:
        inputs = mutate.value(rng)
    data = rng.choice((None, mutate.value(rng), mutate.document(rng, rng.choice(corpus.EVENTS))))
    return visitor.send_event(event["id"], inputs, data, {})


def _file(rng: random.Random, visitor: FuzzClient) -> str:
    files = (rng.choice(corpus.pictures()), corpus.exported_cache(), corpus.saved_run())
    data = mutate.raw(rng, rng.choice(files))
    name = rng.choice(("a.png", "memory.safetensors", *mutate.TEXTS))
    name = name.encode(errors="replace").decode().replace("\0", "0")
    answer = visitor.http.post("gradio_api/upload", files={"files": (name, data)})
    if answer.status_code != 200:
        return answer.text
    sent = {"path": answer.json()[0], "orig_name": name, "meta": {"_type": "gradio.FileData"}}
    if rng.random() < 0.2:
        sent = mutate.document(rng, sent)
    element = rng.choice(("upload", "import", "many"))
    event = visitor.event(element, "upload")
    given: list[Any] = [None, [sent] if element == "many" else sent, False]
    return visitor.send_event(event["id"], given[: len(event["inputs"])], None, {})


def _link(rng: random.Random, visitor: FuzzClient) -> str:
    from tests.fuzz.targets import case

    given = case("permalink", rng.randrange(100_000))
    query = {k.encode(errors="replace").decode(): v.encode(errors="replace").decode() for k, v in given.items()}
    return visitor.send_event(visitor.load_event, [], None, query)


def _route(rng: random.Random, visitor: FuzzClient, method: str, path: str) -> str:
    """An address of the app with this visitor's own session, sometimes bent; and what it likes to be sent."""
    path = filled(path, visitor.session_hash) if rng.random() < 0.8 else rng.choice(FOREIGN)
    if rng.random() < 0.2:
        path = path.replace("/", rng.choice(("//", "/../", "%2f", "/%00/", "\\")), 1)
    about = {"session_hash": visitor.session_hash, "upload_id": "x", "deep_link": "x"}
    file = mutate.raw(rng, rng.choice(corpus.pictures()))
    body: dict[str, Any] = {}
    if method != "GET":
        body = rng.choice(
            (
                {"data": about, "files": {rng.choice(("files", "video", "x")): ("a.mp4", file)}},
                {"content": mutate.as_json(rng, _body(visitor)), "headers": JSON},
            )
        )
    try:
        with visitor.http.stream(method, path, params=about, timeout=TIMEOUT, **body) as answer:
            return next(answer.iter_text(), "") if answer.status_code != 500 else answer.read().decode()
    except httpx.ReadTimeout:  # a stream that has nothing to say
        return ""


def _body(visitor: FuzzClient) -> dict[str, Any]:
    return {
        "fn_index": 3,
        "data": [None],
        "session_hash": visitor.session_hash,
        "event_id": "x",
        "component_id": 3,
        "fn_name": "x",
        "trigger_id": None,
        "event_data": None,
    }


def _post(rng: random.Random, visitor: FuzzClient) -> str:
    path = rng.choice(("queue/join", "run/predict", "upload", "cancel", "reset"))
    return visitor.post(f"gradio_api/{path}", mutate.as_json(rng, _body(visitor))).text


_KINDS = {"file": _file, "link": _link, "post": _post}


def our_tracebacks(log: Path) -> list[str]:
    """The last line of every traceback in the server's log that went through a file of ours."""
    found, ours, inside = [], False, False
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("Traceback"):
            inside, ours = True, False
        elif inside and line.startswith("  "):
            ours = ours or "/rita_demo/" in line
        elif inside and line.strip():
            found += [line] if ours else []
            inside = False
    return found
