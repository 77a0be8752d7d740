"""A lone surrogate in user input breaks no connection; outputs that do not change cost nothing."""

import asyncio
import copy
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr
import numpy as np
import orjson
import pytest
from gradio import routes, utils
from gradio.state_holder import SessionState

from rita_demo.server import gradio_patches
from rita_demo.server.gradio_patches import patch_gradio


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """What the coroutine gives, in a thread of its own: another test may have left this one a running loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@pytest.fixture
def json_writer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "orjson", orjson)  # put back afterwards
    patch_gradio()
    return routes.orjson


def test_text_without_surrogates_is_serialised_unchanged(json_writer) -> None:
    value = {"a": [1.5, float("nan"), "ä😀"], "b": np.arange(3)}
    option = orjson.OPT_SERIALIZE_NUMPY
    assert json_writer.dumps(value, option=option) == orjson.dumps(value, option=option)
    assert json_writer.loads(b"[1]") == [1]
    with pytest.raises(TypeError, match="not JSON serializable"):
        json_writer.dumps(object())


def test_a_lone_surrogate_survives_a_round_trip(json_writer) -> None:
    value = {"said": ["cat \ud83d", "😀"], "with": object}
    answer = json.loads(json_writer.dumps(value, default=str))
    assert answer["said"] == value["said"]


def test_the_document_ends_with_the_opening_as_it_is_and_once() -> None:
    name = "frontend/index.html"
    try:
        for opening in ("<p>old</p>", "<p>{{ new }}</p>"):
            patch_gradio(opening)
        page = routes.templates.env.get_template(name)
        document, login = (page.render(config={"components": c}, gradio_api_info={}) for c in ([{}], []))
    finally:
        patch_gradio()
    assert document.count("<p>{{ new }}</p></body>") == 1
    assert "old" not in document.partition("<body")[2]
    assert "{{ new }}" not in login


@pytest.fixture
def page() -> gr.Blocks:
    with gr.Blocks() as page:
        outputs = [gr.HTML("old"), gr.Slider(0, 10, 1), gr.State(), gr.Button("Stop")]
        gr.Button("Start").click(lambda: None, None, outputs)
    return page


@pytest.mark.parametrize(
    "given",
    [
        {0: "new"},
        {0: gr.skip()},
        {0: "new", 1: gr.skip(), 2: {"a": 1}, 3: gr.update(visible=False)},
        {2: "kept", 3: gr.update(value="Go on", interactive=True)},
    ],
)
def test_outputs_that_change_are_answered_as_gradio_does(page: gr.Blocks, given: dict[int, Any]) -> None:
    (event,) = page.fns.values()

    def processed(by: Any) -> tuple[list[Any], Any]:
        state, answer = SessionState(page), {event.outputs[n]: copy.copy(value) for n, value in given.items()}
        found = finished(by(page, event, answer, state))
        if isinstance(found[0], dict):  # Gradio takes the mark of an update for a property of an HTML component
            found[0].pop("props", None)
        return found, state[event.outputs[2]._id]

    assert processed(gradio_patches._postprocess_changed) == processed(gradio_patches._gradio_postprocess)


def test_an_output_that_does_not_change_is_not_built_again(page: gr.Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    (event,) = page.fns.values()
    built, make = list[str](), gr.Slider.__init__
    monkeypatch.setattr(gr.Slider, "__init__", lambda self, **named: (built.append("slider"), make(self, **named))[1])
    state, text = SessionState(page), {event.outputs[0]: "new"}
    finished(gradio_patches._gradio_postprocess(page, event, text, state))
    assert built == ["slider"]
    finished(gradio_patches._postprocess_changed(page, event, text, state))
    assert built == ["slider"]


def test_an_answer_for_another_component_is_refused_as_before(page: gr.Blocks) -> None:
    (event,) = page.fns.values()
    with pytest.raises(ValueError, match="not specified as output"):
        finished(gradio_patches._postprocess_changed(page, event, {gr.HTML(): "new"}, SessionState(page)))


def test_a_generators_next_value_replaces_the_one_before_and_edits_nothing_in_place(json_writer) -> None:
    old = {"clean": {"src": "a"}, "said": ["x"]}
    assert utils.diff(old, copy.deepcopy(old)) == []
    for new in ({"__type__": "update"}, {"clean": {"src": "b"}, "said": ["x", "y"]}):
        assert utils.diff(old, new) == [["replace", [], new]]


def test_the_progress_of_the_last_uploads_alone_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradio_patches, "RECENT_UPLOADS", 3)
    kept = gradio_patches._RecentUploads()
    for name in "abcde":
        kept.append(name, "a.png", b"xy")
        assert finished(kept.is_tracked(name))

    async def ask_for_unknown() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(kept.is_tracked("unknown"), 0.01)

    finished(ask_for_unknown())
    assert list(kept._statuses) == list(kept._signals) == ["c", "d", "e"]
    assert kept.pop("e").chunk_size == 2
    kept.stop_tracking("d")
    assert list(kept._statuses) == list(kept._signals) == ["c", "e"]
