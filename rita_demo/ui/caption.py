"""What a saved figure carries below it: model, classes, attack and settings of what is on screen.

It stands hidden on the page, where ``plotly_view.js`` finds it when a figure is saved; a figure of many
pictures brings its own.
"""

from __future__ import annotations

from html import escape

import gradio as gr

from rita_demo.attacks import ATTACKS
from rita_demo.plots.figure import Figure
from rita_demo.records import Story
from rita_demo.settings import KNOBS
from rita_demo.ui import words
from rita_demo.ui.board import Board
from rita_demo.ui.controls import shown_value
from rita_demo.ui.sessions import Session
from rita_demo.ui.what_if import from_nearest, seen


def draw_caption(board: Board) -> None:
    """The hidden sentence; it follows everything that changes what the figures draw."""
    line = gr.HTML(elem_id="figure-caption")
    board.add(line, lambda session: f"<p>{escape(caption(session))}</p>", "step", "inside")


def captioned(figure: Figure, says: str) -> Figure:
    """A figure that is not about the picture on screen, with what it is about instead, as plain text."""
    figure.meta["caption"] = f"RITA demo. {says}."
    return figure


def caption(session: Session) -> str:
    """One line of plain text; "" while there is nothing on screen."""
    story = seen(session)
    if story is None:
        return ""
    return f"RITA demo. {story.backbone.title}; {_classes(story)}; {_attack(story)}; {_settings(session, story)}."


def _classes(story: Story) -> str:
    given = "true class" if story.label_given else "CLIP's own answer"
    return f"{given} “{story.bank.names[story.label]}” among {len(story.bank.names)} classes"


def _attack(story: Story) -> str:
    threat = story.threat
    if story.attack is None:
        return "not attacked here"
    strength = f", at most {threat.budget}/255" if threat.budget else ""
    return (
        f"attack: {ATTACKS[threat.attack].title}{strength}, {threat.steps} steps{words.at_step(story)}, on "
        f"{threat.side} × {threat.side} px ({threat.square}), seed {threat.seed}; knows {', '.join(threat.knows)}"
    )


def _settings(session: Session, story: Story) -> str:
    name, changed = from_nearest(story.settings)
    said = [
        f"{KNOBS[n].label} {shown_value(KNOBS[n], getattr(story.settings, n))}" for n in changed
    ]
    out = session.what_if.left_out
    left = len(out.views) + len(out.prompts) + len(out.items)
    if left:
        said.append(f"{left} of views, prompts or remembered views left out")
    return f"settings: {name}" + (f", but {', '.join(said)}" if said else "")
