"""The lower half of *Inside RITA*: masses, memory, Sinkhorn's way, the prompt update."""

from __future__ import annotations

from typing import Any

import gradio as gr

from rita_demo.analysis import entropies
from rita_demo.plots import inner, overview
from rita_demo.plots import inside as figures
from rita_demo.plots.names import sides_of
from rita_demo.records import Story
from rita_demo.settings import KNOBS
from rita_demo.ui import inside_words, remembered
from rita_demo.ui.board import Board
from rita_demo.ui.controls import draw_knob
from rita_demo.ui.desk import Desk
from rita_demo.ui.inside_panels import figure_of, lead, pair, plot, when_open
from rita_demo.ui.sessions import Selection, Session
from rita_demo.ui.shelf import Contents
from rita_demo.ui.what_if import seen, settings_of


def draw_deeper(desk: Desk) -> dict[str, Any]:
    """All of them; returns the components by name."""
    board = desk.board
    return {
        **_masses(board),
        **_overview(board),
        **_memory(board),
        **_sinkhorn(desk),
        **_update(board),
    }


def _masses(board: Board) -> dict[str, Any]:
    lead(
        "Who carries the mass",
        "Views may be left out by a class they fit badly (when ρ is below 1); every prompt always "
        "receives its full share, so prompts differ in what they cost.",
    )

    def one(side: str) -> dict[str, Any]:
        view = plot(f"Share of each view that moves to each class, {side}", f"mass-{side}", 290)
        draw = figure_of(lambda story, at: figures.view_mass(story, side, k=at.k, view=at.view))
        board.add(view, draw, "class", "view", "inside")
        return {f"mass_{side}": view}

    parts = pair(one)
    gr.HTML("<h3>What each prompt of the chosen class adds</h3>")
    prompts = plot("What each prompt adds to the cost", "prompts", 230)

    def shares(story: Story, at: Selection) -> Any:
        return None if at.k is None else figures.prompt_shares(story, at.k, atom=at.atom)

    board.add(prompts, figure_of(shares), "class", "view", "inside")
    return parts | {"prompts": prompts}


def _overview(board: Board) -> dict[str, Any]:
    """Every class at once; drawn only while the fold is open."""
    parts: dict[str, Any] = {}
    fold = gr.Accordion(
        "All classes at once", open=False, elem_classes="fold", elem_id="in-overview"
    )

    def when_unfolded(draw: Any) -> Any:
        drawn = figure_of(draw)
        return lambda session: drawn(session) if session.overview else gr.update()

    with fold:

        def one(side: str) -> dict[str, Any]:
            views = plot(
                f"Share of each view that moves, all classes, {side}", f"all-views-{side}", 420
            )
            prompts = plot(
                f"What each prompt pays, all classes, {side}", f"all-prompts-{side}", 420
            )
            board.add(
                views, when_unfolded(lambda s, at: overview.all_views(s, side, k=at.k, view=at.view)),
                "class", "view", "inside",
            )  # fmt: skip
            board.add(
                prompts, when_unfolded(lambda s, at: overview.all_prompts(s, side, k=at.k)),
                "class", "inside",
            )  # fmt: skip
            return {f"all_views_{side}": views, f"all_prompts_{side}": prompts}

        parts |= pair(one)
    return parts | {"overview": fold}


def _memory(board: Board) -> dict[str, Any]:
    lead(
        "What was remembered of the chosen class",
        "The memory as it was before this picture. Choose a remembered view to see it in the memory’s "
        "tab too, or to leave it out above.",
    )
    items = Contents(elem_id="in-items")
    board.add(items, when_open(remembered.shelf), "class", "memory", "inside")
    return {"items": items}


def _sinkhorn(desk: Desk) -> dict[str, Any]:
    lead(
        "How Sinkhorn found the plan",
        "It starts with a larger λ, where the plan is flat, and lowers it; the error says how far the "
        "plan’s columns are from what they should hold.",
    )
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Largest error of all classes</h3>")
            residuals = plot("Sinkhorn's marginal error by iteration", "residuals", 260)
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Cost of the chosen class</h3>")
            way = plot("Cost of the chosen class by Sinkhorn's iteration", "way", 260)
    said = gr.HTML(elem_id="in-outcome")

    def costs(session: Session) -> Any:
        story, k = seen(session), session.selection.k
        if story is None or k is None:
            return None
        engine = desk.engine_of(session)
        ways = {}
        for side in sides_of(story):
            trace = getattr(story, side).trace
            for what, moved in (("prompts", trace.prompt), ("memory", trace.cache_transport)):
                if moved is not None:
                    ways[f"{side} {what}"] = engine.descent(moved, k, story.settings)
        return inner.sinkhorn_costs(story, k, ways)

    board = desk.board
    board.add(residuals, figure_of(lambda story, _: inner.sinkhorn_residuals(story)), "inside")
    board.add(way, when_open(costs), "class", "inside")
    board.add(said, when_open(inside_words.outcomes), "inside")
    return {}


def _update(board: Board) -> dict[str, Any]:
    lead(
        "Before and after the prompt update",
        "RITA adjusts its sentences to each picture for a few steps, separately for the clean and "
        "the attacked one. Every what-if keeps the update; only this slider makes it again, which "
        "encodes the sentences and takes a second or more.",
    )
    steps = draw_knob(KNOBS["tuning_steps"], elem_id="whatif-tuning_steps")
    board.add(steps, when_open(_steps), "inside")
    change = plot("Entropy of every view before and after the prompt update", "entropy-change", 260)
    board.add(change, figure_of(_entropy_change), "view", "inside")
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Loss per step</h3>")
            loss = plot("Loss of the prompt update per step", "loss", 190)
            gr.HTML("<h3>How far each prompt’s context moved</h3>")
            movement = plot("Movement of each prompt's context", "movement", 190)
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Costs before and after</h3>")
            before_after = plot("Costs before and after the prompt update", "before-after", 400)
    board.add(loss, figure_of(lambda story, _: inner.tuning_loss(story)), "inside")
    board.add(movement, figure_of(lambda story, _: inner.context_movement(story)), "inside")
    draw = figure_of(lambda story, at: inner.before_after(story, k=at.k))
    board.add(before_after, draw, "class", "inside")
    return {"before_after": before_after, "entropy_change": change, "steps": steps}


def _steps(session: Session) -> Any:
    return gr.update() if session.story is None else settings_of(session).tuning_steps


def _entropy_change(story: Story, at: Selection) -> Any:
    tau = story.bank.temperature
    changes = {side: entropies(getattr(story, side), tau) for side in sides_of(story)}
    return inner.entropy_change(story, changes, view=at.view)
