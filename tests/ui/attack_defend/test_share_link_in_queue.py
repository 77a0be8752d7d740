"""A link's picture waits for its turn like one of the button's: one at a time, in order, and it can be stopped."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from rita_demo.ui.attack_defend.tab import AttackDefendTab
from rita_demo.ui.framework.stoppable import STOPPING
from tests.live_server import wait_until
from tests.page_client import HttpClient
from tests.ui.http_client import ENGINE, serve_toy_page

pytestmark = pytest.mark.slow
STEP_SECONDS = 0.15  # seconds of every step of an attack


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Which jobs began, by the seed that their visitor asked for, and how many ran at the same time."""
    seen, run = SimpleNamespace(started=[], running=0, max_running=0), AttackDefendTab.run

    def watched(tab: AttackDefendTab, session: Any, request: Any) -> Iterator[Any]:
        seen.started.append(request.settings.attack_seed)
        seen.running += 1
        seen.max_running = max(seen.max_running, seen.running)
        try:
            with closing(run(tab, session, request)) as steps:  # type: ignore[type-var]
                yield from steps
        finally:
            seen.running -= 1

    monkeypatch.setattr(AttackDefendTab, "run", watched)
    return seen


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_toy_page() as local, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ENGINE, "step_seconds", STEP_SECONDS)
        yield local


def link(seed: int, **more: str) -> dict[str, str]:
    return {"sample": "motorcycle", "attack_seed": str(seed), "steps": "4", **more}


@pytest.mark.nightly
@pytest.mark.timeout(120)
def test_links_and_button_runs_are_queued_in_order(address: str, recorder: SimpleNamespace) -> None:
    people = [HttpClient(address) for _ in range(5)]
    people[2].open()
    answers, jobs = dict[int, str](), []
    for number, one in enumerate(people):
        if number == 2:  # the one who presses
            go = one.event("go", "click")
            values = [one._value(i, {"setting_attack_seed": number}) for i in go["inputs"]]
            assert not one.enqueue(go["id"], values)
        else:
            begin = time.monotonic()
            _, (event,) = one.open_link(link(number))
            assert time.monotonic() - begin < 5, "the page waited for another visitor's picture"
            assert not one.enqueue(event, [None, None])

        def listen(number: int = number, one: HttpClient = one) -> None:
            answers[number] = one.answer() + one.draw()

        jobs.append(threading.Thread(target=listen))
        jobs[-1].start()
        assert wait_until(lambda: recorder.started, 30)  # the first is being computed when the next one comes
    for job in jobs:
        job.join(60)
    assert recorder.started == [0, 1, 2, 3, 4]
    assert recorder.max_running == 1
    assert all("Done in" in answers[number] for number in range(5))
    first = [re.search(r'"msg":"estimation".*?"rank":(\d+)', answers[number]) for number in range(1, 5)]
    assert [one and int(one[1]) for one in first] == [0, 1, 2, 3], "how many wait before each, which the page shows"
    (go,) = people[2].events("go", "click")
    shown = {people[2].components[number]["props"]["elem_id"] for number in go["show_progress_on"]}
    assert (go["show_progress"], shown) == ("minimal", {"status"})
    for follows in people[0].events("run-shown", "submit"):
        assert '"success":true' in people[0].call(follows["id"], people[0]._inputs(follows, {}))


@pytest.mark.timeout(120)
def test_the_stop_button_stops_a_run_from_a_link(address: str, recorder: SimpleNamespace) -> None:
    visitor, after = HttpClient(address), HttpClient(address)
    _, (event,) = visitor.open_link(link(7, steps="100"))
    assert not visitor.enqueue(event, [None, None])
    lines, pressed = [], False
    for line in visitor.answers():
        lines.append(line)
        if "Attacking" in line and not pressed:
            pressed = True
            assert STOPPING in visitor.press_first_event("stop")
    assert pressed
    assert "Stopped. Nothing was lost." in lines[-1] + lines[-2]
    assert len(lines) < 40, "it went on after it was stopped"
    assert recorder.running == 0
    after.open()
    assert "Done in" in after.press("go")


@pytest.mark.timeout(60)
def test_only_a_link_is_queued_and_a_sample_chosen_while_it_waits_runs_separately(
    address: str, recorder: SimpleNamespace
) -> None:
    visitor, other = HttpClient(address), HttpClient(address)
    for query, said in (({}, "Stored example."), ({"sample": "nothing"}, "sample is one of")):
        answer, events = visitor.open_link(query)
        assert said in answer
        assert events == []
    _, (event,) = other.open_link(link(3, classes="motorbike,crab"))
    assert "There is no link to open" in visitor.call(event, [None, None]), "a forged event"
    assert recorder.started == []
    assert '"success":true' in other.press("samples", data={"sample": "coffee"})
    other.call(event, [None, None])
    drawn = other.draw()
    assert "Done in" in drawn
    assert "sample=motorcycle&classes=motorbike" in drawn
