"""Malformed input for a running page: every event, files, links and raw requests.

A round is one visitor and the things they send. What one thing does may depend on those before it, so a round is
repeated as a whole, from the random generator that hypothesis prints.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.fuzz import corpus, mutate
from tests.fuzz.targets import TARGETS
from tests.ui.addresses import filled
from tools.bench.http_client import HttpClient

EVENTS_PER_ROUND = 30
TIMEOUT = 2.0  # seconds until the visitor leaves in the middle of an answer
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
        super().__init__(address, limits=httpx.Limits(max_keepalive_connections=0))

    def send_event(
        self, number: int, inputs: Any, data: Any = None, query: dict[str, str] | None = None, timeout: float = TIMEOUT
    ) -> str:
        """One event; what it answers until it is done, or until this visitor has left."""
        if refused := self.enqueue(number, inputs, data, query):
            return refused
        found, self.http.timeout = [], httpx.Timeout(60, read=timeout)
        try:
            found += self.answers()
        except httpx.ReadTimeout:
            found.append("left")
        self.http.timeout = httpx.Timeout(60)
        return "\n".join(found)


def run_round(
    address: str, number: int, rng: random.Random, report: FuzzReport, everything: Sequence[tuple[str, str]]
) -> None:
    """One visitor, and everything they send; ``everything``: method and path of all that the app answers."""
    visitor = FuzzClient(address)
    report.check_answer(f"round {number} opening", visitor.open())
    for turn in range(EVENTS_PER_ROUND):
        kind = rng.choices(list(SENDERS), [often for often, _ in SENDERS.values()])[0]
        what, at = f"round {number}, turn {turn}, {kind}", number * EVENTS_PER_ROUND + turn
        report.sent[kind] += 1
        try:
            answer = SENDERS[kind][1](rng, visitor, at, everything)
        except httpx.HTTPError as error:
            answer = f"{type(error).__name__}"
            if not isinstance(error, httpx.TimeoutException):
                report.faults.append(f"{what}: the server does not answer ({answer})")
        report.check_answer(what, answer)
        if answer.endswith("left"):
            visitor = FuzzClient(address)
            visitor.open()
    next_one = FuzzClient(address)
    names = next_one.events("own-names", "blur")[0]["id"]  # the lists of the typed names
    answer = next_one.send_event(names, ["own", "cup, starfish", "", ""], timeout=60)
    if "starfish" not in answer:
        report.faults.append(f"round {number}: the next visitor is not answered: {answer[-300:]}")
    visitor.http.close()


def _event(rng: random.Random, visitor: FuzzClient, at: int, _: Any) -> str:
    events = visitor.config["dependencies"]
    event = events[at % len(events)]  # every event has its turn
    given = [visitor._value(number, {}) for number in event["inputs"]]
    inputs: Any = [mutate.value(rng) if rng.random() < 0.4 else one for one in given]
    if rng.random() < 0.03:
        inputs = mutate.value(rng)
    data = rng.choice((None, mutate.value(rng), mutate.document(rng, rng.choice(corpus.EVENTS))))
    return visitor.send_event(event["id"], inputs, data)


def _file(rng: random.Random, visitor: FuzzClient, *_: Any) -> str:
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
    element = rng.choice(("upload", "import"))
    event = visitor.event(element, "upload")
    given: list[Any] = [None, sent, *(["pgd", "caltech101", ""] if element == "upload" else [])]
    return visitor.send_event(event["id"], given)


def _link(rng: random.Random, visitor: FuzzClient, *_: Any) -> str:
    given = TARGETS["permalink"].make(rng)
    query = {k.encode(errors="replace").decode(): v.encode(errors="replace").decode() for k, v in given.items()}
    return visitor.send_event(visitor.load_event, [], query=query)


def _route(rng: random.Random, visitor: FuzzClient, at: int, everything: Sequence[tuple[str, str]]) -> str:
    """An address of the app with this visitor's own session, sometimes bent; and what it likes to be sent."""
    method, path = everything[at % len(everything)]
    path = filled(path, visitor.session_hash) if rng.random() < 0.8 else rng.choice(FOREIGN)
    if rng.random() < 0.2:
        path = path.replace("/", rng.choice(("//", "/../", "%2f", "/%00/", "\\")), 1)
    about = {"session_hash": visitor.session_hash, "upload_id": "x", "deep_link": "x"}
    file = mutate.raw(rng, rng.choice(corpus.pictures()))
    upload = {"data": about, "files": {rng.choice(("files", "video", "x")): ("a.mp4", file)}}
    body: dict[str, Any] = rng.choice((upload, _body(rng, visitor))) if method != "GET" else {}
    try:
        with visitor.http.stream(method, path, params=about, timeout=TIMEOUT, **body) as answer:
            return next(answer.iter_text(), "") if answer.status_code != 500 else answer.read().decode()
    except httpx.ReadTimeout:  # a stream that has nothing to say
        return ""


def _post(rng: random.Random, visitor: FuzzClient, *_: Any) -> str:
    path = rng.choice(("queue/join", "run/predict", "upload", "cancel", "reset"))
    return visitor.http.post(f"gradio_api/{path}", **_body(rng, visitor)).text


def _body(rng: random.Random, visitor: FuzzClient) -> dict[str, Any]:
    """A broken event."""
    whole = {"fn_index": 3, "data": [None], "session_hash": visitor.session_hash, "event_id": "x", "component_id": 3}
    whole |= {"fn_name": "x", "trigger_id": None, "event_data": None}
    return {"content": mutate.as_json(rng, whole), "headers": {"Content-Type": "application/json"}}


#: Kind -> how often it is sent, and by what; an address of the app's own is asked more often than before there were so many.
SENDERS = {"event": (50, _event), "file": (10, _file), "link": (8, _link), "route": (20, _route), "post": (12, _post)}


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
