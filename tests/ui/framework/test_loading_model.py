"""The page while its model is loading behind it, and when the model cannot be loaded."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from rita_demo.engine.loading import LOADING, LoadingEngine
from rita_demo.records.errors import BackboneError
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.page import build
from rita_demo.ui.session.store import Sessions
from tests.live_server import wait_until
from tests.page_client import HttpClient
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run
from tests.ui.http_client import served

pytestmark = pytest.mark.slow


@contextmanager
def loading_page(load: Callable[[], Any]) -> Iterator[tuple[str, LoadingEngine]]:
    engine = LoadingEngine(ToyEngine().info, load)
    with served(build(engine, example=WorkedExample(engine))) as address:
        engine.start(head_start=0)
        yield address, engine


@contextmanager
def failing_page(load: Callable[[], Any]) -> Iterator[str]:
    """The page once its model could not be loaded."""
    with loading_page(load) as (address, engine):
        assert wait_until(lambda: engine.failure is not None)
        yield address


@pytest.mark.parametrize("chooses", [True, False], ids=["another sample", "the sample on screen"])
def test_the_first_press_waits_for_the_model_and_says_so(chooses: bool) -> None:
    arrived = threading.Event()

    def load() -> ToyEngine:
        arrived.wait(20)
        return ToyEngine(spread=0.2)

    with loading_page(load) as (address, _):
        client, said = HttpClient(address), list[str]()
        assert not client.enqueue(client.load_event, [])
        next(line for line in client.answers() if LOADING in line)  # the opened page says it
        if chooses:
            client.press("samples", data={"sample": "coffee"})
        event = client.event("go", "click")
        assert not client.enqueue(event["id"], [client._value(n, {}) for n in event["inputs"]])
        for line in client.answers():  # and so does the button
            said.append(line)
            if LOADING in line:
                arrived.set()
        said.append(client.draw())
    assert "Done in" in "".join(said)


@pytest.mark.parametrize("attacks", [False, True], ids=["chooses", "attacks"])
def test_an_example_that_is_ready_late_does_not_replace_a_chosen_picture(attacks: bool) -> None:
    arrived, sessions = threading.Event(), Sessions()
    engine = LoadingEngine(ToyEngine().info, lambda: ToyEngine(spread=0.2) if arrived.wait(20) else None)
    example = WorkedExample(engine)
    page = build(engine, example=example, sessions=sessions)
    opened = next(event.fn for event in page.fns.values() if event.name == "opened")
    steps = opened(SimpleNamespace(session_hash="page", query_params={}))
    (name,) = [value for part, value in next(steps).items() if isinstance(part, gr.State)]
    session = sessions.get(name)
    chosen, own = session.attack_defend, completed_run(ToyEngine()) if attacks else None
    assert chosen.sample == example.sample_key, "what the form shows can be attacked"
    if own is not None:
        session.show(own)
    else:
        chosen.sample, chosen.choice = "coffee", 1
    engine.start(head_start=0)
    arrived.set()
    assert example.wait(20)
    list(steps)
    assert (chosen.sample, chosen.choice) == ((example.sample_key, 0) if attacks else ("coffee", 1))
    assert session.run is own
    example.stop()


def test_a_model_that_cannot_be_loaded_is_an_error_message_at_every_press() -> None:
    def load() -> ToyEngine:
        raise BackboneError("These weights are broken.", "Fetch them again.")

    with failing_page(load) as address:
        client = HttpClient(address)
        assert "These weights are broken. Fetch them again." in client.open()
        client.press("samples", data={"sample": "coffee"})
        for _ in range(2):
            assert "These weights are broken." in client.press("go")


def test_an_unexpected_error_is_logged_under_the_number_that_visitors_see(caplog: Any) -> None:
    def load() -> ToyEngine:
        raise RuntimeError("secret path")

    with failing_page(load) as address:
        said = HttpClient(address).open()
        number = caplog.records[-1].fields["id"]
    assert number in said
    assert "secret" not in said
