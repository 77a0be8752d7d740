"""The sections of *Inside*: every figure is one row here, and one function in :mod:`rita_demo.plots.decision`."""

from collections.abc import Callable
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from rita_demo import plots
from rita_demo.analysis import entropies
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.plots.decision import cost_and_plan_matrix as matrices
from rita_demo.plots.decision import sinkhorn_and_tuning as algorithms
from rita_demo.plots.decision.all_classes import all_prompts, all_views
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import sides_of
from rita_demo.records import Run, Transport
from rita_demo.settings import Settings
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue
from rita_demo.ui.inside import cache_used
from rita_demo.ui.inside.layout import FigureRow, Parts, Section
from rita_demo.ui.inside.what_if import build_setting
from rita_demo.ui.panels import selection_details
from rita_demo.ui.panels.selection_details import class_choices
from rita_demo.ui.session.session import SIDES, Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_menu
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.html_buttons import MarkButtons
from rita_demo.ui.widgets.views_grid import ViewsGrid, grid_value, magnified_perturbation, sprite_value


def _text(name: str, draw: Callable[[Session], str], *topics: str, first: bool = False) -> Any:
    """Builds a text below or above the figures."""

    def build(panels: PanelRegistry) -> Parts:
        panels.add(gr.HTML(elem_id=name), draw, *topics, first=first)
        return {}

    return build


# --- the views
def _build_grids(panels: PanelRegistry) -> Parts:
    parts = {}
    for side, column in zip(SIDES[::-1], build_columns(1, 1, min_width=300)):
        with column:
            gr.HTML(f"<h3 class='{side}'>{side} picture</h3>")
            parts[f"grid_{side}"] = _build_grid(panels, side, f"in-views-{side}")
    return parts


def _build_grid(panels: PanelRegistry, side: str, name: str) -> ViewsGrid:
    def buttons(session: Session) -> str | None:
        run, out = session.displayed_run, session.inside.what_if.exclusions
        if run is None or session.crops_of(side) is None:
            return None
        return grid_value(run, side, selected=session.selection.view, excluded=out.views)

    grid = ViewsGrid(None, aria=f"Views of the {side} picture", elem_id=name)
    panels.add(gr.HTML(elem_classes="sheet"), lambda session: sprite_value(session.crops_of(side), name), "crops")
    return panels.add(grid, buttons, "view", "inside")


def added_html(session: Session) -> str:
    """HTML: what the defences that change pixels added to each picture; "" where none of them was asked."""
    run, parts = session.displayed_run, ""
    for side in sides_of(run) if run else ():
        for name, verdict in getattr(run, side).verdicts.items():
            if verdict.added is not None:
                levels, title = 255 * np.moveaxis(verdict.added, 0, 2), DEFENCES[name].title
                pixels = magnified_perturbation(np.zeros_like(levels), levels)
                parts += (
                    f"<figure><img src='{jpeg_uri(pixels)}' alt='What {title} added to the {side} picture'>"
                    f"<figcaption>{title}, {side}: at most {abs(levels).max():.1f}/255</figcaption></figure>"
                )
    heading = "<h3>What the defence added, 20 times magnified; grey means unchanged</h3>"
    return f"{heading}<div class='cells'>{parts}</div>" if parts else ""


def _build_below_grids(panels: PanelRegistry) -> Parts:
    panels.add(gr.HTML(elem_id="in-view"), selection_details.view_answers, "view", "inside", first=True)
    panels.add(gr.HTML(elem_id="in-added"), added_html, "inside")
    return {}


# --- the costs
def _class_costs(run: Run, session: Session, k: int | None = None) -> Figure:
    along = () if session.inside.what_if.run else session.attacked_by_step
    return plots.class_costs(run, k, along=along)


def _empty_classes(session: Session) -> str:
    run = session.displayed_run
    return "" if run is None else wording.empty_classes_html(run, run.attacked.trace)


def _build_below_costs(panels: PanelRegistry) -> Parts:
    panels.add(gr.HTML(elem_id="in-empty"), _empty_classes, "inside")
    menu: dict[str, Any] = {"allow_custom_value": True, "min_width": 200}
    with gr.Row(elem_classes="whatif-row"):
        class_menu = build_menu([], label="Selected class", elem_id="in-class", **menu)
        prompt_menu = build_menu([], label="Selected prompt", elem_id="in-prompt", **menu)
    panels.add(class_menu, class_choices, "class", "inside")
    panels.add(prompt_menu, prompt_choices, "class", "view", "inside")
    return {"class_menu": class_menu, "prompt_menu": prompt_menu}


def prompt_choices(session: Session) -> PanelValue:
    """The menu of prompts; numbered, because two of them may read the same."""
    run, at = session.run, session.selection
    if run is None or at.k is None:
        return gr.update()
    sentences = enumerate(run.class_prompts.prompts[at.k])
    choices = [("none chosen", -1), *((f"{m + 1}: {sentence}", m) for m, sentence in sentences)]
    return gr.update(choices=choices, value=-1 if at.atom is None else at.atom)


def cell_text(session: Session) -> str:
    """HTML: the selected cell of the plan on both pictures: crop, sentence, cost, and how much mass moves."""
    run, at = session.displayed_run, session.selection
    if run is None or at.k is None or at.view is None or at.atom is None:
        return "<p class='empty'>No cell is chosen.</p>"
    if at.view >= len(run.attacked.encoded_views.features) or at.atom >= len(run.class_prompts.prompts[at.k]):
        return ""
    cell, parts = (at.k, at.view, at.atom), ""
    for side in sides_of(run):
        crops, image = session.crops_of(side), ""
        if crops is not None and at.view < len(crops):
            uri = jpeg_uri(crops[at.view], quality=92)
            image = f"<img src='{uri}' alt='View {at.view} of the {side} picture' width='96' height='96'>"
        said = _cell_sentence(getattr(run, side).trace.prompt_transport, cell, run.settings)
        parts += f"<div class='touched'>{image}<p><b class='{side}'>{side}</b>: {said}</p></div>"
    sentence = escape(run.class_prompts.prompts[at.k][at.atom])
    return f"<h3>View {at.view} → “{sentence}”</h3><div class='cells'>{parts}</div>"


def _cell_sentence(transport: Transport, cell: tuple[int, int, int], settings: Settings) -> str:
    k, view, atom = cell
    cost, share = float(transport.cost[cell]), float(transport.plan[cell] / transport.mass)
    even = float(transport.row_weight[k, view] * transport.column_weight[k, atom] / transport.mass)
    carried = "It is left out and carries nothing."
    if even > 0:
        carried = (
            f"It carries {wording.percent(share, 2)} of the mass, {share / even:.2f} times an even share, and "
            f"adds {share * cost:.4f} to the cost of {float(transport.distance[k]):.4f}."
        )
    if settings.cost == "loglik":
        return (
            f"The cost is {cost:.4f}: −τ log p of the class on this view, the same for each of its sentences. {carried}"
        )
    return f"{cost:.4f} apart (cosine distance, 0 to 2). {carried}"


# --- Sinkhorn
def _transports(run: Run) -> dict[str, Transport]:
    """Every transport problem of a run by its name, such as "clean prompts"."""
    found: dict[str, Transport | None] = {}
    for side in sides_of(run):
        trace = getattr(run, side).trace
        found |= {f"{side} prompts": trace.prompt_transport, f"{side} memory": trace.cache_transport}
    return {name: transport for name, transport in found.items() if transport is not None}


def _sinkhorn_costs(run: Run, k: int, engine: Engine) -> Figure:
    histories = {name: engine.sinkhorn_history(one, k, run.settings) for name, one in _transports(run).items()}
    return algorithms.sinkhorn_costs(run, k, histories)


def _solver_outcomes(session: Session) -> str:
    run = session.displayed_run
    lines = [f"{name}: {escape(one.outcome)}" for name, one in _transports(run).items()] if run else []
    return f"<p class='quiet small'>{'<br>'.join(lines)}</p>{_empty_classes(session)}"


# --- the prompt update
def _build_steps(panels: PanelRegistry) -> Parts:
    return {"steps": build_setting(panels, "tuning_steps")}


def _entropy_change(run: Run, view: int | None = None) -> Figure:
    tau = run.class_prompts.temperature
    changes = {side: entropies(getattr(run, side), tau) for side in sides_of(run)}
    return algorithms.entropy_change(run, changes, view=view)


SECTIONS = (
    Section(
        "What does each crop say?",
        "Bar below a crop: its answer; a line is the true class, dashes the wrong answer, dots another. Grey: not "
        f"{wording.term_html('confident view', 'confident')}. Striped: left out. Choose one to read what it says.",
        above=_build_grids,
        below=_build_below_grids,
    ),
    Section(
        "How sure is each crop?",
        figures=(FigureRow("entropies", "Entropy of every view", 210, plots.view_entropies),),
        fold="entropy-fold",
    ),
    Section(
        "What does each class cost?",
        "The lowest total wins; the true class is outlined. Choose a class to see its "
        f"{wording.term_html('transport plan')} below.",
        (
            FigureRow(
                "costs", "Cost of every class, clean and attacked", 380, _class_costs, narrow_height=640, first=True
            ),
        ),
        below=_build_below_costs,
    ),
    Section(
        "Which crop moves onto which sentence?",
        "Crops across, surest on the attacked picture first; sentences down. Choose a cell to see what moving one onto the "
        "other costs.",
        (FigureRow("plan", "Plan of the chosen class", 230, matrices.plan_matrix, first=True),),
        below=_text("in-cell", cell_text, "class", "view", "inside", first=True),
    ),
    Section(
        "What does each crop cost with each sentence?",
        figures=(FigureRow("cost", "Cost of the chosen class", 230, matrices.cost_matrix),),
        fold="cost-fold",
    ),
    Section(
        "Who carries the mass?",
        "A class may leave out the views that fit it worst (when ρ is below 1). Every prompt receives its full share, so "
        "prompts differ in what they cost.",
        (
            FigureRow("mass", "Share of each view that moves to each class", 290, matrices.view_mass),
            FigureRow("prompts", "What each prompt adds to the cost", 230, matrices.prompt_shares),
        ),
        fold="mass-fold",
    ),
    Section(
        "How do all classes look at once?",
        figures=(
            FigureRow("all-views", "Share of each view that moves, all classes", 420, all_views),
            FigureRow("all-prompts", "What each prompt pays, all classes", 420, all_prompts),
        ),
        fold="all-fold",
    ),
    Section(
        "What did the memory hold of this class?",
        "As it was before this picture. Choose a stored view to see it in Memory, or to leave it out above.",
        below=lambda panels: {
            "items": panels.add(MarkButtons(elem_id="in-items"), cache_used.class_cards, "class", "memory", "inside")
        },
        fold="memory-fold",
    ),
    Section(
        "How was the plan found?",
        "Sinkhorn’s algorithm starts with a larger λ, where the plan is flat, and lowers it. The error is how far the "
        "sums of the plan’s columns are from what they should be.",
        (
            FigureRow("residuals", "Sinkhorn’s largest error by iteration", 260, algorithms.sinkhorn_residuals),
            FigureRow("way", "Cost of the chosen class by Sinkhorn’s iteration", 260, _sinkhorn_costs),
        ),
        below=_text("in-outcome", _solver_outcomes, "inside"),
        fold="solver-fold",
    ),
    Section(
        "What did the prompt update change?",
        "RITA adjusts its sentences to each picture for a few steps, clean and attacked apart. Every what-if keeps the "
        "update; only this slider makes it again, which takes a second or more.",
        (
            FigureRow("entropy-change", "Entropy before and after the prompt update", 260, _entropy_change),
            FigureRow("loss", "Loss of the prompt update per step", 190, algorithms.tuning_loss),
            FigureRow("movement", "Movement of each prompt’s context", 190, algorithms.context_movement),
            FigureRow("before-after", "Costs before and after the prompt update", 400, algorithms.cost_change),
        ),
        above=_build_steps,
        fold="tuning-fold",
    ),
)
