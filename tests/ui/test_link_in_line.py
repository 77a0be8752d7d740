"""A link's picture waits for its turn like one of the button's: one at a time, in order, and it can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from rita_demo.ui.example import WorkedExample
from rita_demo.ui.page import build, launch_options
from rita_demo.ui.running import Jobs
from tests.ui.fake import FakeEngine
from tests.ui.stranger import Stranger

pytestmark = pytest.mark.slow
SLOW = 0.15  # seconds of every step of an attack


class Watched:
    """Which jobs of the button began, by the seed that their visitor asked for, and how many ran at the same time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began: list[int] = []
        self.running = self.most = 0
        self._lock, tell = threading.Lock(), Jobs.tell

        def watched(jobs: Jobs, session: Any, ask: Any) -> Iterator[Any]:
            with self._lock:
                self.began.append(ask.settings.attack_seed)
                self.running += 1
                self.most = max(self.most, self.running)
            try:
                with closing(tell(jobs, session, ask)) as steps:  # type: ignore[type-var]
                    yield from steps
            finally:
                with self._lock:
                    self.running -= 1

        monkeypatch.setattr(Jobs, "tell", watched)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


@pytest.fixture
def address(watched: Watched) -> Iterator[str]:
    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    page = build(engine, example=example)
    assert example.wait(120, film=True)
    engine.slow = SLOW
    _, local, _ = page.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    yield local
    page.close()


def link(seed: int, **more: str) -> dict[str, str]:
    return {"sample": "motorcycle", "attack_seed": str(seed), "steps": "4", **more}


@pytest.mark.nightly
@pytest.mark.timeout(120)
def test_four_links_and_a_press_are_computed_one_at_a_time_in_their_order(
    address: str, watched: Watched
) -> None:
    people = [Stranger(address) for _ in range(5)]
    people[2].open()
    said, answers = list[str](), dict[int, str]()
    jobs = []
    for number, one in enumerate(people):
        if number == 2:  # the one who presses
            said.append(one.begin("go"))
            go = one.event("go", "click")
            values = [one._value(i, {"knob_attack_seed": number}) for i in go["inputs"]]
            assert not one.ask(go["id"], values)
        else:
            begin = time.monotonic()
            told, (event,) = one.follow(link(number))
            assert time.monotonic() - begin < 5, "the page waited for somebody's picture"
            said.append(told)
            assert not one.ask(event, [None, None])

        def listen(number: int = number, one: Stranger = one) -> None:
            answers[number] = one.answer()

        jobs.append(threading.Thread(target=listen))
        jobs[-1].start()
        until = time.monotonic() + 30  # the first is being computed when the next one comes
        while not watched.began and time.monotonic() < until:
            time.sleep(0.02)
    assert "before yours" not in said[0] + said[1]
    assert "yours is next" in said[1]
    assert "3 pictures are computed before yours" in said[3]
    assert "4 pictures are computed before yours" in people[4].tick()
    for job in jobs:
        job.join(60)
    assert watched.began == [0, 1, 2, 3, 4]
    assert watched.most == 1
    assert all("Done in" in answers[number] for number in range(5))
    assert '"active":false' in people[4].tick()
    follows = [d for d in people[0].config["dependencies"] if d["trigger_after"] == event]
    assert [d["trigger_only_on_success"] for d in follows] == [True]
    assert '"success":true' in people[0].call(follows[0]["id"], [None])


@pytest.mark.timeout(120)
def test_the_stop_button_stops_a_links_picture(address: str, watched: Watched) -> None:
    visitor, after = Stranger(address), Stranger(address)
    _, (event,) = visitor.follow(link(7, steps="100"))
    assert not visitor.ask(event, [None, None])
    lines, pressed = [], False
    for line in visitor.answers():
        lines.append(line)
        if "Attacking" in line and not pressed:
            pressed = True
            stop = next(
                d["id"] for d in visitor.config["dependencies"]
                if any(visitor.parts.get(t, {}).get("props", {}).get("elem_id") == "stop" for t, _ in d["targets"])
            )  # fmt: skip
            assert "Stopping after this step" in visitor.at_once(stop)
    assert pressed
    assert "Stopped. Nothing was lost." in lines[-1] + lines[-2]
    assert len(lines) < 40, "it went on after it was stopped"
    assert watched.running == 0
    after.open()
    assert "Done in" in after.press("go")


@pytest.mark.timeout(60)
def test_without_a_link_nothing_is_put_into_the_line_and_a_forged_event_gets_a_sentence(
    address: str, watched: Watched
) -> None:
    visitor, other = Stranger(address), Stranger(address)
    told, events = visitor.follow({})
    assert "A worked example" in told
    assert events == []
    told, events = visitor.follow({"sample": "nothing"})
    assert "sample is one of" in told
    assert events == []
    _, (event,) = other.follow(link(1))
    assert "There is no link to follow" in visitor.call(event, [None, None])
    assert watched.began == []


@pytest.mark.timeout(60)
def test_a_sample_chosen_while_a_link_waits_is_not_mixed_with_it(
    address: str, watched: Watched
) -> None:
    visitor = Stranger(address)
    _, (event,) = visitor.follow(link(3, classes="motorbike,crab"))
    strip = next(
        d for d in visitor.config["dependencies"]
        if any(visitor.parts.get(t, {}).get("props", {}).get("elem_id") == "samples" for t, _ in d["targets"])
    )  # fmt: skip
    assert '"success":true' in visitor.call(
        strip["id"], [visitor._value(i, {}) for i in strip["inputs"]], {"sample": "coffee"}
    )
    answer = visitor.call(event, [None, None])
    assert "sample=motorcycle&classes=motorbike" in answer
