"""What is drawn when: panels, the answer of an event and its room, selections; error messages; downloads."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from gradio.context import LocalContext

from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import MAX_DOWNLOADS, AppContext
from rita_demo.ui.framework.panels import PanelRegistry, Updates
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.run_panels import class_choices
from rita_demo.ui.session.session import STORY, Session
from tests.ui.conftest import open_room


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


def test_a_job_draws_nothing_itself_and_every_room_when_it_comes_to_sight(inside_tab, visitor) -> None:
    context, panels = inside_tab.context, inside_tab.context.panels
    panels.draw(visitor, "inside")
    assert context.changed(visitor, "attack_steps") == {context.signal: str(visitor.changes)}
    (now,) = [c for c in panels.draw(visitor, "inside") if c.elem_id == "steps"]
    assert now is inside_tab.parts["steps_figure"]
    assert "story" in {c.elem_id for c in panels.open(visitor, STORY)}
    assert visitor.room == STORY
    assert panels.open(visitor, STORY) == {}, "nothing changed meanwhile"


def test_rooms_without_a_first_panel_answer_whole_and_each_prepares_what_it_draws() -> None:
    with gr.Blocks():
        outside = gr.HTML()
        with gr.Tabs():
            with gr.Tab("First", id="first"):
                one = gr.HTML()
            with gr.Tab("Second", id="second"):
                two, three = gr.HTML(), gr.HTML()
    panels, session, computed = PanelRegistry(), Session(room="first"), []
    for component in (outside, one, two):
        panels.add(component, lambda s: "drawn", "view")
    panels.add(three, lambda s: "drawn", "drawer")
    panels.prepare("second", computed.append)
    panels.on_open("second", lambda s: {outside: "opened"})
    session.touch("run")
    assert panels.answer(session, "first", "view") == {outside: "drawn", one: "drawn"}
    assert computed == []
    assert panels.open(session, "second") == {outside: "opened", two: "drawn"}
    assert computed == [session]
    assert panels.open(session, "second") == {outside: "opened"}, "nothing changed meanwhile"
    session.touch("run")
    assert set(panels.answer(session, "second", "view")) == {outside, two}
    session.touch("drawer")
    assert panels.answer(session, "second", "drawer") == {three: "drawn"}
    assert panels.open(session, "first") == {one: "drawn"}


class Room:
    """A visitor of *Inside*, and the page's event."""

    def __init__(self, tab: InsideTab, run: Any) -> None:
        self.tab, self.name = tab, tab.context.sessions.open()
        self.session = tab.context.sessions.get(self.name)
        self.session.show(run)
        open_room(tab, self.name)
        page: Any = tab.step_slider
        while page.parent is not None:
            page = page.parent
        self.events = [one for one in page.fns.values() if one.name in ("on_selection", "on_slider")]
        grid = tab.parts["columns"]._id
        (self.event,) = (one for one in self.events if (grid, "click") in one.targets)

    def click(self, target: Any, *values: Any, **named: Any) -> Updates:
        return self.event.fn(self.name, SimpleNamespace(target=target, _data=named), *(values or (None,)))


@pytest.fixture
def room(inside_tab: InsideTab, example_run) -> Room:
    return Room(inside_tab, example_run)


def test_a_crop_is_chosen_without_its_tiles_being_sent_again_and_every_answer_is_among_the_outputs(room: Room) -> None:
    parts = room.tab.parts
    answer = room.click(parts["columns"], view=3)
    assert {one.elem_id for one in answer} == {"in-views", "in-crop", "in-plan", "in-cell", "signal"}
    assert (answer[parts["columns"]]["view"], "value" in answer[parts["columns"]]) == (3, False)
    assert answer.keys() <= set(room.event.outputs)


def test_a_menu_selects_what_its_value_is(room: Room) -> None:
    room.click(room.tab.parts["class_menu"], 2)
    assert (room.session.selection.k, room.session.selection.atom) == (2, None)
    assert class_choices(room.session)["value"] == 2


def test_a_slider_is_not_moved_by_its_own_answer(room: Room) -> None:
    slider, panels = room.tab.step_slider, room.tab.context.panels
    (event,) = (one for one in room.events if (slider._id, "input") in one.targets)
    answer = event.fn(room.name, 4)
    assert room.session.selection.step == 4
    assert room.tab.parts["costs"] in answer
    assert slider not in answer.keys() | panels.draw(room.session, "inside").keys()


def test_every_figure_with_marks_of_every_room_is_bound_once(room: Room) -> None:
    selecting = [one for one in room.events if any(kind == "click" for _, kind in one.targets)]
    targets = [target for one in selecting for target in one.targets]
    assert len(selecting) == 4
    assert len(set(targets)) == len(targets)


def test_files_are_made_a_few_at_a_time_and_a_finished_one_makes_room() -> None:
    (downloads,) = (one.default_factory() for one in fields(AppContext) if one.name == "downloads")
    assert [downloads.acquire(blocking=False) for _ in range(MAX_DOWNLOADS + 1)] == [True] * MAX_DOWNLOADS + [False]
    downloads.release()
    assert downloads.acquire(blocking=False)
