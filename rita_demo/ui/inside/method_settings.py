"""The settings of the methods, in a drawer of *Inside*: the next run is made with them."""

from collections.abc import Collection

import gradio as gr

from rita_demo.settings import SETTINGS
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import FormValues, Updates
from rita_demo.ui.widgets.blocks import build_fold
from rita_demo.ui.widgets.setting_controls import build_accordions, changed_note, edited

LEAD = (
    "The next run is made with these. <button type='button' class='place' data-press='#go'>Run it again</button> "
    "with the picture and the attack of the Story."
)
MAX_TEXT = 1_000  # characters of a value that is kept; a longer one is refused anyway


def build_method_settings(context: AppContext, of_form: Collection[str]) -> None:
    """Every setting that is none of the form's, by groups. They are drawn when the drawer is opened; it closes when the form
    is filled in."""
    with build_fold("Settings of the methods", LEAD, elem_id="method-settings") as drawer:
        differences = gr.HTML(elem_id="method-differs")
        controls = build_accordions(skip=of_form)
    context.panels.add(drawer, lambda _: gr.update(open=False), "form", "drawer")

    def on_expand(visitor: str) -> Updates:
        settings = context.sessions.get(visitor).attack_defend.settings
        shown: Updates = {control: settings.get(name, SETTINGS[name].default) for name, control in controls.items()}
        return shown | {differences: changed_note(settings)}

    def on_edit(values: FormValues) -> Updates:
        state = context.sessions.get(values[context.visitor]).attack_defend
        given = {name: values[control] for name, control in controls.items()}
        state.settings = {n: v if isinstance(v, bool | int | float) else str(v)[:MAX_TEXT] for n, v in given.items()}
        return {differences: changed_note(state.settings)}

    safe = notice.handle_errors(context.error_banner)
    shown = [context.error_banner, *controls.values(), differences]
    drawer.expand(safe(on_expand), context.visitor, shown, **IMMEDIATE_EVENT)
    inputs = {context.visitor, *controls.values()}
    gr.on([edited(one) for one in controls.values()], safe(on_edit), inputs, [shown[0], differences], **IMMEDIATE_EVENT)
