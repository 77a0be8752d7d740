import json

import gradio as gr
import pytest
from gradio.context import LocalContext

from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.html_buttons import JsonWidget


def test_only_the_panels_that_depend_on_a_change_are_drawn_and_two_updates_of_one_become_one() -> None:
    with gr.Blocks():
        one, two = gr.HTML(), gr.HTML()
    panels, session = PanelRegistry(), Session()
    panels.add(one, lambda s: gr.update(value="a"), "step")
    panels.add(one, lambda s: gr.update(label="b"), "view")
    panels.add(two, lambda s: "two", "class")
    assert panels.draw(session, "story") == {}
    session.touch("view")
    assert panels.draw(session, "story") == {one: gr.update(label="b")}
    session.touch("run")
    assert panels.draw(session, "story") == {one: gr.update(value="a", label="b"), two: "two"}
    assert panels.components("story") == [one, two]
    session.touch("run")
    panels.leave(session, [one], "step")
    assert panels.draw(session, "story") == {one: gr.update(label="b"), two: "two"}
    with pytest.raises(ValueError, match="depends on"):
        panels.add(one, lambda s: "", "weather")


def test_what_a_browser_sends_back_of_a_drawn_value_is_not_read(session) -> None:
    with gr.Blocks():
        component = JsonWidget(None)
    sent = component.postprocess({"a": session.run.key})
    assert isinstance(sent, str)
    assert json.loads(sent)["a"] == session.run.key
    assert component.preprocess("<script>") is None


def test_known_errors_show_their_message_others_a_general_one_and_no_update_changes_nothing() -> None:
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

    @notice.handle_errors(panel)
    def idle(updates):
        yield from updates

    for updates in ([], [{}]):  # Gradio refuses an empty update
        assert list(idle(updates)) == [{panel: gr.skip()}]


@pytest.mark.parametrize(
    ("seen", "sent"), [("7", "<!--7-->"), ("", gr.skip()), ("--><b>", gr.skip()), ("9" * 30, gr.skip())]
)
def test_a_message_is_taken_away_only_by_an_event_that_was_asked_for_under_it(seen: str, sent: object) -> None:
    with gr.Blocks():
        panel = notice.ErrorBanner()
    request = gr.Request(headers={notice.SEEN_HEADER: seen}, query_params={})
    token = LocalContext.request.set(request)
    try:
        assert notice.handle_errors(panel)(lambda: {panel: "", "status": "done"})() == {panel: sent, "status": "done"}
    finally:
        LocalContext.request.reset(token)
