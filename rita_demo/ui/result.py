"""The right side and what follows below it: every panel of the tab, each drawn from the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from rita_demo import plots
from rita_demo.film import last_step
from rita_demo.ui import touched, verdicts, words
from rita_demo.ui.background import (
    AT_ONCE,
    STRENGTHS_AT_ONCE,
    film_seconds,
    strengths_seconds,
)
from rita_demo.ui.board import Board
from rita_demo.ui.evidence import draw_evidence
from rita_demo.ui.pictures import Pictures, box_of, pictures_value
from rita_demo.ui.plotly_view import PlotlyView
from rita_demo.ui.scrubber import Scrubber, draw_step, draw_strength
from rita_demo.ui.sessions import Session
from rita_demo.ui.sprite import ViewsGrid, grid_value, sheet_value
from rita_demo.ui.strength import draw_strength_curve

WAITING = "The worked example is being computed."


@dataclass(frozen=True)
class Result:
    """The panels that can be touched, and the buttons among them."""

    pictures: Pictures
    first: list[Any]
    steps: PlotlyView
    scrubber: Scrubber
    follow: gr.Button
    side: gr.Radio
    grid: ViewsGrid
    entropies: PlotlyView
    costs: PlotlyView
    looked_at: gr.Dropdown
    plan: PlotlyView
    again: gr.Button
    stronger: gr.Button


def draw_first_screen(board: Board) -> dict[str, Any]:
    """Three pictures, who is right, along the attack, and what the attacker may do."""
    pictures = Pictures(elem_id="pictures")
    board.add(pictures, lambda session: gr.update(value=pictures_value(session)), "step", soon=True)
    board.add(pictures, lambda session: gr.update(box=box_of(session)), "view", "side", soon=True)
    with gr.Row(elem_id="answers"):
        with gr.Column(scale=3, min_width=320, elem_id="who"):
            gr.HTML("<h3>Who is right?</h3>")
            banner, table = gr.HTML(elem_id="banner"), gr.HTML(elem_id="verdicts")
            board.add(banner, verdicts.banner, "step", soon=True)
            board.add(table, verdicts.table, "step", soon=True)
        with gr.Column(scale=2, min_width=320, elem_id="along"):
            gr.HTML("<h3>Along the attack</h3>")
            strength = draw_strength(board, "strength-shown")
            steps = PlotlyView(
                aria="Loss and every verdict, by attack step", height=290, narrow_height=360,
                empty="The attack's steps will be drawn here.", elem_id="steps",
            )  # fmt: skip
            scrubber = Scrubber(draw_step(board, "scrubber", "step"), strength)
            follow = gr.Button("Look at the steps between", elem_id="follow", visible=False)
            board.add(steps, _steps, "step", "film")
            board.add(follow, _follow, "film")
    threat, times = gr.HTML(elem_id="threat"), gr.HTML(elem_id="times")
    unknown = gr.HTML(elem_id="unknown")
    board.add(threat, verdicts.threat, "strength")
    board.add(unknown, verdicts.unknown_words)
    board.add(times, verdicts.times, "strength")
    return {
        "pictures": pictures, "first": [pictures, banner, table], "steps": steps,
        "scrubber": scrubber, "follow": follow,
    }  # fmt: skip


def _steps(session: Session) -> Any:
    now = session.now
    if now is None or now.attack is None:
        return None
    shown = last_step(now) if now.step is None else now.step
    return plots.attack_steps(now, session.film, shown)


def _follow(session: Session) -> Any:
    """The button of what was too slow to come by itself."""
    story = session.story
    if story is None or session.filming:
        return gr.update(visible=False)
    film = 0.0 if session.film else film_seconds(story)
    other = 0.0 if session.reels else strengths_seconds(story)
    slow = [film] * (film > AT_ONCE) + [other] * (other > STRENGTHS_AT_ONCE)
    what = "the steps between and at other strengths" if film > AT_ONCE else "other strengths"
    name = f"Look at {what} (about {words.seconds(sum(slow))})"
    return gr.update(visible=bool(slow), value=name)


def draw_views(board: Board) -> dict[str, Any]:
    """3. The cloud of crops."""
    heading = gr.HTML(elem_id="heading-views")
    said = verdicts.headline(3, words.heading_views, "The picture as 64 crops.")
    board.add(heading, said, "step")
    gr.HTML(
        f"<p class='lead'>Each {words.term('view')} is asked on its own, after the {words.term('step back')}. A {words.term('confident view')} "
        f"(low {words.term('entropy')}) may enter the {words.term('memory (cache)')}. Choose one: its "
        "place is outlined on the pictures.</p>"
    )
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            side = gr.Radio(
                [("attacked", "attacked"), ("clean", "clean")], value="attacked",
                label="Views of which picture", show_label=False, elem_id="side",
            )  # fmt: skip
            grid = ViewsGrid(None, aria="The views of the picture", elem_id="views")
            sheet = gr.HTML(elem_classes="sheet")
        with gr.Column(scale=1, min_width=320):
            entropies = PlotlyView(
                aria="Entropy of every view", height=240, narrow_height=240,
                empty="How sure every view is.", elem_id="entropies",
            )  # fmt: skip
            detail = gr.HTML(elem_id="view-detail")
    board.add(side, _side, "side")
    board.add(grid, _grid, "view", "side", "step")
    board.add(sheet, lambda s: sheet_value(s.crops_of(s.selection.side), "views"), "side", "step")
    board.add(entropies, _entropies, "view", "side", "step")
    board.add(detail, touched.view_detail, "view", "side", "step", soon=True)
    return {"side": side, "grid": grid, "entropies": entropies}


def _side(session: Session) -> Any:
    story = session.story
    return gr.update(
        value=session.selection.side, visible=story is not None and story.attack is not None
    )


def _grid(session: Session) -> Any:
    at = session.selection
    now = session.now
    if now is None or session.crops_of(at.side) is None:
        return None
    return grid_value(now, at.side, selected=at.view)


def _entropies(session: Session) -> Any:
    at = session.selection
    now = session.now
    return None if now is None else plots.view_entropies(now, at.side, selected=at.view)


def draw_transport(board: Board) -> dict[str, Any]:
    """4. What every class costs, and the plan of one class."""
    heading = gr.HTML(elem_id="heading-costs")
    said = verdicts.headline(4, words.heading_costs, "What every class costs.")
    board.add(heading, said, "step")
    gr.HTML(
        f"<p class='lead'>The {words.term('transport cost')} of a class is the mean cosine distance of the "
        f"cheapest {words.term('transport plan')} from the crops to its sentences; the "
        f"{words.term('memory (cache)')} adds a second cost. The lowest total wins. Choose a class to "
        "see its plan, then a cell of the plan.</p>"
    )
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            costs = PlotlyView(
                aria="Cost of every class, clean and attacked", height=400, narrow_height=640,
                empty="The classes' costs.", elem_id="costs",
            )  # fmt: skip
        with gr.Column(scale=1, min_width=320):
            looked_at = gr.Dropdown(
                [], label="Class looked at", allow_custom_value=True, elem_id="class",
            )  # fmt: skip
            plan = PlotlyView(
                aria="Transport plan of the chosen class", height=360, narrow_height=420,
                empty="The plan of the chosen class.", elem_id="plan",
            )  # fmt: skip
            cell = gr.HTML(elem_id="cell-detail")
    board.add(costs, _costs, "class", "step", "film")
    board.add(looked_at, _looked_at, "class")
    board.add(plan, _plan, "class", "side", "view", "step")
    board.add(cell, touched.cell_detail, "class", "side", "view", "step", soon=True)
    return {"costs": costs, "looked_at": looked_at, "plan": plan}


def _costs(session: Session) -> Any:
    now, k = session.now, session.selection.k
    return None if now is None else plots.class_costs(now, k, along=session.along)


def _looked_at(session: Session) -> Any:
    story, k = session.story, session.selection.k
    if story is None:
        return gr.update()
    return gr.update(
        choices=list(story.bank.names), value=None if k is None else story.bank.names[k]
    )


def _plan(session: Session) -> Any:
    story, at = session.now, session.selection
    if story is None or at.k is None:
        return None
    cell = None if at.view is None or at.atom is None else (at.view, at.atom)
    return plots.plan_heatmap(story, at.side, at.k, selected=cell)


def draw_luck(board: Board) -> dict[str, Any]:
    """Whether one draw of views misled."""
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            gr.HTML(
                "<h3>Was it luck?</h3><p class='lead'>The crops are random, and one draw can mislead. "
                "This decides the same picture again with ten other draws.</p>"
            )
            again = gr.Button("Right in how many of 10 view draws?", elem_id="again")
        with gr.Column(scale=1, min_width=320):
            draws = PlotlyView(
                aria="Every method's answer in ten draws of views", height=200, narrow_height=220,
                empty="Not drawn again yet.", elem_id="draws",
            )  # fmt: skip
    board.add(draws, _draws, "draws")
    return {"again": again}


def draw_rest(board: Board) -> dict[str, Any]:
    """5. The memory; 6. the stronger attacker."""
    memory, holds = gr.HTML(elem_id="heading-memory"), gr.HTML(elem_id="memory-holds")
    board.add(memory, verdicts.headline(5, words.heading_memory, "What is reliable is remembered."))
    board.add(holds, verdicts.memory, "memory")
    stronger = gr.HTML(elem_id="heading-stronger")
    board.add(
        stronger, verdicts.headline(6, words.heading_stronger, "And an attacker who knows more?")
    )
    with gr.Row(elem_id="push"):
        push = gr.Button("Attack twice as hard", elem_id="stronger")
        gr.HTML("<p class='lead'>Doubles the strength, up to 16/255, and runs again.</p>")
    draw_strength_curve()
    draw_evidence()
    return {"stronger": push}


def _draws(session: Session) -> Any:
    if session.story is None or not session.draws:
        return None
    return plots.draws(session.story, list(session.draws))
