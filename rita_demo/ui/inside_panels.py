"""The figures of *Inside RITA*: every panel of the tab, each drawn from the session while it is in sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo import plots
from rita_demo.plots import inner
from rita_demo.plots import inside as figures
from rita_demo.records import Story
from rita_demo.ui import inside_words, words
from rita_demo.ui.board import Board
from rita_demo.ui.plotly_view import PlotlyView
from rita_demo.ui.sessions import SIDES, Selection, Session
from rita_demo.ui.sprite import ViewsGrid, grid_value
from rita_demo.ui.what_if import seen

WAITING = "Drawn once a picture has been defended."
Draw = Callable[[Story, Selection], Any]


def when_open(draw: Callable[[Session], Any]) -> Callable[[Session], Any]:
    """Draw only while the tab is in sight; otherwise the panel keeps what it shows."""
    return lambda session: draw(session) if session.inside else gr.update()


def _figure(draw: Draw) -> Callable[[Session], Any]:
    def from_session(session: Session) -> Any:
        story = seen(session)
        return None if story is None else draw(story, session.selection)

    return when_open(from_session)


def _view(aria: str, name: str, height: int, narrow: int | None = None) -> PlotlyView:
    return PlotlyView(
        aria=aria, height=height, narrow_height=narrow, empty=WAITING, elem_id=f"in-{name}"
    )


def draw_panels(board: Board) -> dict[str, Any]:
    """All of them, in the order of Algorithm 1; returns the components by name."""
    return {
        **_views(board),
        **_costs(board),
        **_plans(board),
        **_masses(board),
        **_update(board),
    }


def _pair(draw: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The same for clean (left) and attacked (right)."""
    parts: dict[str, Any] = {}
    with gr.Row(elem_classes="pair"):
        for side in reversed(SIDES):
            with gr.Column(scale=1, min_width=300):
                parts |= draw(side)
    return parts


def _lead(heading: str, text: str) -> None:
    gr.HTML(f"<h2 class='story'>{heading}</h2><p class='lead'>{text}</p>")


def _views(board: Board) -> dict[str, Any]:
    _lead(
        "The views",
        f"The same crops of both pictures. Grey ones are not {words.term('confident view', 'confident')}; "
        "choose one, and every figure in every tab shows it.",
    )

    def one(side: str) -> dict[str, Any]:
        gr.HTML(f"<h3 class='{side}'>{side} picture</h3>")
        grid = ViewsGrid(None, aria=f"Views of the {side} picture", elem_id=f"in-views-{side}")
        entropies = _view(f"Entropy of every view, {side}", f"entropies-{side}", 210)
        board.add(grid, when_open(lambda s: _grid(s, side)), "view", "inside")
        draw = _figure(lambda story, at: plots.view_entropies(story, side, selected=at.view))
        board.add(entropies, draw, "view", "inside")
        return {f"grid_{side}": grid, f"entropies_{side}": entropies}

    return _pair(one)


def _grid(session: Session, side: str) -> str | None:
    story, crops = seen(session), session.crops_of(side)
    if story is None or crops is None:
        return None
    return grid_value(story, side, crops, selected=session.selection.view)


def _costs(board: Board) -> dict[str, Any]:
    _lead(
        "What every class costs",
        f"The lowest total wins. Choose a class to see its {words.term('transport plan')} below; the "
        "true class is outlined, RITA’s and CLIP’s answers carry words.",
    )
    costs = _view("Cost of every class, clean and attacked", "costs", 380, 640)
    looked_at = gr.Dropdown(
        [], label="Class looked at", allow_custom_value=True, elem_id="in-class"
    )
    board.add(costs, when_open(_class_costs), "class", "inside")
    board.add(looked_at, when_open(_looked_at), "class", "inside")
    return {"costs": costs, "looked_at": looked_at}


def _class_costs(session: Session) -> Any:
    story, k = seen(session), session.selection.k
    along = () if session.what_if.story else session.along
    return None if story is None else plots.class_costs(story, k, along=along)


def _looked_at(session: Session) -> Any:
    story, k = session.story, session.selection.k
    if story is None:
        return gr.update()
    return gr.update(
        choices=list(story.bank.names), value=None if k is None else story.bank.names[k]
    )


def _cell(at: Selection) -> tuple[int, int | None] | None:
    return None if at.view is None else (at.view, at.atom)


def _plans(board: Board) -> dict[str, Any]:
    _lead(
        "Cost matrix and plan of the chosen class",
        "Crops across, sentences down; a column is the same crop everywhere. Choose a cell to see the "
        "crop and the sentence it joins, and what moving one onto the other costs.",
    )
    kinds = {"cost": figures.cost_matrix, "plan": figures.plan_matrix}
    parts: dict[str, Any] = {}
    for kind, draw in kinds.items():

        def one(side: str, kind: str = kind, draw: Any = draw) -> dict[str, Any]:
            view = _view(f"{kind.title()} of the chosen class, {side}", f"{kind}-{side}", 200, 230)

            def figure(story: Story, at: Selection) -> Any:
                return None if at.k is None else draw(story, side, at.k, selected=_cell(at))

            board.add(view, _figure(figure), "class", "view", "inside")
            return {f"{kind}_{side}": view}

        parts |= _pair(one)
    cell = gr.HTML(elem_id="in-cell")
    board.add(cell, when_open(inside_words.cell), "class", "view", "inside")
    return parts


def _masses(board: Board) -> dict[str, Any]:
    _lead(
        "Who carries the mass",
        "Views may be left out by a class they fit badly (when ρ is below 1); every prompt always "
        "receives its full share, so prompts differ in what they cost.",
    )

    def one(side: str) -> dict[str, Any]:
        view = _view(f"Share of each view that moves to each class, {side}", f"mass-{side}", 290)
        draw = _figure(lambda story, at: figures.view_mass(story, side, k=at.k, view=at.view))
        board.add(view, draw, "class", "view", "inside")
        return {f"mass_{side}": view}

    parts = _pair(one)
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>What each prompt of the chosen class adds</h3>")
            prompts = _view("What each prompt adds to the cost", "prompts", 260)
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Sinkhorn: error at every check</h3>")
            residuals = _view("Sinkhorn's marginal error by iteration", "residuals", 260)
            said = gr.HTML(elem_id="in-outcome")

    def shares(story: Story, at: Selection) -> Any:
        return None if at.k is None else figures.prompt_shares(story, at.k, atom=at.atom)

    board.add(prompts, _figure(shares), "class", "view", "inside")
    board.add(residuals, _figure(lambda story, _: inner.sinkhorn_residuals(story)), "inside")
    board.add(said, when_open(inside_words.outcomes), "inside")
    return parts | {"prompts": prompts}


def _update(board: Board) -> dict[str, Any]:
    _lead(
        "Before and after the prompt update",
        "RITA adjusts its sentences to each picture for a few steps, separately for the clean and "
        "the attacked one. The update stays the run’s own in every what-if.",
    )
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Loss per step</h3>")
            loss = _view("Loss of the prompt update per step", "loss", 190)
            gr.HTML("<h3>How far each prompt’s context moved</h3>")
            movement = _view("Movement of each prompt's context", "movement", 190)
        with gr.Column(scale=1, min_width=300):
            gr.HTML("<h3>Costs before and after</h3>")
            before_after = _view("Costs before and after the prompt update", "before-after", 400)
    board.add(loss, _figure(lambda story, _: inner.tuning_loss(story)), "inside")
    board.add(movement, _figure(lambda story, _: inner.context_movement(story)), "inside")
    draw = _figure(lambda story, at: inner.before_after(story, k=at.k))
    board.add(before_after, draw, "class", "inside")
    return {"before_after": before_after}
