"""Models: a download that ends, a page whose model is loading behind it or cannot be loaded."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from safetensors.torch import save

from rita_demo.data.paper_results import BACKBONES as PRINTED
from rita_demo.data.paper_results import paper_results
from rita_demo.engine.engine import Engine
from rita_demo.engine.loading import LOADING, LoadingEngine
from rita_demo.records.errors import BackboneError
from rita_demo.settings.models import BACKBONES
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.framework.context import AppContext, ModelPool, RunShown, Signal
from rita_demo.ui.framework.notice import ErrorBanner
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.header.model_menu import ModelMenu
from rita_demo.ui.page import build
from rita_demo.ui.session.store import Sessions
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


def test_a_download_shows_megabytes_and_is_stopped_by_its_own_visitor_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real loading of a small model under a real name, from a slow stand-in of the hub."""
    name, content = NAME, save(random_model(shrink(monkeypatch, "ViT-B-32-quickgelu"), seed=0).state_dict())
    sessions = Sessions()
    with gr.Blocks():
        context = AppContext(
            models=ModelPool(ToyEngine(), lambda asked: Engine(asked, "cpu")),
            sessions=sessions,
            panels=PanelRegistry(),
            error_banner=ErrorBanner(),
            status=gr.HTML(),
            signal=Signal(),
            run_shown=RunShown(),
            visitor=gr.State(""),
        )
        menu = ModelMenu(context)
    mine, other = sessions.open(), sessions.open()
    with only_hub(FILE, content, tmp_path, monkeypatch) as hub:
        hub.faults = Faults(bytes_per_second=len(content) / 20)
        said: list[str] = []
        for updates in menu.load(mine, name):
            said.append(str(updates.get(menu.context.status, "")))
            if "Downloading" in said[-1]:
                menu.stop_download(other)
                assert updates[menu.stop_button]["visible"]
            if len([one for one in said if "Downloading" in one]) == 3:
                menu.stop_download(mine)
        assert any(f"Downloading {name}: 0 of " in one for one in said)
        assert f"The download of {name} was stopped." in said[-1]
        assert not updates[menu.stop_button]["visible"]
        assert menu.context.engine_of(sessions.get(mine)).info.name == "toy"
        assert wait_until(lambda: not menu.context.models._lock.locked())
        hub.faults = Faults()
        *_, last = menu.load(mine, name)
        assert "is ready" in str(last[menu.context.status])


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
