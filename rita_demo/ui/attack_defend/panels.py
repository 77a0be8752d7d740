"""The panels of the tab: the first screen on the right, and the numbered sections below."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo import plots
from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.figure import Figure
from rita_demo.records import Run
from rita_demo.ui.background.attack_steps import (
    AUTO_BUDGETS_SECONDS,
    AUTO_STEPS_SECONDS,
    attack_steps_seconds,
    budgets_seconds,
)
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.panels import selection_details, verdict_table
from rita_demo.ui.panels.attack_sliders import build_budget_choice, stored_steps_note
from rita_demo.ui.panels.crop_field import CropField, crop_field_value, shown_step
from rita_demo.ui.panels.picture_triptych import PictureTriptych, pictures_value, selected_box
from rita_demo.ui.panels.transport_toy import TransportToy, toy_value
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_fold, build_narrow_fold
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.ui.widgets.views_grid import ViewsGrid, grid_value, sprite_value


def _figure(
    panels: PanelRegistry,
    name: str,
    aria: str,
    heights: tuple[int, int],
    empty: str,
    draw: Callable[[Session, Run], Figure | None],
    *topics: str,
) -> PlotlyView:
    """A figure with the element id ``name``, drawn by ``draw(session, run)``; ``heights`` in pixels, on a wide and on a
    narrow screen."""
    view = PlotlyView(aria=aria, height=heights[0], narrow_height=heights[1], empty=empty, elem_id=name)

    def value(session: Session) -> Figure | None:
        run = session.run_at_step
        return None if run is None else draw(session, run)

    panels.add(view, value, *topics)
    return view


def _heading(
    panels: PanelRegistry, name: str, number: int, text: Callable[[Run], str], empty: str, *topics: str
) -> None:
    """A numbered heading: ``text`` of the run, or ``empty`` before there is one."""

    def draw(session: Session) -> str:
        run = session.run_at_step
        return verdict_table.heading_html(empty if run is None else text(run), number)

    panels.add(gr.HTML(elem_id=f"heading-{name}"), draw, *topics)


def build_first_screen(panels: PanelRegistry) -> dict[str, Any]:
    """What happened in one sentence, the three pictures, the crop field; the verdicts and attack steps below."""
    banner = gr.HTML(elem_id="banner")
    panels.add(banner, verdict_table.banner, "step", immediate=True)
    pictures = PictureTriptych(elem_id="pictures")
    panels.add(pictures, lambda session: gr.update(value=pictures_value(session)), "step", immediate=True)
    panels.add(pictures, lambda session: gr.update(box=selected_box(session)), "view", "side", immediate=True)
    field = CropField(elem_id="field")
    panels.add(field, lambda session: gr.update(value=crop_field_value(session)), "attack_steps", immediate=True)
    panels.add(field, lambda session: gr.update(step=shown_step(session.run_at_step)), "step")
    panels.add(field, lambda session: gr.update(view=session.selection.view), "view", immediate=True)
    with gr.Row(elem_id="answers"):
        with gr.Column(scale=2, min_width=320, elem_id="who"):
            gr.HTML("<h3>Who is right?</h3>")
            table = gr.HTML(elem_id="verdicts")
            panels.add(table, verdict_table.table, "step", immediate=True)
        with gr.Column(scale=1, min_width=320, elem_id="along"):
            strength = build_budget_choice(panels, "budget-shown")
            panels.add(gr.HTML(elem_id="why"), verdict_table.explanation, "step")
            panels.add(gr.HTML(elem_id="threat"), verdict_table.threat, "budget")
            panels.add(gr.HTML(elem_id="unknown"), verdict_table.unknown_words)
    return {"pictures": pictures, "field": field, "early": [pictures, banner, field, table], "budget_choice": strength}


def build_attack_steps_fold(panels: PanelRegistry) -> dict[str, Any]:
    """Every probability at every kept step, in a fold."""
    title = "Along the attack: how sure every method is at every step"
    with build_fold(title, elem_id="along-fold"):
        aria, empty = "Loss and every verdict, by attack step", "The attack's steps will be drawn here."
        steps = _figure(panels, "steps", aria, (290, 360), empty, _steps, "step", "attack_steps")
        panels.add(gr.HTML(elem_id="steps-note"), stored_steps_note, "step", "attack_steps")
        follow = gr.Button("Look at the steps between", elem_id="follow", visible=False)
        panels.add(follow, _background_button, "attack_steps")
        panels.add(gr.HTML(elem_id="times"), verdict_table.times, "budget")
    return {"steps": steps, "background_button": follow}


def _steps(session: Session, run: Run) -> Figure | None:
    return plots.attack_steps(run, session.attack_steps, shown_step(run)) if run.attack else None


def _background_button(session: Session) -> Any:
    """The button for background work that is too slow to start by itself."""
    run = session.run
    if run is None or session.pending_steps:
        return gr.update(visible=False)
    steps = 0.0 if session.attack_steps else attack_steps_seconds(run)
    other = 0.0 if session.budget_variants else budgets_seconds(run)
    slow = [steps] * (steps > AUTO_STEPS_SECONDS) + [other] * (other > AUTO_BUDGETS_SECONDS)
    what = "the steps between and at other strengths" if steps > AUTO_STEPS_SECONDS else "other strengths"
    name = f"Look at {what} (about {wording.format_seconds(sum(slow))})"
    return gr.update(visible=bool(slow), value=name)


def build_views(panels: PanelRegistry) -> dict[str, Any]:
    """3. The views."""
    _heading(panels, "views", 3, wording.heading_views, "The picture as 64 crops.", "step")
    with build_narrow_fold("Show the crops", "crops"):
        gr.HTML(
            f"<p class='lead'>Each {wording.term_html('view')} is asked on its own. A {wording.term_html('confident view')} "
            f"(low {wording.term_html('entropy')}) may enter the {wording.term_html('memory (cache)')}. Choose one: its "
            "place is outlined on the pictures.</p>"
        )
        left, right = build_columns(2, 1)
        with left:
            choices = [("attacked", "attacked"), ("clean", "clean")]
            label = "Views of which picture"
            side = gr.Radio(choices, value="attacked", label=label, show_label=False, elem_id="side")
            grid = ViewsGrid(None, aria="The views of the picture", elem_id="views")
            sheet = gr.HTML(elem_classes="sheet")
        with right:
            aria, empty, topics = "Entropy of every view", "How sure every view is.", ("view", "side", "step")
            entropies = _figure(panels, "entropies", aria, (240, 240), empty, _entropies, *topics)
            detail = gr.HTML(elem_id="view-detail")
    panels.add(side, _side, "side")
    panels.add(grid, _grid, *topics)
    panels.add(sheet, lambda s: sprite_value(s.crops_of(s.selection.side), "views"), "side", "step")
    panels.add(detail, selection_details.view_detail, *topics, immediate=True)
    return {"side": side, "grid": grid, "entropies": entropies}


def _side(session: Session) -> Any:
    run = session.run
    return gr.update(value=session.selection.side, visible=run is not None and run.attack is not None)


def _grid(session: Session) -> Any:
    now, at = session.run_at_step, session.selection
    if now is None or session.crops_of(at.side) is None:
        return None
    return grid_value(now, at.side, selected=at.view)


def _entropies(session: Session, run: Run) -> Figure:
    return plots.view_entropies(run, session.selection.side, selected=session.selection.view)


def build_transport(panels: PanelRegistry) -> dict[str, Any]:
    """4. The cost of every class, and the transport plan of one."""
    _heading(panels, "costs", 4, wording.heading_costs, "What every class costs.", "step")
    with build_narrow_fold("Show the transport and every cost", "transport"):
        gr.HTML(
            f"<p class='lead'>The {wording.term_html('transport cost')} of a class is the mean cosine distance of the "
            f"cheapest {wording.term_html('transport plan')} from the crops to its sentences; the "
            f"{wording.term_html('memory (cache)')} adds a second cost. The lowest total wins.</p>"
        )
        left, right = build_columns(1, 1)
        with left:
            panels.add(TransportToy(elem_id="toy"), toy_value, "step", "side")
        with right:
            aria, topics = "Cost of every class, clean and attacked", ("class", "step", "attack_steps")
            costs = _figure(panels, "costs", aria, (360, 640), "The classes' costs.", _costs, *topics)
        with build_fold("Every crop and every sentence: the plan of one class", elem_id="plan-fold"):
            class_menu = gr.Dropdown([], label="Class looked at", allow_custom_value=True, elem_id="class")
            aria, empty = "Transport plan of the chosen class", "The plan of the chosen class."
            selected = ("class", "side", "view", "step")
            plan = _figure(panels, "plan", aria, (360, 420), empty, _plan, *selected)
            cell = gr.HTML(elem_id="cell-detail")
    panels.add(class_menu, selection_details.class_choices, "class")
    panels.add(cell, selection_details.cell_detail, *selected, immediate=True)
    return {"costs": costs, "class_menu": class_menu, "plan": plan}


def _costs(session: Session, run: Run) -> Figure:
    return plots.class_costs(run, session.selection.k, along=session.attacked_by_step)


def _plan(session: Session, run: Run) -> Figure | None:
    at = session.selection
    if at.k is None:
        return None
    cell = None if at.view is None or at.atom is None else (at.view, at.atom)
    return plots.plan_heatmap(run, at.side, at.k, selected=cell)


def build_view_seed_check(panels: PanelRegistry) -> dict[str, Any]:
    """The decision repeated with other sets of crops."""

    def draw(session: Session, _: Run) -> Figure | None:
        run, found = session.run, session.attack_defend.view_seed_results
        return plots.view_seed_results(run, list(found)) if run and found else None

    lead = "The crops are random, and one draw can mislead. This decides the same picture again with ten other draws."
    with build_fold("Was it luck? Other random crops", lead, elem_id="luck-fold"):
        again = gr.Button("Right in how many of 10 view draws?", elem_id="again")
        aria, empty = "Every method's answer in ten draws of views", "Not drawn again yet."
        _figure(panels, "view-seeds", aria, (200, 220), empty, draw, "view_seeds")
    return {"repeat_button": again}


def build_cache_and_knowing_attacker(panels: PanelRegistry) -> dict[str, Any]:
    """5. The cache; 6. the attacker who knows a defence."""
    left, right = build_columns(1, 1)
    with left:
        _heading(panels, "memory", 5, wording.heading_cache, "Reliable views are stored.")
        panels.add(gr.HTML(elem_id="memory-holds"), verdict_table.cache_contents, "memory")
    with right:
        _heading(panels, "knows", 6, wording.heading_knowing_attacker, "What if the attacker knows the defence?")
        with gr.Row(elem_id="push"):
            known = gr.Dropdown(
                [(one.title, one.name) for one in DEFENCES.values() if not one.ablation],
                value="rita",
                label="The attacker knows",
                show_label=False,
                filterable=False,
                elem_id="known-defence",
            )
            push = gr.Button("Attack that defence", elem_id="know")
        gr.HTML("<p class='lead'>Up to 60 steps against the defence itself, on fresh crops; up to a minute.</p>")
    return {"known_defence": known, "knowing_button": push}
