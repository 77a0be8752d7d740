"""The page with the fake engine: built, launched, and driven as a stranger could over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from rita_demo.errors import BackboneError
from rita_demo.ui.desk import Engines
from rita_demo.ui.example import WorkedExample
from rita_demo.vlm import BACKBONES
from tests.ui.fake import FakeEngine
from tests.ui.stranger import Stranger, served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(load=lambda name: FakeEngine()) as local:
        yield local


@pytest.fixture
def stranger(address: str) -> Stranger:
    visitor = Stranger(address)
    visitor.open()
    return visitor


def test_opening_the_page_delivers_the_worked_example(address: str) -> None:
    answer = Stranger(address).open()
    for text in ("A worked example", "CLIP was fooled", "restored: motorbike", "Here are 64 crops"):
        assert text in answer


def test_no_hidden_event_hands_its_state_to_what_it_draws(stranger: Stranger) -> None:
    """Gradio's page would tell it to every component that is ever drawn, at 85 ms a touch."""
    hidden = [d for d in stranger.config["dependencies"] if d["show_progress"] == "hidden"]
    assert len(hidden) > 50
    told = {i for one in hidden for i in one["show_progress_on"] or one["outputs"]}
    assert [stranger.parts[i]["type"] for i in told] == ["state"]


def test_the_button_attacks_and_defends(stranger: Stranger) -> None:
    answer = stranger.press("go")
    for text in ("Attacking CLIP: step 3 of 7", "Defending the attacked picture", "Done in"):
        assert text in answer


def test_methods_that_were_ticked_answer_too(stranger: Stranger) -> None:
    assert "<tr class='mta'>" not in stranger.press("go")
    ticked = [
        "tpt",
        "ctpt",
        "mta",
        "rtpt",
        "rita_prompts",
        "rita_memory",
        "rita_reset",
        "rita_untuned",
    ]
    answer = stranger.press("go", methods=ticked)
    for name in ticked:
        assert f"<tr class='{name}'>" in answer
    assert "Done in" in answer


@pytest.mark.parametrize(
    "hostile",
    [
        {"knob_steps": "abc"},
        {"knob_entropy_weight": -1},
        {"knob_attack_seed": 1e300},
        {"vocabulary": "own", "own_names": "<script>alert(1)</script>"},
        {"truth": "${alert(1)}"},
    ],
)
def test_hostile_values_over_http_are_refused_and_the_page_lives_on(
    stranger: Stranger, hostile: dict[str, Any]
) -> None:
    answer = stranger.press("go", **hostile)
    assert "Traceback" not in answer
    assert "<script>" not in answer
    assert "Done in" not in answer
    assert "Done in" in stranger.press("go")


@pytest.mark.parametrize(
    ("element", "data"),
    [
        ("plan", {"curve": 0, "index": 0, "data": [10**9, -1]}),
        ("plan", {"curve": "x", "index": None, "data": "abc"}),
        ("costs", {"curve": 0, "index": 0, "data": [1.5]}),
        ("views", {"index": "0"}),
        ("views", {"index": -1}),
        ("entropies", None),
        ("steps", {"curve": 0, "index": 0, "data": [99]}),
        ("samples", {"sample": "../../etc/passwd"}),
        ("samples", {"sample": ["coffee"]}),
    ],
)
def test_forged_clicks_change_nothing_and_break_nothing(
    stranger: Stranger, element: str, data: Any
) -> None:
    answer = stranger.press(element, data=data)
    assert "Something went wrong" not in answer
    assert "Traceback" not in answer


def test_a_visitor_who_never_opened_the_page_is_told_to_reload(address: str) -> None:
    assert "Reload the page" in Stranger(address).press("go")


def test_no_file_of_the_server_can_be_read(address: str) -> None:
    http = httpx.Client(base_url=address)
    for path in ("app.py", "/etc/passwd", "requirements.txt", "rita_demo/engine.py"):
        assert http.get(f"gradio_api/file={path}").status_code in (403, 404)


def test_a_model_that_cannot_be_loaded_gets_a_sentence_and_the_first_one_stays() -> None:
    def refuse(name: str) -> None:
        raise BackboneError("There is no connection.", "Try again later.")

    engines = Engines(FakeEngine(), refuse)
    with pytest.raises(BackboneError, match="no connection"):
        list(engines.loading("ViT-B-16:openai"))
    assert engines.get("ViT-B-16:openai").info.name == "fake"
    assert not engines.ready("ViT-B-16:openai")


def named(name: str) -> FakeEngine:
    """Another model, for a page that can load some."""
    other = FakeEngine()
    other.info = replace(other.info, name=name)
    return other


def test_who_leaves_while_a_model_is_loaded_lets_nobody_load_a_second_one_beside_it() -> None:
    go_on, running = threading.Event(), []

    def load(name: str) -> FakeEngine:
        running.append(name)
        assert go_on.wait(30)
        return named(name)

    engines = Engines(FakeEngine(), load)
    leaver = engines.loading("slow")
    next(leaver)
    leaver.close()
    with pytest.raises(BackboneError, match="loading a model right now"):
        list(engines.loading("another"))
    go_on.set()
    while engines._lock.locked():
        time.sleep(0.01)
    assert engines.ready("slow"), "nobody waited for it, and it is there"
    assert running == ["slow"]
    list(engines.loading("another"))
    assert engines.ready("another"), "now the next one can be loaded"


def test_a_visitor_whose_model_made_room_is_told_so_and_not_answered_by_another() -> None:
    first, second = [name for name in BACKBONES if name != "embedded"][:2]
    with served(load=named) as local:
        one, two = Stranger(local), Stranger(local)
        for visitor, name in ((one, first), (two, second)):
            visitor.open()
            visitor.press("use-model", model_choice=name)
        assert "had to make room" in one.press("go")
        one.press("use-model", model_choice="fake")
        assert "Done in" in one.press("go")


def test_without_a_telling_sample_the_first_one_is_shown() -> None:
    example = WorkedExample(FakeEngine(spread=1.0), candidates=(("coffee", 4), ("cat", 4)))
    example.start()
    assert example.wait(60)
    assert example.ready is not None
    assert example.ready.sample == "coffee"


def test_an_engine_that_fails_leaves_a_page_with_a_sentence() -> None:
    class Broken(FakeEngine):
        def classes(self, names, settings):
            raise RuntimeError("boom")

    example = WorkedExample(Broken())
    example.start()
    assert example.wait(60)
    assert example.ready is None
    assert example.sentence == "The worked example could not be computed."
