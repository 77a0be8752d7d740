"""The control for the displayed attack step, and which steps are stored.

Nothing is encoded here: the steps were computed once, in the background, and are stored.
"""

import gradio as gr

from rita_demo.pipeline.attack_steps import last_step
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.setting_controls import LenientSlider


def build_step_slider(panels: PanelRegistry, name: str, topic: str) -> gr.Slider:
    """The slider of steps and a sentence below it; ``name`` is its element id, ``topic`` what the tab's panels depend
    on when the step changes."""
    step = LenientSlider(0, 7, value=7, step=1, label="Attack step shown, 0 is clean", elem_id=name, visible=False)
    panels.add(step, _step_slider, topic)
    panels.add(gr.HTML(elem_id=f"{name}-note"), step_caption, topic, "attack_steps")
    return step


def _step_slider(session: Session) -> PanelValue:
    last = 0 if session.run is None else last_step(session.run)
    value = last if session.selection.step is None else session.selection.step
    return gr.update(maximum=max(last, 1), value=value, visible=last > 0)


def step_caption(session: Session) -> str:
    """HTML below the slider: the step that is shown, where another one is asked for which; and how many are still computed."""
    now, asked = session.run_at_step, session.selection.step
    if now is None or now.attack is None:
        return "<p class='note'>not attacked</p>" if now else ""
    last = last_step(now)
    shown = last if now.step is None else now.step
    said = f"step {shown} of {last}"
    if asked is not None and asked != shown:
        said = f"no step {asked} yet: step {shown}" if session.pending_steps else f"step {shown}, nearest to {asked}"
    elif session.pending_steps:
        said += " …"
    return f"<p class='note ends'><span>clean</span><span role='status'>{said}</span></p>"


def stored_steps_note(session: Session) -> str:
    """HTML: which steps are stored, how many are still computed, and which one is shown instead of a missing one."""
    now, pending = session.run_at_step, session.pending_steps
    if now is None or now.attack is None:
        return ""
    last, asked = last_step(now), session.selection.step
    stored = sorted({0, last} | {frame.step for frame in session.attack_steps})
    shown, said = last if now.step is None else now.step, ""
    if asked is not None and asked != shown:
        said = f"Step {asked} is not stored{' yet' if pending else ''}: everything shows step {shown}, the nearest. "
    if len(stored) <= last:
        said += f"Stored: steps {', '.join(map(str, stored[:-1]))} and {last} of {last}."
    if pending:
        done = len(session.attack_steps)
        said += (
            f" <progress max='{pending}' value='{done}' aria-label='Steps computed'></progress> "
            f"{done} of {pending} steps are computed."
        )
    return f"<p class='quiet small' role='status'>{said.strip()}</p>" if said else ""
