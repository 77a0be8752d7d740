"""Outputs that do not change cost nothing, and what is sent of one replaces it."""

import asyncio
import copy
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gradio as gr
import pytest
from gradio import utils
from gradio.state_holder import SessionState

from rita_demo.server import pages


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """What the coroutine gives, in a thread of its own: another test may have left this one a running loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


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

    assert processed(pages._postprocess_changed) == processed(pages._gradio_postprocess)


def test_an_output_that_does_not_change_is_not_built_again(page: gr.Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    (event,) = page.fns.values()
    built, make = list[str](), gr.Slider.__init__
    monkeypatch.setattr(gr.Slider, "__init__", lambda self, **named: (built.append("slider"), make(self, **named))[1])
    state, text = SessionState(page), {event.outputs[0]: "new"}
    finished(pages._gradio_postprocess(page, event, text, state))
    assert built == ["slider"]
    finished(pages._postprocess_changed(page, event, text, state))
    assert built == ["slider"]


def test_an_answer_for_another_component_is_refused_as_before(page: gr.Blocks) -> None:
    (event,) = page.fns.values()
    with pytest.raises(ValueError, match="not specified as output"):
        finished(pages._postprocess_changed(page, event, {gr.HTML(): "new"}, SessionState(page)))


def test_a_generators_next_value_replaces_the_one_before_and_edits_nothing_in_place() -> None:
    pages.patch_gradio()
    old = {"clean": {"src": "a"}, "said": ["x"]}
    assert utils.diff(old, copy.deepcopy(old)) == []
    for new in ({"__type__": "update"}, {"clean": {"src": "b"}, "said": ["x", "y"]}):
        assert utils.diff(old, new) == [["replace", [], new]]
