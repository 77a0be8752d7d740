import base64
import io
import json

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from rita_demo.pipeline import attack_steps as pipeline_steps
from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.panels.picture_triptych import PictureTriptych, pictures_value, selected_box
from rita_demo.ui.session.session import Session
from tests.ui.fake_engine import FakeEngine


def pixels_of(uri: str) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))


def test_only_the_panels_that_depend_on_a_change_are_drawn() -> None:
    with gr.Blocks():
        one, two = gr.HTML(), gr.HTML()
    panels = PanelRegistry()
    panels.add(one, lambda s: "one", "view")
    panels.add(two, lambda s: "two", "class")
    assert panels.redraw(Session(), "view") == {one: "one"}
    assert panels.redraw(Session(), "run") == {one: "one", two: "two"}


def test_two_updates_of_one_component_become_one() -> None:
    with gr.Blocks():
        one = gr.HTML()
    panels = PanelRegistry()
    panels.add(one, lambda s: gr.update(value="a"), "step")
    panels.add(one, lambda s: gr.update(label="b"), "view")
    assert panels.redraw(Session(), "view")[one] == gr.update(label="b")
    assert panels.redraw(Session(), "run")[one] == gr.update(value="a", label="b")
    assert panels.components == [one]


def test_only_the_visible_tab_is_drawn_and_another_one_when_it_is_opened() -> None:
    with gr.Blocks(), gr.Tabs():
        outside = gr.HTML()
        with gr.Tab("First", id="first"):
            one = gr.HTML()
        with gr.Tab("Second", id="second"):
            two = gr.HTML()
    panels, session, computed = PanelRegistry(), Session(visible_tab="first"), []
    for component in (outside, one, two):
        panels.add(component, lambda s: "drawn", "view")
    panels.before_draw("second", computed.append)
    panels.on_open("second", lambda s: {outside: "opened"})
    assert set(panels.redraw(session, "run")) == {outside, one}
    assert panels.open_tab(session, "second") == {outside: "opened", two: "drawn"}
    assert panels.open_tab(session, "second") == {outside: "opened"}, "nothing changed meanwhile"
    assert computed == []
    assert set(panels.redraw(session, "run")) == {outside, two}
    assert computed == [session]
    assert panels.open_tab(session, "first") == {one: "drawn"}


def test_an_unknown_topic_raises_an_error() -> None:
    with gr.Blocks():
        one = gr.HTML()
    with pytest.raises(ValueError, match="depends on"):
        PanelRegistry().add(one, lambda s: "", "weather")


def test_the_pictures_show_the_attacked_square_bit_for_bit(session) -> None:
    shown = pictures_value(session)
    assert shown is not None
    assert np.array_equal(pixels_of(shown["attacked"]["src"]), session.run.attack.pixels)
    assert np.array_equal(pixels_of(shown["clean"]["src"]), session.run.clean.picture.pixels)


def test_the_attack_sliders_show_the_result_of_their_step(session) -> None:
    frames = list(pipeline_steps.attack_step_results(FakeEngine(spread=0.2), session.run))
    session.attack_steps = tuple(frames)
    session.select(step=2)
    shown = pictures_value(session)
    assert shown is not None
    assert np.array_equal(pixels_of(shown["attacked"]["src"]), session.run.attack.frames[2])
    assert shown["attacked"]["lead"].startswith("After 2 steps of 7")
    assert shown["attacked"]["file"] == "attacked-step-2-of-7.png"


def test_pictures_are_sent_as_json_and_never_read_back(session) -> None:
    with gr.Blocks():
        component = PictureTriptych()
    sent = component.postprocess(pictures_value(session))
    assert isinstance(sent, str)
    assert set(json.loads(sent)) == {"clean", "noise", "attacked"}
    assert component.preprocess("<script>") is None


@pytest.mark.parametrize("view", [None, -1, 64, 10**9])
def test_an_invalid_view_has_no_box(session, view) -> None:
    session.select(view=view)
    assert selected_box(session) is None


def test_known_errors_show_their_message_and_others_a_general_one() -> None:
    with gr.Blocks():
        panel = notice.ErrorBanner()

    @notice.handle_errors(panel)
    def ours() -> dict:
        raise DemoError("A <b>cup</b> is not a number.", "Give a number.")

    @notice.handle_errors(panel, lambda: {"status": ""})
    def theirs():
        yield {"status": "working"}
        raise RuntimeError("/home/somebody/secret")

    assert "A &lt;b&gt;cup&lt;/b&gt; is not a number." in ours()[panel]
    first, last = list(theirs())
    assert first == {"status": "working"}
    assert last["status"] == ""
    assert notice.INTERNAL_ERROR in last[panel]
    assert "secret" not in last[panel]


def test_a_handler_that_yields_nothing_changes_nothing() -> None:
    with gr.Blocks():
        panel = notice.ErrorBanner()

    @notice.handle_errors(panel)
    def idle(updates):
        yield from updates

    for updates in ([], [{}]):  # Gradio refuses an empty update
        assert list(idle(updates)) == [{panel: gr.skip()}]
