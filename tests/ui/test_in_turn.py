"""A touch answered in two events: what comes first, what is owed, and what the hand is on."""

from __future__ import annotations

import gradio as gr
import pytest

from rita_demo.ui.board import HOME
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.inside import Inside
from rita_demo.ui.sessions import Session
from tests.ui.conftest import inside_tab
from tests.ui.fake import FakeEngine


@pytest.fixture(scope="module")
def inside() -> Inside:
    return inside_tab(FakeEngine(spread=0.2))


@pytest.fixture
def session(inside: Inside) -> Session:
    return inside.desk.sessions.get(inside.desk.sessions.open())


def test_the_two_answers_share_nothing_and_together_are_everything(
    inside: Inside, session: Session
) -> None:
    for tab in (HOME, "inside"):
        in_turn = InTurn(inside.desk, tab)
        for changed in (("view",), ("class", "side"), ("inside",), ("step",)):
            first = {c.elem_id for c in in_turn.first(session, *changed)}
            late = {c.elem_id for c in in_turn.rest(session)}
            both = {c.elem_id for c in inside.desk.board.depending(*changed, tab=tab)}
            assert first | late == both
            assert not first & late, (tab, changed)


def test_what_is_owed_for_several_touches_is_drawn_once(inside: Inside, session: Session) -> None:
    in_turn = inside.in_turn
    in_turn.first(session, "view"), in_turn.first(session, "class")
    late = {c.elem_id for c in in_turn.rest(session)}
    assert {"in-entropies-attacked", "in-class"} <= late
    assert in_turn.rest(session) == {}


def test_nothing_is_written_over_what_the_hand_is_on(inside: Inside) -> None:
    desk = inside.desk
    grid, costs = inside.parts["grid_clean"], inside.parts["costs"]
    with gr.Blocks() as page:
        for part in (desk.visitor, desk.notice, *desk.board.depending("view", tab="inside")):
            part.render()
        press = gr.Button("Touch")
        touch = lambda name: inside.in_turn.first(desk.sessions.get(name), "view", "class")  # noqa: E731
        inside.in_turn.wire(press.click, touch, [desk.visitor], "view", "class", held=[grid])
    first, late = [one for one in page.fns.values() if one.fn]
    assert late.trigger_after == first._id
    name = desk.sessions.open()
    assert costs in first.fn(name)
    answered = late.fn(name)
    assert grid not in answered
    assert inside.parts["grid_attacked"] in answered
