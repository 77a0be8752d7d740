"""The upper half of *Inside RITA*: views, costs, plan; each panel is drawn from the session while in sight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo import plots
from rita_demo.plots import inside as figures
from rita_demo.records import Story
from rita_demo.ui import compare, inside_words, words
from rita_demo.ui.board import Board
from rita_demo.ui.plotly_view import PlotlyView
from rita_demo.ui.sessions import SIDES, Selection, Session
from rita_demo.ui.sprite import ViewsGrid, grid_value, sheet_value
from rita_demo.ui.what_if import seen

ANY = "none chosen"
WAITING = "Drawn once a picture has been defended."
Draw = Callable[[Story, Selection], Any]


def when_open(draw: Callable[[Session], Any]) -> Callable[[Session], Any]:
    """Draw only while the tab is in sight; otherwise the panel keeps what it shows."""
    return lambda session: draw(session) if session.inside else gr.update()


def figure_of(draw: Draw) -> Callable[[Session], Any]:
    """A figure of what is seen (the run or the what-if) and what is chosen."""

    def from_session(session: Session) -> Any:
        story = seen(session)
        return None if story is None else draw(story, session.selection)

    return when_open(from_session)


def plot(aria: str, name: str, height: int, narrow: int | None = None) -> PlotlyView:
    """A place for a figure of this tab."""
    return PlotlyView(
        aria=aria, height=height, narrow_height=narrow, empty=WAITING, elem_id=f"in-{name}"
    )


def draw_panels(board: Board) -> dict[str, Any]:
    """Views, costs, cost matrix and plan; returns the components by name."""
    return {**_views(board), **_costs(board), **_plans(board)}


def pair(draw: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """The same for clean (left) and attacked (right)."""
    parts: dict[str, Any] = {}
    with gr.Row(elem_classes="pair"):
        for side in reversed(SIDES):
            with gr.Column(scale=1, min_width=300):
                parts |= draw(side)
    return parts


def lead(heading: str, text: str) -> None:
    """A heading and what to look at."""
    gr.HTML(f"<h2 class='story'>{heading}</h2><p class='lead'>{text}</p>")


def _views(board: Board) -> dict[str, Any]:
    lead(
        "The views",
        f"The same crops of both pictures. Grey ones are not {words.term('confident view', 'confident')}, "
        "striped ones are left out; choose one (arrows walk, Enter chooses), and every figure in every "
        "tab shows it.",
    )

    def one(side: str) -> dict[str, Any]:
        gr.HTML(f"<h3 class='{side}'>{side} picture</h3>")
        grid = ViewsGrid(None, aria=f"Views of the {side} picture", elem_id=f"in-views-{side}")
        entropies = plot(f"Entropy of every view, {side}", f"entropies-{side}", 210)
        board.add(grid, when_open(lambda s: _grid(s, side)), "view", "inside")
        sheet = gr.HTML(elem_classes="sheet")
        board.add(
            sheet, when_open(lambda s: sheet_value(s.crops_of(side), f"in-views-{side}")), "crops"
        )
        draw = figure_of(lambda story, at: plots.view_entropies(story, side, selected=at.view))
        board.add(entropies, draw, "view", "inside")
        return {f"grid_{side}": grid, f"entropies_{side}": entropies}

    return pair(one)


def _grid(session: Session, side: str) -> str | None:
    story = seen(session)
    if story is None or session.crops_of(side) is None:
        return None
    out = session.what_if.left_out.views
    return grid_value(story, side, selected=session.selection.view, left_out=out)


def _costs(board: Board) -> dict[str, Any]:
    lead(
        "What every class costs",
        f"The lowest total wins. Choose a class to see its {words.term('transport plan')} below; the "
        "right class is outlined, RITA’s and CLIP’s answers carry words.",
    )
    pinned = gr.HTML(elem_id="in-pinned")
    costs = plot("Cost of every class, clean and attacked", "costs", 380, 640)
    with gr.Row(elem_classes="whatif-row"):
        menu: dict[str, Any] = {"allow_custom_value": True, "min_width": 200}
        looked_at = gr.Dropdown([], label="Class looked at", elem_id="in-class", **menu)
        sentence = gr.Dropdown([], label="Prompt looked at", elem_id="in-prompt", **menu)
    board.add(pinned, when_open(compare.pinned_sentence), "inside")
    board.add(costs, when_open(_costs_figure), "class", "inside", soon=True)
    board.add(looked_at, when_open(_looked_at), "class", "inside")
    board.add(sentence, when_open(_prompt), "class", "view", "inside")
    return {"costs": costs, "looked_at": looked_at, "sentence": sentence}


def _costs_figure(session: Session) -> Any:
    story, kept = seen(session), session.pinned
    if story is None:
        return None
    along = () if session.what_if.story else session.along
    pinned = None if kept is None else kept.story
    return plots.class_costs(story, session.selection.k, along=along, pinned=pinned)


def _prompt(session: Session) -> Any:
    story, at = session.story, session.selection
    if story is None or at.k is None:
        return gr.update()
    value = ANY if at.atom is None else prompt_names(story, at.k)[at.atom]
    return gr.update(choices=[ANY, *prompt_names(story, at.k)], value=value)


def prompt_names(story: Story, k: int) -> list[str]:
    """The prompts of a class for the menu, numbered: two of them may read the same."""
    return [f"{m + 1}: {sentence}" for m, sentence in enumerate(story.bank.prompts[k])]


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
    lead(
        "Cost matrix and plan of the chosen class",
        "Crops across, sentences down; a column is the same crop everywhere. Choose a cell to see the "
        "crop and the sentence it joins, and what moving one onto the other costs.",
    )
    kinds = {"cost": figures.cost_matrix, "plan": figures.plan_matrix}
    parts: dict[str, Any] = {}
    for kind, draw in kinds.items():

        def one(side: str, kind: str = kind, draw: Any = draw) -> dict[str, Any]:
            view = plot(f"{kind.title()} of the chosen class, {side}", f"{kind}-{side}", 200, 230)

            def figure(story: Story, at: Selection) -> Any:
                return None if at.k is None else draw(story, side, at.k, selected=_cell(at))

            first = (kind, side) == ("plan", "attacked")
            board.add(view, figure_of(figure), "class", "view", "inside", soon=first)
            return {f"{kind}_{side}": view}

        parts |= pair(one)
    cell = gr.HTML(elem_id="in-cell")
    board.add(cell, when_open(inside_words.cell), "class", "view", "inside", soon=True)
    return parts
