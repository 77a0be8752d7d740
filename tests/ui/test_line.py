"""The place in line: as counted, and as a page tells it while somebody else's picture is computed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from rita_demo.ui.example import WorkedExample
from rita_demo.ui.line import SILENT, Line, place
from rita_demo.ui.page import build, launch_options
from rita_demo.ui.sessions import Session
from tests.ui.fake import FakeEngine
from tests.ui.stranger import Stranger


def test_everybody_is_told_how_many_came_before() -> None:
    line, (one, two, three) = Line(), (Session(), Session(), Session())
    for session in (one, two, three, two):
        line.join(session)
    assert [line.ahead(s) for s in (one, two, three)] == [0, 1, 2]
    line.leave(one)
    line.leave(one)
    assert [line.ahead(s) for s in (one, two, three)] == [None, 0, 1]


def test_who_stops_asking_has_left() -> None:
    now = [0.0]
    line, gone, here = Line(lambda: now[0]), Session(), Session()
    line.join(gone)
    line.join(here)
    now[0] = SILENT - 1
    assert line.ahead(here) == 1
    now[0] = SILENT + 1
    assert line.ahead(here) == 0
    assert line.ahead(gone) is None


def test_the_sentence_counts() -> None:
    assert place(1) == "Another picture is being computed; yours is next"
    assert place(3) == "3 pictures are computed before yours"


@pytest.fixture
def address() -> Iterator[str]:
    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    page = build(engine, example=example)
    assert example.wait(120, film=True)
    engine.slow = 0.4  # seconds of every step of an attack
    _, local, _ = page.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    yield local
    page.close()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_page_says_how_many_are_before_and_falls_silent_when_the_turn_comes(address: str) -> None:
    one, two, three = (Stranger(address) for _ in range(3))
    for visitor in (one, two, three):
        visitor.open()
    jobs, said = [], dict[Stranger, str]()
    for visitor in (one, two, three):
        said[visitor] = visitor.begin("go")
        jobs.append(threading.Thread(target=visitor.press, args=("go",)))
        jobs[-1].start()
        time.sleep(0.8)  # the one before has reached the server
    assert "before yours" not in said[one] + said[two]
    assert "yours is next" in said[two]
    assert "2 pictures are computed before yours" in said[three]
    assert "2 pictures are computed before yours" in three.tick()
    jobs[0].join(60)
    until = time.monotonic() + 30
    while "yours is next" not in (now := three.tick()) and time.monotonic() < until:
        time.sleep(0.2)
    assert "yours is next" in now
    for job in jobs:
        job.join(60)
    assert '"active":false' in three.tick()
