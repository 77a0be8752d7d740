"""Many visitors at once of the real server, in its own process, with the real model."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from rita_demo import bundle
from rita_demo.engine import Engine
from tests.server import running_server
from tests.visitors.people import Person, Wish, view_in

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]
MANY = 20


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("server") / "log.txt") as local:
        yield local


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    """Prints a figure past pytest."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return line


def test_twenty_at_once_are_each_answered_as_if_alone(address: str, say: Any) -> None:
    engine = Engine()
    expected = {wish.number: wish.alone(engine) for wish in map(Wish, range(MANY))}
    people = [Person(address, Wish(number)) for number in range(MANY)]
    begin, found = time.perf_counter(), dict[int, list[str]]()

    def visit(one: Person) -> None:
        story, number = expected[one.wish.number], one.wish.number
        assert '"success":true' in one.run()
        run = one.saved()
        wrong = bundle.differences(run, story)
        wrong += [] if run.names == one.wish.names else [f"class names {run.names}"]
        query = one.look_at(number % 16)
        if one.wish.sample:
            wrong += [] if view_in(query) == str(number % 16) else [f"the link {query!r}"]
            wrong += [] if one.wish.names[0].replace(" ", "+") in query else [f"the link {query!r}"]
        held = one.memory()
        wrong += [] if held["names"] == list(one.wish.names) else [f"a memory of {held['names']}"]
        wrong += [] if held["pictures"] == 1 else [f"a memory of {held['pictures']} pictures"]
        again = bundle.differences(one.saved(), story)  # when all the others have come and asked
        found[number] = wrong + again

    with ThreadPoolExecutor(MANY) as pool:
        list(pool.map(visit, people))
    say(
        f"{MANY} visitors at once: {time.perf_counter() - begin:.0f} s, {sum(map(len, found.values()))} crossings"
    )
    assert found == {number: [] for number in range(MANY)}


def test_a_visitor_who_leaves_frees_the_queue(address: str, say: Any) -> None:
    """The one who leaves has asked for an attack of 100 steps, each over 64 crops."""
    stays, leaves = Person(address, Wish(1)), Person(address, Wish(3))
    begin = time.perf_counter()
    stays.run()
    alone = time.perf_counter() - begin
    leaves.http.timeout = httpx.Timeout(600, read=None)
    left = threading.Event()

    def go_away() -> None:
        """Ask, listen until the attack runs, and close the page."""
        for line in leaves.listening(steps=100, attack="eot", attack_views=64):
            if "Attacking" in line:
                break
        left.set()

    threading.Thread(target=go_away).start()
    assert left.wait(120)
    begin = time.perf_counter()
    stays.run()
    after = time.perf_counter() - begin
    say(
        f"a single picture: {alone:.1f} s alone, {after:.1f} s after somebody left an attack of 100 steps"
    )
    assert after < alone + 15


def test_a_stream_does_not_starve_single_pictures(address: str, say: Any) -> None:
    single, streams = Person(address, Wish(5)), Person(address, Wish(7))
    alone = statistics.median(_seconds(single) for _ in range(5))
    lines: list[str] = []

    def stream() -> None:
        event = streams.event("stream-start", "click")
        form = {"stream_dataset": "textures", "stream_pictures": 500, "stream_traffic": "attacked"}
        for line in streams.listening_to(event, streams._inputs(event, form)):
            lines.append(line)
            if done.is_set():
                break

    done = threading.Event()
    running = threading.Thread(target=stream)
    running.start()
    until = time.monotonic() + 120
    while len(lines) < 5 and time.monotonic() < until:
        time.sleep(0.2)
    before = len(lines)
    assert before >= 5, "the stream does not run"
    beside = statistics.median(_seconds(single) for _ in range(5))
    kept_on = len(lines) - before
    until = time.monotonic() + 60
    while len(lines) < before + kept_on + 3 and time.monotonic() < until:
        time.sleep(0.2)
    after = len(lines) - before - kept_on
    done.set()
    say(f"a single picture (median of 5): {alone:.2f} s alone, {beside:.2f} s beside a stream, which went on by "
        f"{kept_on} updates meanwhile and by {after} more afterwards")  # fmt: skip
    assert beside < 2 * alone + 2
    assert after >= 3, "the stream did not go on"
    running.join(120)


def _seconds(one: Person) -> float:
    begin = time.perf_counter()
    assert '"success":true' in one.run()
    return time.perf_counter() - begin


def test_nothing_unexpected_was_logged(address: str, tmp_path_factory: Any) -> None:
    """Runs last: what the visits above made the server write down."""
    (log,) = (
        p for p in Path(tmp_path_factory.getbasetemp()).glob("server[0-9]*/log.txt") if p.is_file()
    )
    assert "unexpected error" not in log.read_text()
    assert "Traceback" not in log.read_text()
    assert json.loads(httpx.get(address + "config").text)["mode"] == "blocks"
