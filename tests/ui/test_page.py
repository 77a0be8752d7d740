"""The page with the toy engine: built, launched, and driven over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from rita_demo.ui.attack_defend import tab
from tests.page_client import HttpClient
from tests.toy_model import ToyEngine
from tests.ui.http_client import serve_toy_page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_toy_page(load=lambda name: ToyEngine()) as local:
        yield local


@pytest.fixture
def http_client(address: str) -> HttpClient:
    visitor = HttpClient(address)
    visitor.open()
    return visitor


def test_opening_the_page_delivers_the_worked_example_and_an_event_before_asks_to_reload(address: str) -> None:
    assert "Press again in a moment. If that does not help, reload the page" in HttpClient(address).press("go")
    visitor = HttpClient(address)
    (story,) = (c for c in visitor.components.values() if c["props"].get("elem_id") == "story")
    assert "sees a crab" in "".join(text for text, _ in json.loads(story["props"]["value"])["claim"]), "with the page"
    assert "Stored example." in visitor.open()
    answer = visitor.choose_room("inside")
    for text in ("crops still fit motorbike better", ">motorbike</b>, ahead by", "Crop "):
        assert text in answer


def test_every_click_is_answered_and_a_long_event_leaves_the_what_if_to_a_quick_one(http_client: HttpClient) -> None:
    """Otherwise Gradio's page repeats the first of several clicks, and an older answer may be drawn over a newer one."""
    parts = http_client.components
    about = {
        one["id"]: {parts[i]["props"].get("elem_id") for i, _ in one["targets"] if i in parts}
        for one in http_client.config["dependencies"]
    }
    clicks = [
        one
        for one in http_client.config["dependencies"]
        if not one["queue"]
        and any(parts.get(i, {}).get("type") == "html" and kind not in ("submit", "undo") for i, kind in one["targets"])
    ]
    selecting = [names for one in clicks if len(names := about[one["id"]]) > 1]
    for names, name in zip(selecting, ("in-plan", "memory-shelf", "fig-large"), strict=True):
        assert name in names, "one event of each room"
    once = {name for one in clicks if one["trigger_mode"] != "multiple" for name in about[one["id"]]}
    assert {"save-run", "views-export"} <= once, "what saves a file answers the first of several clicks"
    assert {name for name in once if not name.endswith(("export", "-zip"))} == {"save-run"}
    (steps,) = (one for one in http_client.config["dependencies"] if about[one["id"]] == {"whatif-tuning_steps"})
    assert [parts[i]["props"]["elem_id"] for i in steps["outputs"]] == ["notice", "status", "signal"]


def test_the_button_attacks_and_defends_with_the_selected_methods(
    http_client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab, "PROGRESS_SECONDS", 0.0)  # the status line names every step
    http_client.choose_room("inside")
    answer = http_client.press("go")
    for text in ("Attacking CLIP: step 3 of 7, loss ", "Defending the attacked picture", "Done in"):
        assert text in answer
    assert "<tr class='mta'>" not in answer
    ticked = ["tpt", "ctpt", "mta", "rtpt", "rita_memory", "rita_untuned"]
    answer = http_client.press("go", methods=ticked)
    for name in ticked:
        assert f"<tr class='{name}'>" in answer
    assert "Done in" in answer


def test_a_run_of_a_picture_that_was_replaced_while_it_waited_is_dropped(http_client: HttpClient) -> None:
    http_client.press("samples", data={"sample": "coffee"})
    assert "Done in" in http_client.press("go")
    http_client.press("samples", data={"sample": "cat"})
    late = http_client.press("go", choice=http_client.choices - 1)  # with the form of the cup
    assert "Another picture was chosen meanwhile." in late
    assert "Done in" not in late


@pytest.mark.parametrize(
    "hostile", [{"setting_attack_seed": 1e300}, {"vocabulary": "own", "own_names": "<script>alert(1)</script>"}]
)
def test_hostile_values_over_http_are_refused_and_the_page_keeps_working(
    http_client: HttpClient, hostile: dict[str, Any]
) -> None:
    answer = http_client.press("go", **hostile)
    assert "Traceback" not in answer
    assert "<script>" not in answer
    assert "Done in" not in answer
    assert "Done in" in http_client.press("go")


NAN = float("nan")
FORGED: tuple[Any, ...] = (
    *(None, "abc", {"view": -1}, {"view": "3"}, {"sample": "../../etc/passwd"}),
    *({"memory_k": k, "slot": k, "point": k} for k in ("0", 10**30, NAN, [0])),
)


def assert_harmless(answer: str, *unwanted: str) -> None:
    for text in ("Something went wrong", "Traceback", *unwanted):
        assert text not in answer, answer[:500]


def test_forged_clicks_change_nothing_and_break_nothing(http_client: HttpClient) -> None:
    """On everything of every tab that says where it was clicked."""
    html = {number for number, one in http_client.components.items() if one["type"] == "html"}
    clicks = [
        one
        for one in http_client.config["dependencies"]
        if one["trigger_mode"] == "multiple" and not one["queue"] and any(i in html for i, _ in one["targets"])
    ]
    for event in clicks:
        for data in FORGED:
            assert_harmless(http_client._call(event, data), '"success":false')
    http_client.choose_room("inside")
    assert "Crop 3" in http_client.press("in-views", data={"view": 3})


def test_no_file_of_the_server_can_be_read(address: str) -> None:
    http = httpx.Client(base_url=address)
    for path in ("app.py", "/etc/passwd", "requirements.txt", "rita_demo/engine/engine.py"):
        assert http.get(f"gradio_api/file={path}").status_code in (403, 404)
