from __future__ import annotations

import base64
import io
import json

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from rita_demo import film as filming
from rita_demo.errors import DemoError
from rita_demo.ui import notice
from rita_demo.ui.board import Board
from rita_demo.ui.pictures import Pictures, box_of, pictures_value
from rita_demo.ui.sessions import Session
from tests.ui.fake import FakeEngine


def pixels_of(uri: str) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))


def test_only_the_panels_that_depend_on_a_change_are_drawn() -> None:
    with gr.Blocks():
        one, two = gr.HTML(), gr.HTML()
    board = Board()
    board.add(one, lambda s: "one", "view")
    board.add(two, lambda s: "two", "class")
    assert board.redraw(Session(), "view") == {one: "one"}
    assert board.redraw(Session(), "story") == {one: "one", two: "two"}


def test_two_updates_of_one_component_become_one() -> None:
    with gr.Blocks():
        one = gr.HTML()
    board = Board()
    board.add(one, lambda s: gr.update(value="a"), "step")
    board.add(one, lambda s: gr.update(label="b"), "view")
    assert board.redraw(Session(), "view")[one] == gr.update(label="b")
    assert board.redraw(Session(), "story")[one] == gr.update(value="a", label="b")
    assert board.components == [one]


def test_an_unknown_dependency_is_a_mistake() -> None:
    with gr.Blocks():
        one = gr.HTML()
    with pytest.raises(ValueError, match="depends on"):
        Board().add(one, lambda s: "", "weather")


def test_the_pictures_show_the_attacked_square_bit_for_bit(session) -> None:
    shown = pictures_value(session)
    assert shown is not None
    assert np.array_equal(pixels_of(shown["attacked"]["src"]), session.story.attack.pixels)
    assert np.array_equal(pixels_of(shown["clean"]["src"]), session.story.clean.picture.pixels)


def test_the_scrubber_shows_the_frame_of_its_step(session) -> None:
    frames = list(filming.film(FakeEngine(spread=0.2), session.story))
    session.film = tuple(frames)
    session.select(step=2)
    shown = pictures_value(session)
    assert shown is not None
    assert np.array_equal(pixels_of(shown["attacked"]["src"]), session.story.attack.frames[2])
    assert shown["attacked"]["lead"].startswith("After 2 steps of 7")
    assert shown["attacked"]["file"] == "attacked-step-2-of-7.png"


def test_the_pictures_travel_as_json_and_are_never_read_back(session) -> None:
    with gr.Blocks():
        component = Pictures()
    sent = component.postprocess(pictures_value(session))
    assert isinstance(sent, str)
    assert set(json.loads(sent)) == {"clean", "noise", "attacked"}
    assert component.preprocess("<script>") is None


@pytest.mark.parametrize("view", [None, -1, 64, 10**9])
def test_there_is_no_box_for_a_view_that_is_not_there(session, view) -> None:
    session.select(view=view)
    assert box_of(session) is None


def test_our_own_error_becomes_its_sentence_and_another_one_a_general_one() -> None:
    with gr.Blocks():
        panel = notice.Notice()

    @notice.guarded(panel)
    def ours() -> dict:
        raise DemoError("A <b>cup</b> is not a number.", "Give a number.")

    @notice.guarded(panel, lambda: {"status": ""})
    def theirs():
        yield {"status": "working"}
        raise RuntimeError("/home/somebody/secret")

    assert "A &lt;b&gt;cup&lt;/b&gt; is not a number." in ours()[panel]
    first, last = list(theirs())
    assert first == {"status": "working"}
    assert last["status"] == ""
    assert notice.SURPRISE in last[panel]
    assert "secret" not in last[panel]


def test_a_handler_that_yields_nothing_changes_nothing() -> None:
    with gr.Blocks():
        panel = notice.Notice()

    @notice.guarded(panel)
    def idle():
        yield from ()

    assert list(idle()) == [{panel: gr.skip()}]
