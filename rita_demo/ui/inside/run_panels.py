"""What *Inside* shows of the run itself: the crop field, every answer, a plan to drag, and the attack along its steps."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo import analysis, plots
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.records import Run
from rita_demo.records.errors import DataError
from rita_demo.ui.background import attack_steps as background
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue, Parts
from rita_demo.ui.panels import verdict_table
from rita_demo.ui.panels.attack_sliders import stored_steps_note
from rita_demo.ui.panels.crop_field import NO_VIEW, CropField, crop_field_value, shown_step
from rita_demo.ui.panels.transport_toy import MADE_UP, TransportToy, toy_value
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.plotly_view import PlotlyView


def _of_run(draw: Callable[[Session, Run], PanelValue], empty: PanelValue = None) -> Callable[[Session], PanelValue]:
    """``draw(session, run)`` of the displayed run; ``empty`` before there is one."""

    def value(session: Session) -> PanelValue:
        run = session.run_at_step
        return empty if run is None else draw(session, run)

    return value


def _html(
    panels: PanelRegistry, name: str, draw: Callable[[Run], str], *topics: str, empty: str = "", first: bool = False
) -> gr.HTML:
    component = gr.HTML(elem_id=name)
    panels.add(component, _of_run(lambda _, run: draw(run), empty), *topics, first=first)
    return component


def build_head(panels: PanelRegistry) -> None:
    """What happened in one sentence."""
    _html(panels, "run-says", verdict_table.says, "step", first=True)
    _html(panels, "banner", verdict_table.banner, "step", first=True)


def build_answers(panels: PanelRegistry) -> Parts:
    """The crop field and the answers; like all builders, returns the components with events by name."""
    field = CropField(None, step=None, view=NO_VIEW, elem_id="field")
    panels.add(field, lambda session: gr.update(value=crop_field_value(session)), "attack_steps", first=True)
    panels.add(field, lambda session: gr.update(step=shown_step(session.run_at_step)), "step")
    panels.add(field, _selected_view, "view", first=True)
    with gr.Row(elem_id="answers"):
        with gr.Column(scale=2, min_width=320, elem_id="who"):
            gr.HTML("<h3>Who is right?</h3>")
            empty = '<p class="empty">The answers of all methods appear here once a picture is chosen.</p>'
            _html(panels, "verdicts", verdict_table.table, "step", empty=empty, first=True)
        with gr.Column(scale=1, min_width=320, elem_id="along"):
            _html(panels, "why", verdict_table.explanation, "step")
            _html(panels, "threat", verdict_table.threat)
    return {"field": field}


def build_rest(panels: PanelRegistry) -> Parts:
    """The small plan, the attack's steps, and the attacker who knows a defence."""
    return _build_plan(panels) | _build_attack_steps_fold(panels) | _build_knowing_attacker()


def _selected_view(session: Session) -> PanelValue:
    view = session.selection.view
    return gr.update(view=NO_VIEW if view is None else view)


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
    return {"steps_figure": steps, "background_button": follow}


def _background_button(session: Session) -> PanelValue:
    """The button for background work that is too slow to start by itself."""
    run = session.run
    if run is None or session.pending_steps:
        return gr.update(visible=False)
    seconds = 0.0 if session.attack_steps else background.attack_steps_seconds(run)
    name = f"Compute the steps between (about {wording.format_seconds(seconds)})"
    return gr.update(visible=seconds > background.AUTO_STEPS_SECONDS, value=name)


def _build_plan(panels: PanelRegistry) -> Parts:
    with build_fold("Three crops and two sentences of each class: a plan to drag", elem_id="toy-fold"):
        label = "Crops of which picture"
        side = gr.Radio(["attacked", "clean"], value="attacked", label=label, show_label=False, elem_id="side")
        panels.add(TransportToy(None, elem_id="toy"), toy_value, "step", "side")
        TransportToy(MADE_UP, elem_id="toy-made-up")
    panels.add(side, lambda s: gr.update(value=s.selection.side, visible=bool(s.run and s.run.attack)), "side")
    return {"side": side}


def _build_knowing_attacker() -> Parts:
    gr.HTML("<h3>What if the attacker knows the defence?</h3>")
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
