"""What is drawn when: the answer of an event and its room; error messages; downloads."""

from dataclasses import fields

import gradio as gr
import pytest
from gradio.context import LocalContext

from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import MAX_DOWNLOADS, AppContext
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.session.session import STORY, Session


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


@pytest.fixture
def visitor(inside_tab: InsideTab) -> Session:
    session = inside_tab.context.sessions.get(inside_tab.context.sessions.open())
    session.room = "inside"
    return session


@pytest.mark.parametrize("room", [STORY, "inside", "memory"])
def test_an_answer_and_the_room_after_it_draw_all_that_changed_and_nothing_twice(inside_tab, visitor, room) -> None:
    context, panels = inside_tab.context, inside_tab.context.panels
    panels.draw(visitor, room)
    for changed in (("view",), ("class",), ("inside",), ("step",), ("memory",)):
        answered = context.answer(visitor, room, *changed)
        first = set(answered) - {context.signal}
        assert first <= set(context.outputs_of(room, *changed))
        assert (context.signal in answered) == panels.is_stale(visitor, room)
        late = set(panels.draw(visitor, room))
        depending = {p.component for p in panels._panels if p.room in (room, None) and not p.topics.isdisjoint(changed)}
        assert first | late == depending
        assert not first & late, (room, changed)


def test_files_are_made_a_few_at_a_time_and_a_finished_one_makes_room() -> None:
    (downloads,) = (one.default_factory() for one in fields(AppContext) if one.name == "downloads")
    assert [downloads.acquire(blocking=False) for _ in range(MAX_DOWNLOADS + 1)] == [True] * MAX_DOWNLOADS + [False]
    downloads.release()
    assert downloads.acquire(blocking=False)
