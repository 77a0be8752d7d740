"""The attack under the hand: its step and its strength, in two tabs, move every picture, figure and verdict.

Nothing is encoded here: the steps and strengths were looked at once, in the background, and are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from rita_demo.film import last_step
from rita_demo.retelling import other_strengths
from rita_demo.ui import what_if
from rita_demo.ui.board import HOME, Board, Updates
from rita_demo.ui.controls import FreeSlider
from rita_demo.ui.desk import Desk
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.sessions import SIDES, Session

INFO = (
    "0 is before the first step. Pictures, views, entropies, costs and verdicts follow, here and in "
    "every tab but the memory's."
)
#: What an event changes that moves the step; one that moves the strength changes STRONGER as well.
MOVED = ("step", "inside", "crops")
STRONGER = ("film", "strength", "draws")
STRENGTH_INFO = "How far a pixel value may move (ε). Others are computed behind the answer; the memory keeps only the run."


@dataclass(frozen=True)
class Scrubber:
    """The two controls of one tab."""

    step: gr.Slider
    strength: gr.Radio


def draw_strength(board: Board, name: str) -> gr.Radio:
    """The choice of strengths; ``name`` is its element id."""
    strength = gr.Radio([], label="Strength shown", info=STRENGTH_INFO, elem_id=name, visible=False)
    board.add(strength, _strengths, "film")
    return strength


def draw_step(board: Board, name: str, aspect: str) -> gr.Slider:
    """The slider of steps and a sentence below it; ``name`` is its element id, ``aspect`` what
    its tab is drawn again for when the step changes."""
    step = FreeSlider(
        0, 7, value=7, step=1, label="Attack step shown", info=INFO, elem_id=name, visible=False
    )
    board.add(step, _slider, aspect)
    board.add(gr.HTML(elem_id=f"{name}-note"), note, aspect, "film")
    return step


def wire_scrubber(desk: Desk, scrubber: Scrubber, asked: gr.Slider, in_turn: InTurn) -> None:
    """Connect it; call it once every panel of every tab is on the board. ``asked`` is the form's
    strength, which follows what is shown; ``in_turn`` is that of the tab it stands in."""

    def moved(visitor: Any, step: Any) -> Updates:
        return look_at(desk, desk.sessions.get(visitor), step, in_turn)

    def stronger(visitor: Any, budget: Any) -> Updates:
        session = desk.sessions.get(visitor)
        updates = look_at_strength(desk, session, budget, in_turn)
        return updates | {asked: session.story.settings.budget} if session.story else updates

    step, strength, visitor = scrubber.step, scrubber.strength, desk.visitor
    in_turn.wire(step.input, moved, [visitor, step], *MOVED, held=[step])
    in_turn.wire(
        strength.input, stronger, [visitor, strength], *MOVED, *STRONGER,
        held=[strength], more=[asked],
    )  # fmt: skip


def look_at_strength(desk: Desk, session: Session, budget: Any, in_turn: InTurn) -> Updates:
    """Show the attack with one of the kept strengths, whatever a browser sent as one."""
    if not isinstance(budget, int) or budget not in session.reels:
        return {}
    session.look_at_strength(budget)
    return _moved(desk, session, in_turn, *STRONGER)


def look_at(desk: Desk, session: Session, step: Any, in_turn: InTurn) -> Updates:
    """Show the kept step nearest to ``step``, whatever a browser sent as one."""
    story = session.story
    whole = isinstance(step, int | float) and step == step and abs(step) < 10**6
    if story is None or story.attack is None or not whole:
        return {}
    session.select(step=min(max(round(step), 0), last_step(story)))
    return _moved(desk, session, in_turn)


def _moved(desk: Desk, session: Session, in_turn: InTurn, *more: str) -> Updates:
    """What the tab in sight shows of it; the other is drawn when somebody comes back to it."""
    if in_turn.tab == HOME:
        desk.cut_views(session, session.selection.side)
        return in_turn.first(session, "step", *more)
    desk.cut_views(session, *SIDES)
    what_if.follow(desk.engine_of(session), session)
    return in_turn.first(session, "inside", "crops", *more)


def _strengths(session: Session) -> Any:
    story = session.story
    if story is None or not other_strengths(story):
        return gr.update(visible=False)
    kept = sorted((*session.reels, story.settings.budget))
    choices = [(f"{n}/255", n) for n in kept]
    return gr.update(choices=choices, value=story.settings.budget, visible=True)


def _slider(session: Session) -> Any:
    story = session.story
    last = 0 if story is None else last_step(story)
    asked = session.selection.step
    value = last if asked is None else asked
    return gr.update(maximum=max(last, 1), value=value, visible=last > 0)


def note(session: Session) -> str:
    """HTML: which steps are kept, how far the others are, and what is shown where one is not."""
    story, now = session.story, session.now
    if story is None or now is None or story.attack is None:
        return ""
    last = last_step(story)
    kept = sorted({0, last} | {frame.step for frame in session.film})
    names = f"{', '.join(map(str, kept[:-1]))} and {kept[-1]}"
    asked, shown = session.selection.step, last if now.step is None else now.step
    said = f"Kept: steps {names} of {last}." if len(kept) <= last else ""
    if asked is not None and asked != shown:
        said = f"Step {asked} is not kept{' yet' if session.filming else ''}: everything shows step {shown}, the nearest. {said}"
    if session.filming:
        done = len(session.film)
        said += (
            f" <progress max='{session.filming}' value='{done}' aria-label='Steps looked at'></progress> "
            f"{done} of {session.filming} steps have been looked at."
        )
    return f"<p class='quiet small' role='status'>{said.strip()}</p>" if said else ""
