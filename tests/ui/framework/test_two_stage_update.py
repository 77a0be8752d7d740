"""A touch answered in two events: what comes first, what is owed, and what the hand is on."""

import gradio as gr
import pytest

from rita_demo.ui.framework.two_stage_update import TwoStageUpdate
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.session.session import HOME_TAB, Session


@pytest.fixture
def session(inside_tab: InsideTab) -> Session:
    return inside_tab.context.sessions.get(inside_tab.context.sessions.open())


def test_the_two_updates_are_disjoint_and_complete(inside_tab: InsideTab, session: Session) -> None:
    for tab in (HOME_TAB, "inside"):
        two_stage = TwoStageUpdate(inside_tab.context, tab)
        for changed in (("view",), ("class", "side"), ("inside",), ("step",)):
            first = {c.elem_id for c in two_stage.immediate(session, *changed)}
            late = {c.elem_id for c in two_stage.deferred(session)}
            both = {c.elem_id for c in inside_tab.context.panels.depending_on(*changed, tab=tab)}
            assert first | late == both
            assert not first & late, (tab, changed)


def test_pending_panels_of_several_clicks_are_drawn_once(inside_tab: InsideTab, session: Session) -> None:
    two_stage = inside_tab.two_stage
    two_stage.immediate(session, "view"), two_stage.immediate(session, "class")
    late = {c.elem_id for c in two_stage.deferred(session)}
    assert {"in-entropies-attacked", "in-class"} <= late
    assert two_stage.deferred(session) == {}


def test_an_event_draws_only_what_it_has_outputs_for(inside_tab: InsideTab, session: Session) -> None:
    two_stage, panels = inside_tab.two_stage, inside_tab.context.panels
    two_stage.immediate(session, "view"), two_stage.immediate(session, "step")
    of_view = panels.depending_on("view", tab="inside", immediate=False)
    assert set(two_stage.deferred(session, ["view"])) == set(of_view)
    assert two_stage.deferred(session, ["step"])


def test_the_active_control_is_not_overwritten(inside_tab: InsideTab) -> None:
    context = inside_tab.context
    grid, costs = inside_tab.parts["grid_clean"], inside_tab.parts["costs"]
    with gr.Blocks() as page:
        for part in (context.visitor, context.error_banner, *context.panels.depending_on("view", tab="inside")):
            part.render()
        press = gr.Button("Touch")
        touch = lambda name: inside_tab.two_stage.immediate(context.sessions.get(name), "view", "class")  # noqa: E731
        inside_tab.two_stage.bind_event(press.click, touch, [context.visitor], "view", "class", active=[grid])
    first, late = [one for one in page.fns.values() if one.fn]
    assert late.trigger_after == first._id
    name = context.sessions.open()
    assert costs in first.fn(name)
    answered = late.fn(name)
    assert grid not in answered
    assert inside_tab.parts["grid_attacked"] in answered
