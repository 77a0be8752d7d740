"""The panels of the tab: the first screen on the right, and the numbered sections below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from rita_demo import plots
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.ui.attack_defend.attacker_table import build_attacker_table
from rita_demo.ui.attack_defend.budget_curves import build_budget_curves
from rita_demo.ui.background.attack_steps import (
    AUTO_BUDGETS_SECONDS,
    AUTO_STEPS_SECONDS,
    attack_steps_seconds,
    budgets_seconds,
)
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.panels import selection_details, verdict_table
from rita_demo.ui.panels.attack_sliders import AttackSliders, build_budget_choice, build_step_slider
from rita_demo.ui.panels.picture_triptych import PictureTriptych, pictures_value, selected_box
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.ui.widgets.views_grid import ViewsGrid, grid_value, sprite_value

EXAMPLE_PENDING = "The worked example is being computed."


@dataclass(frozen=True)
class ResultPanels:
    """The panels with events, and the buttons among them."""

    pictures: PictureTriptych
    early: list[Any]
    steps: PlotlyView
    attack_sliders: AttackSliders
    background_button: gr.Button
    side: gr.Radio
    grid: ViewsGrid
    entropies: PlotlyView
    costs: PlotlyView
    class_menu: gr.Dropdown
    plan: PlotlyView
    repeat_button: gr.Button
    double_budget_button: gr.Button


def build_first_screen(panels: PanelRegistry) -> dict[str, Any]:
    """The three pictures, the verdicts, the attack steps, and the threat model."""
    pictures = PictureTriptych(elem_id="pictures")
    panels.add(pictures, lambda session: gr.update(value=pictures_value(session)), "step", immediate=True)
    panels.add(pictures, lambda session: gr.update(box=selected_box(session)), "view", "side", immediate=True)
    with gr.Row(elem_id="answers"):
        with gr.Column(scale=3, min_width=320, elem_id="who"):
            gr.HTML("<h3>Who is right?</h3>")
            banner, table = gr.HTML(elem_id="banner"), gr.HTML(elem_id="verdicts")
            panels.add(banner, verdict_table.banner, "step", immediate=True)
            panels.add(table, verdict_table.table, "step", immediate=True)
        with gr.Column(scale=2, min_width=320, elem_id="along"):
            gr.HTML("<h3>Along the attack</h3>")
            strength = build_budget_choice(panels, "budget-shown")
            steps = PlotlyView(
                aria="Loss and every verdict, by attack step",
                height=290,
                narrow_height=360,
                empty="The attack's steps will be drawn here.",
                elem_id="steps",
            )
            scrubber = AttackSliders(build_step_slider(panels, "scrubber", "step"), strength)
            follow = gr.Button("Look at the steps between", elem_id="follow", visible=False)
            panels.add(steps, _steps, "step", "attack_steps")
            panels.add(follow, _background_button, "attack_steps")
    threat, times = gr.HTML(elem_id="threat"), gr.HTML(elem_id="times")
    unknown = gr.HTML(elem_id="unknown")
    panels.add(threat, verdict_table.threat, "budget")
    panels.add(unknown, verdict_table.unknown_words)
    panels.add(times, verdict_table.times, "budget")
    return {
        "pictures": pictures,
        "early": [pictures, banner, table],
        "steps": steps,
        "attack_sliders": scrubber,
        "background_button": follow,
    }


def _steps(session: Session) -> Any:
    now = session.run_at_step
    if now is None or now.attack is None:
        return None
    shown = last_step(now) if now.step is None else now.step
    return plots.attack_steps(now, session.attack_steps, shown)


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
    heading = gr.HTML(elem_id="heading-views")
    said = verdict_table.headline_panel(3, wording.heading_views, "The picture as 64 crops.")
    panels.add(heading, said, "step")
    gr.HTML(
        f"<p class='lead'>Each {wording.term_html('view')} is asked on its own, after the {wording.term_html('step back')}. A {wording.term_html('confident view')} "
        f"(low {wording.term_html('entropy')}) may enter the {wording.term_html('memory (cache)')}. Choose one: its "
        "place is outlined on the pictures.</p>"
    )
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            side = gr.Radio(
                [("attacked", "attacked"), ("clean", "clean")],
                value="attacked",
                label="Views of which picture",
                show_label=False,
                elem_id="side",
            )
            grid = ViewsGrid(None, aria="The views of the picture", elem_id="views")
            sheet = gr.HTML(elem_classes="sheet")
        with gr.Column(scale=1, min_width=320):
            entropies = PlotlyView(
                aria="Entropy of every view",
                height=240,
                narrow_height=240,
                empty="How sure every view is.",
                elem_id="entropies",
            )
            detail = gr.HTML(elem_id="view-detail")
    panels.add(side, _side, "side")
    panels.add(grid, _grid, "view", "side", "step")
    panels.add(sheet, lambda s: sprite_value(s.crops_of(s.selection.side), "views"), "side", "step")
    panels.add(entropies, _entropies, "view", "side", "step")
    panels.add(detail, selection_details.view_detail, "view", "side", "step", immediate=True)
    return {"side": side, "grid": grid, "entropies": entropies}


def _side(session: Session) -> Any:
    run = session.run
    return gr.update(value=session.selection.side, visible=run is not None and run.attack is not None)


def _grid(session: Session) -> Any:
    at = session.selection
    now = session.run_at_step
    if now is None or session.crops_of(at.side) is None:
        return None
    return grid_value(now, at.side, selected=at.view)


def _entropies(session: Session) -> Any:
    at = session.selection
    now = session.run_at_step
    return None if now is None else plots.view_entropies(now, at.side, selected=at.view)


def build_transport(panels: PanelRegistry) -> dict[str, Any]:
    """4. The cost of every class, and the transport plan of one."""
    heading = gr.HTML(elem_id="heading-costs")
    said = verdict_table.headline_panel(4, wording.heading_costs, "What every class costs.")
    panels.add(heading, said, "step")
    gr.HTML(
        f"<p class='lead'>The {wording.term_html('transport cost')} of a class is the mean cosine distance of the "
        f"cheapest {wording.term_html('transport plan')} from the crops to its sentences; the "
        f"{wording.term_html('memory (cache)')} adds a second cost. The lowest total wins. Choose a class to "
        "see its plan, then a cell of the plan.</p>"
    )
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            costs = PlotlyView(
                aria="Cost of every class, clean and attacked",
                height=400,
                narrow_height=640,
                empty="The classes' costs.",
                elem_id="costs",
            )
        with gr.Column(scale=1, min_width=320):
            class_menu = gr.Dropdown([], label="Class looked at", allow_custom_value=True, elem_id="class")
            plan = PlotlyView(
                aria="Transport plan of the chosen class",
                height=360,
                narrow_height=420,
                empty="The plan of the chosen class.",
                elem_id="plan",
            )
            cell = gr.HTML(elem_id="cell-detail")
    panels.add(costs, _costs, "class", "step", "attack_steps")
    panels.add(class_menu, _class_menu, "class")
    panels.add(plan, _plan, "class", "side", "view", "step")
    panels.add(cell, selection_details.cell_detail, "class", "side", "view", "step", immediate=True)
    return {"costs": costs, "class_menu": class_menu, "plan": plan}


def _costs(session: Session) -> Any:
    now, k = session.run_at_step, session.selection.k
    return None if now is None else plots.class_costs(now, k, along=session.attacked_by_step)


def _class_menu(session: Session) -> Any:
    run, k = session.run, session.selection.k
    if run is None:
        return gr.update()
    return gr.update(choices=list(run.class_prompts.names), value=None if k is None else run.class_prompts.names[k])


def _plan(session: Session) -> Any:
    run, at = session.run_at_step, session.selection
    if run is None or at.k is None:
        return None
    cell = None if at.view is None or at.atom is None else (at.view, at.atom)
    return plots.plan_heatmap(run, at.side, at.k, selected=cell)


def build_view_seed_check(panels: PanelRegistry) -> dict[str, Any]:
    """The decision repeated with other sets of crops."""
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            gr.HTML(
                "<h3>Was it luck?</h3><p class='lead'>The crops are random, and one draw can mislead. "
                "This decides the same picture again with ten other draws.</p>"
            )
            again = gr.Button("Right in how many of 10 view draws?", elem_id="again")
        with gr.Column(scale=1, min_width=320):
            draws = PlotlyView(
                aria="Every method's answer in ten draws of views",
                height=200,
                narrow_height=220,
                empty="Not drawn again yet.",
                elem_id="view-seeds",
            )
    panels.add(draws, _view_seed_figure, "view_seeds")
    return {"repeat_button": again}


def build_cache_and_stronger_attack(panels: PanelRegistry) -> dict[str, Any]:
    """5. The cache; 6. a stronger attack."""
    memory, holds = gr.HTML(elem_id="heading-memory"), gr.HTML(elem_id="memory-holds")
    panels.add(memory, verdict_table.headline_panel(5, wording.heading_cache, "Reliable views are stored."))
    panels.add(holds, verdict_table.cache_contents, "memory")
    stronger = gr.HTML(elem_id="heading-stronger")
    panels.add(
        stronger, verdict_table.headline_panel(6, wording.heading_stronger, "What if the attacker knows the defence?")
    )
    with gr.Row(elem_id="push"):
        push = gr.Button("Attack twice as hard", elem_id="stronger")
        gr.HTML("<p class='lead'>Doubles the strength, up to 16/255, and runs again.</p>")
    build_budget_curves()
    build_attacker_table()
    return {"double_budget_button": push}


def _view_seed_figure(session: Session) -> Any:
    if session.run is None or not session.attack_defend.view_seed_results:
        return None
    return plots.view_seed_results(session.run, list(session.attack_defend.view_seed_results))
