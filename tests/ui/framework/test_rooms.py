"""What an event answers, what its room draws afterwards, and what is drawn when another room comes to sight."""

import gradio as gr
import pytest

from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.session.session import STORY, Session


@pytest.fixture
def session(inside_tab: InsideTab) -> Session:
    session = inside_tab.context.sessions.get(inside_tab.context.sessions.open())
    session.room = "inside"
    return session


@pytest.mark.parametrize("room", [STORY, "inside", "memory"])
def test_an_answer_and_the_room_after_it_draw_all_that_changed_and_nothing_twice(inside_tab, session, room) -> None:
    context, panels = inside_tab.context, inside_tab.context.panels
    panels.draw(session, room)
    for changed in (("view",), ("class",), ("inside",), ("step",), ("memory",)):
        answered = context.answer(session, room, *changed)
        first = set(answered) - {context.signal}
        assert first <= set(context.outputs_of(room, *changed))
        assert (context.signal in answered) == panels.is_stale(session, room)
        late = set(panels.draw(session, room))
        depending = {p.component for p in panels._panels if p.room in (room, None) and not p.topics.isdisjoint(changed)}
        assert first | late == depending
        assert not first & late, (room, changed)


def test_panels_of_several_clicks_are_drawn_once(inside_tab: InsideTab, session: Session) -> None:
    context, panels = inside_tab.context, inside_tab.context.panels
    context.answer(session, "inside", "view"), context.answer(session, "inside", "class")
    late = {c.elem_id for c in panels.draw(session, "inside")}
    assert {"in-entropies", "in-class"} <= late
    assert panels.draw(session, "inside") == {}


def test_a_job_draws_nothing_itself_and_every_room_when_it_comes_to_sight(inside_tab, session) -> None:
    context, panels = inside_tab.context, inside_tab.context.panels
    panels.draw(session, "inside")
    assert context.changed(session, "attack_steps") == {context.signal: str(session.changes)}
    (now,) = [c for c in panels.draw(session, "inside") if c.elem_id == "steps"]
    assert now is inside_tab.parts["steps_figure"]
    assert "story" in {c.elem_id for c in panels.open(session, STORY)}
    assert session.room == STORY
    assert panels.open(session, STORY) == {}, "nothing changed meanwhile"


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
