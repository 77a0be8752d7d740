"""Models: a download that ends, a page whose model is loading behind it or cannot be loaded."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save

from rita_demo.data.paper_results import BACKBONES as PRINTED
from rita_demo.data.paper_results import paper_results
from rita_demo.engine.engine import Engine
from rita_demo.engine.loading import LOADING, LoadingEngine
from rita_demo.records.errors import BackboneError
from rita_demo.settings.models import BACKBONES
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.framework.context import ModelPool
from rita_demo.ui.page import build
from rita_demo.vlm.hub_download import PROGRESS
from tests.live_server import wait_until
from tests.page_client import HttpClient
from tests.toy_model import ToyEngine
from tests.ui.http_client import serve_toy_page, served
from tests.vlm.hub import Faults, only_hub, random_model, shrink

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


def test_the_first_press_waits_for_the_model_and_says_so() -> None:
    arrived = threading.Event()

    def load() -> ToyEngine:
        arrived.wait(20)
        return ToyEngine(spread=0.2)

    with loading_page(load) as (address, _):
        client, said = HttpClient(address), list[str]()
        assert not client.enqueue(client.load_event, [])
        next(line for line in client.answers() if LOADING in line)  # the opened page says it
        event = client.event("go", "click")
        assert not client.enqueue(event["id"], [client._value(n, {}) for n in event["inputs"]])
        for line in client.answers():  # and so does the button
            said.append(line)
            if LOADING in line:
                arrived.set()
        said.append(client.draw())
    assert "Done in" in "".join(said)


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


NAME = "ViT-B-32-quickgelu:openai"
FILE = "timm/vit_base_patch32_clip_224.openai/open_clip_model.safetensors"


def test_a_download_ends_when_the_visitor_who_waits_for_it_closes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = save(random_model(shrink(monkeypatch, "ViT-B-32-quickgelu"), seed=0).state_dict())
    with (
        only_hub(FILE, content, tmp_path, monkeypatch) as hub,
        serve_toy_page(load=lambda asked: Engine(asked, "cpu")) as address,
    ):
        hub.faults = Faults(bytes_per_second=len(content) / 60)
        visitor = HttpClient(address)
        visitor.open()
        with visitor.connected():
            answers = visitor.stream(visitor.event("use-model", "click"), model_choice=NAME)
            assert any("Downloading" in answer for answer in answers)
            assert NAME in PROGRESS
            answers.close()
        assert wait_until(lambda: NAME not in PROGRESS, seconds=15)


def test_every_model_names_its_licence_and_the_paper_s_tables_that_are_of_it() -> None:
    for name, entry in BACKBONES.items():
        printed = [cell.table for cell in paper_results() if PRINTED[cell.backbone] == name]
        assert entry.tables == tuple(dict.fromkeys(printed)), name
        assert entry.licence


def named(name: str) -> ToyEngine:
    """Another model, for a page that can load some."""
    other = ToyEngine()
    other.info = replace(other.info, name=name)
    return other


def test_closing_during_a_model_load_allows_no_second_load() -> None:
    go_on, running = threading.Event(), []

    def load(name: str) -> ToyEngine:
        running.append(name)
        assert go_on.wait(30)
        return named(name)

    engines = ModelPool(ToyEngine(), load)
    leaver = engines.load_steps("slow")
    next(leaver)
    leaver.close()
    with pytest.raises(BackboneError, match="loading a model right now"):
        list(engines.load_steps("another"))
    go_on.set()
    assert wait_until(lambda: engines.is_loaded("slow")), "loading goes on without the visitor"
    assert running == ["slow"]
    list(engines.load_steps("another"))
    assert engines.is_loaded("another"), "now the next one can be loaded"


def test_a_session_with_an_unloaded_model_gets_a_message_not_another_model() -> None:
    first, second = [name for name, entry in BACKBONES.items() if entry.megabytes][:2]
    with serve_toy_page(load=named) as local:
        one, two = HttpClient(local), HttpClient(local)
        for visitor, name in ((one, first), (two, second)):
            visitor.open()
            visitor.press("use-model", model_choice=name)
        assert "was unloaded for another visitor" in one.press("go")
        one.press("use-model", model_choice="toy")
        assert "Done in" in one.press("go")
