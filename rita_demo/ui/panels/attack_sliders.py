"""Controls for the displayed attack step and budget, in two tabs.

Nothing is encoded here: the steps and budgets were computed once, in the background, and are stored.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.pipeline.attack_steps import last_step
from rita_demo.pipeline.rerun import other_budgets
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import PanelRegistry, Updates
from rita_demo.ui.framework.two_stage_update import TwoStageUpdate
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.setting_controls import LenientSlider

STEP_INFO = "0 is before the first step. Every tab but the memory's follows."
#: What another step changes; another budget changes ``BUDGET_TOPICS`` as well.
STEP_TOPICS = ("step", "inside", "crops")
BUDGET_TOPICS = ("attack_steps", "budget", "view_seeds")


def build_budget_choice(panels: PanelRegistry, name: str) -> gr.Radio:
    """The choice of budgets; ``name`` is its element id."""
    strength = gr.Radio([], label="Strength shown", elem_id=name, visible=False)
    panels.add(strength, _budget_choice, "attack_steps")
    return strength


def build_step_slider(panels: PanelRegistry, name: str, topic: str) -> gr.Slider:
    """The slider of steps and a sentence below it; ``name`` is its element id, ``topic`` what the tab's panels depend
    on when the step changes."""
    step = LenientSlider(0, 7, value=7, step=1, label="Attack step shown", info=STEP_INFO, elem_id=name, visible=False)
    panels.add(step, _step_slider, topic)
    panels.add(gr.HTML(elem_id=f"{name}-note"), stored_steps_note, topic, "attack_steps")
    return step


def bind_step_slider(
    context: AppContext, step: gr.Slider, two_stage: TwoStageUpdate, prepare: Callable[[Session], None]
) -> None:
    """Connect the slider of one tab, after the panels of all tabs are registered. ``prepare`` computes what the tab's
    panels show of another step."""

    def on_step(visitor: Any, asked: Any) -> Updates:
        return select_step(context.sessions.get(visitor), asked, two_stage, prepare)

    two_stage.bind_event(step.input, on_step, [context.visitor, step], *STEP_TOPICS, active=[step])


def bind_budget_choice(
    context: AppContext,
    choice: gr.Radio,
    budget_input: gr.Slider,
    two_stage: TwoStageUpdate,
    prepare: Callable[[Session], None],
) -> None:
    """The same for the choice of budgets; ``budget_input``: the form's budget, which follows the displayed one."""

    def on_budget(visitor: Any, budget: Any) -> Updates:
        session = context.sessions.get(visitor)
        updates = select_budget(session, budget, two_stage, prepare)
        return updates | {budget_input: session.run.settings.budget} if session.run else updates

    outputs: dict[str, Any] = {"active": [choice], "extra_outputs": [budget_input]}
    two_stage.bind_event(choice.input, on_budget, [context.visitor, choice], *STEP_TOPICS, *BUDGET_TOPICS, **outputs)


def select_budget(
    session: Session, budget: Any, two_stage: TwoStageUpdate, prepare: Callable[[Session], None]
) -> Updates:
    """Show the attack with one of the stored budgets; anything else (untrusted input) changes nothing."""
    if not isinstance(budget, int) or budget not in session.budget_variants:
        return {}
    session.select_budget(budget)
    prepare(session)
    return two_stage.immediate(session, *STEP_TOPICS, *BUDGET_TOPICS)


def select_step(session: Session, step: Any, two_stage: TwoStageUpdate, prepare: Callable[[Session], None]) -> Updates:
    """Show the stored attack step nearest to ``step``; anything but a number (untrusted input) changes nothing."""
    run = session.run
    number = isinstance(step, int | float) and step == step and abs(step) < 10**6
    if run is None or run.attack is None or not number:
        return {}
    session.select(step=min(max(round(step), 0), last_step(run)))
    prepare(session)
    return two_stage.immediate(session, *STEP_TOPICS)


def _budget_choice(session: Session) -> Any:
    run = session.run
    if run is None or not other_budgets(run):
        return gr.update(visible=False)
    kept = sorted((*session.budget_variants, run.settings.budget))
    choices = [(f"{n}/255", n) for n in kept]
    return gr.update(choices=choices, value=run.settings.budget, visible=True)


def _step_slider(session: Session) -> Any:
    run = session.run
    last = 0 if run is None else last_step(run)
    asked = session.selection.step
    value = last if asked is None else asked
    return gr.update(maximum=max(last, 1), value=value, visible=last > 0)


def stored_steps_note(session: Session) -> str:
    """HTML: which steps are stored, how many are still computed, and which one is shown instead of a missing one."""
    run, now = session.run, session.run_at_step
    if run is None or now is None or run.attack is None:
        return ""
    last = last_step(run)
    kept = sorted({0, last} | {frame.step for frame in session.attack_steps})
    names = f"{', '.join(map(str, kept[:-1]))} and {kept[-1]}"
    asked, shown = session.selection.step, last if now.step is None else now.step
    said = f"Kept: steps {names} of {last}." if len(kept) <= last else ""
    if asked is not None and asked != shown:
        said = f"Step {asked} is not kept{' yet' if session.pending_steps else ''}: everything shows step {shown}, the nearest. {said}"
    if session.pending_steps:
        done = len(session.attack_steps)
        said += (
            f" <progress max='{session.pending_steps}' value='{done}' aria-label='Steps computed'></progress> "
            f"{done} of {session.pending_steps} steps are computed."
        )
    return f"<p class='quiet small' role='status'>{said.strip()}</p>" if said else ""
