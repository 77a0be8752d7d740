"""The panels of the tab: the first screen on the right, and the numbered sections below."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo import analysis, plots
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.figure import Figure
from rita_demo.records import Run
from rita_demo.records.errors import DataError
from rita_demo.ui.background import attack_steps as background
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue, Parts
from rita_demo.ui.panels import selection_details, verdict_table
from rita_demo.ui.panels.attack_sliders import stored_steps_note
from rita_demo.ui.panels.crop_field import NO_VIEW, CropField, crop_field_value, shown_step
from rita_demo.ui.panels.transport_toy import TransportToy, toy_value
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_fold, build_menu, build_narrow_fold
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.ui.widgets.views_grid import ViewsGrid, grid_value, sprite_value


def _of_run(draw: Callable[[Session, Run], PanelValue], empty: PanelValue = None) -> Callable[[Session], PanelValue]:
    """``draw(session, run)`` of the displayed run; ``empty`` before there is one."""

    def value(session: Session) -> PanelValue:
        run = session.run_at_step
        return empty if run is None else draw(session, run)

    return value


def _html(
    panels: PanelRegistry, name: str, draw: Callable[[Run], str], *topics: str, empty: str = "", immediate: bool = False
) -> gr.HTML:
    component = gr.HTML(elem_id=name)
    panels.add(component, _of_run(lambda _, run: draw(run), empty), *topics, immediate=immediate)
    return component


def _heading(
    panels: PanelRegistry, name: str, number: int, text: Callable[[Run], str], empty: str, *topics: str
) -> None:
    heading = verdict_table.heading_html
    _html(panels, f"heading-{name}", lambda run: heading(text(run), number), *topics, empty=heading(empty, number))


def build_first_screen(panels: PanelRegistry) -> Parts:
    """What happened in one sentence, the crop field; the verdicts and attack steps below."""
    _html(panels, "run-says", verdict_table.says, "step", immediate=True)
    _html(panels, "banner", verdict_table.banner, "step", immediate=True)
    field = CropField(None, step=None, view=NO_VIEW, elem_id="field")
    panels.add(field, lambda session: gr.update(value=crop_field_value(session)), "attack_steps", immediate=True)
    panels.add(field, lambda session: gr.update(step=shown_step(session.run_at_step)), "step")
    panels.add(field, _selected_view, "view", immediate=True)
    with gr.Row(elem_id="answers"):
        with gr.Column(scale=2, min_width=320, elem_id="who"):
            gr.HTML("<h3>Who is right?</h3>")
            empty = '<p class="empty">The answers of all methods appear here once a picture is chosen.</p>'
            _html(panels, "verdicts", verdict_table.table, "step", empty=empty, immediate=True)
        with gr.Column(scale=1, min_width=320, elem_id="along"):
            _html(panels, "why", verdict_table.explanation, "step")
            _html(panels, "threat", verdict_table.threat)
    return {"field": field}


def _selected_view(session: Session) -> PanelValue:
    view = session.selection.view
    return gr.update(view=NO_VIEW if view is None else view)


def build_sections(panels: PanelRegistry) -> Parts:
    """The numbered sections and the folds below the first screen; like all builders, returns the components by name."""
    sections = _build_views(panels) | _build_transport(panels) | _build_cache_and_knowing_attacker(panels)
    return sections | _build_attack_steps_fold(panels)


def _build_attack_steps_fold(panels: PanelRegistry) -> Parts:
    """Every probability at every stored step, in a fold."""
    with build_fold("Along the attack: how sure every method is at every step", elem_id="along-fold"):
        aria, empty = "Loss and every verdict, by attack step", "The attack's steps appear here."
        steps = PlotlyView(aria=aria, height=290, narrow_height=360, empty=empty, elem_id="steps")
        draw = _of_run(lambda s, run: plots.attack_steps(run, s.attack_steps, shown_step(run)) if run.attack else None)
        panels.add(steps, draw, "step", "attack_steps")
        panels.add(gr.HTML(elem_id="steps-note"), stored_steps_note, "step", "attack_steps")
        follow = gr.Button("Compute the steps between", elem_id="follow", visible=False)
        panels.add(follow, _background_button, "attack_steps")
        _html(panels, "times", verdict_table.times)
    return {"steps": steps, "background_button": follow}


def _background_button(session: Session) -> PanelValue:
    """The button for background work that is too slow to start by itself."""
    run = session.run
    if run is None or session.pending_steps:
        return gr.update(visible=False)
    seconds = 0.0 if session.attack_steps else background.attack_steps_seconds(run)
    name = f"Compute the steps between (about {wording.format_seconds(seconds)})"
    return gr.update(visible=seconds > background.AUTO_STEPS_SECONDS, value=name)


def _build_views(panels: PanelRegistry) -> Parts:
    heading = verdict_table.heading_html
    says = _of_run(
        lambda s, run: heading(wording.heading_views(run, s.selection.side), 1), heading("The picture as 64 crops.", 1)
    )
    panels.add(gr.HTML(elem_id="heading-views"), says, "step", "side")
    with build_narrow_fold("Show the crops", "crops"):
        gr.HTML(
            f"<p class='lead'>Each {wording.term_html('view')} is classified on its own. A {wording.term_html('confident view')} "
            f"(low {wording.term_html('entropy')}) may enter the {wording.term_html('memory (cache)')}, a grey one may not.</p>"
        )
        left, right = build_columns(2, 1)
        with left:
            label = "Views of which picture"
            side = gr.Radio(["attacked", "clean"], value="attacked", label=label, show_label=False, elem_id="side")
            grid = ViewsGrid(None, aria="The views of the picture", elem_id="views")
            sheet = gr.HTML(elem_classes="sheet")
        with right:
            empty = "How sure every view is."
            entropies = PlotlyView(aria="Entropy of every view", height=240, empty=empty, elem_id="entropies")
            detail = gr.HTML(elem_id="view-detail")
    topics = ("view", "side", "step")
    panels.add(side, lambda s: gr.update(value=s.selection.side, visible=bool(s.run and s.run.attack)), "side")
    cells = _of_run(lambda s, run: grid_value(run, s.selection.side, selected=s.selection.view))
    panels.add(grid, cells, *topics)
    bars = _of_run(lambda s, run: plots.view_entropies(run, s.selection.side, s.selection.view))
    panels.add(entropies, bars, *topics)
    panels.add(sheet, lambda s: sprite_value(s.crops_of(s.selection.side), "views"), "side", "step")
    panels.add(detail, selection_details.view_detail, *topics, immediate=True)
    return {"side": side, "grid": grid, "entropies": entropies}


def _build_transport(panels: PanelRegistry) -> Parts:
    """2. The cost of every class, and the transport plan of one."""
    _heading(panels, "costs", 2, wording.heading_costs, "What every class costs.", "step")
    with build_narrow_fold("Show the transport and every cost", "transport"):
        gr.HTML(
            f"<p class='lead'>The {wording.term_html('transport cost')} of a class is that of the cheapest "
            f"{wording.term_html('transport plan')} from the crops to its sentences. The {wording.term_html('memory (cache)')} "
            "adds a part; the lowest total wins.</p>"
        )
        left, right = build_columns(1, 1)
        with left:
            panels.add(TransportToy(None, elem_id="toy"), toy_value, "step", "side")
        with right:
            aria, empty = "Cost of every class, clean and attacked", "The classes' costs."
            costs = PlotlyView(aria=aria, narrow_height=640, empty=empty, elem_id="costs")
        with build_fold("Every crop and every sentence: the plan of one class", elem_id="plan-fold"):
            class_menu = build_menu([], label="Class shown", allow_custom_value=True, elem_id="class")
            aria, empty = "Transport plan of the chosen class", "The plan of the chosen class."
            plan = PlotlyView(aria=aria, narrow_height=420, empty=empty, elem_id="plan")
            cell = gr.HTML(elem_id="cell-detail")
    selected = ("class", "side", "view", "step")
    rows = _of_run(lambda s, run: plots.class_costs(run, s.selection.k, along=s.attacked_by_step))
    panels.add(costs, rows, "class", "step", "attack_steps")
    panels.add(plan, _of_run(_plan), *selected)
    panels.add(class_menu, selection_details.class_choices, "class")
    panels.add(cell, selection_details.cell_detail, *selected, immediate=True)
    return {"costs": costs, "class_menu": class_menu, "plan": plan}


def _plan(session: Session, run: Run) -> Figure | None:
    at = session.selection
    cell = None if at.view is None or at.atom is None else (at.view, at.atom)
    return None if at.k is None else plots.plan_heatmap(run, at.side, at.k, selected=cell)


def _build_cache_and_knowing_attacker(panels: PanelRegistry) -> Parts:
    """3. The cache; 4. the attacker who knows a defence."""
    left, right = build_columns(1, 1)
    with left:
        _heading(panels, "memory", 3, wording.heading_cache, "Confident views are stored.")
        _html(panels, "memory-effect", verdict_table.cache_effect, "step")
        panels.add(gr.HTML(elem_id="memory-holds"), verdict_table.cache_contents, "memory")
    with right:
        _heading(panels, "knows", 4, wording.heading_knowing_attacker, "What if the attacker knows the defence?")
        with gr.Row(elem_id="push"):
            choices = [(one.title, one.name) for one in DEFENCES.values() if not one.ablation]
            options: dict[str, Any] = {"filterable": False, "elem_id": "known-defence"}
            known = build_menu(choices, value="rita", label="The attacker knows", **options)
            push = gr.Button("Attack that defence", elem_id="know")
        gr.HTML(
            "<p class='lead'>30 steps against the defence, each on new crops, 30 more if it holds: half a minute."
            f"{knowing_attacker_text()}</p>"
        )
    return {"known_defence": known, "knowing_button": push}


def knowing_attacker_text() -> str:
    """What RITA keeps of many pictures against the attacker who knows it; "" where that was not measured."""
    try:
        counts = analysis.attacker_table(shipped_results.read(shipped_results.ATTACKERS)).get("adaptive", {})
    except DataError:
        return ""
    rita = counts.get("rita")
    if rita is None:
        return ""
    form = "an earlier form of this attacker" if rita.earlier else "this attacker"
    return f" Of {rita.n} test pictures RITA keeps {rita.percent:.0f} % right against {form}."
