"""What if: decide again with another setting or true class, or without a view, a prompt or a cached view.

The run itself is never changed. A visitor's :class:`WhatIf` is kept beside it and is shown in *Inside* only,
with a headline that says what differs and a button that goes back.
"""

import math
from dataclasses import replace
from typing import Any

import gradio as gr
from gradio.components import Component
from markupsafe import Markup

from rita_demo.engine.protocol import Engine
from rita_demo.pipeline import rerun
from rita_demo.pipeline.export import notes, used_settings
from rita_demo.records import Exclusions, Run
from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import PRESETS, SETTINGS, Settings
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue, Parts
from rita_demo.ui.inside.cache_used import selected_slot
from rita_demo.ui.inside.crop_columns import shown_view
from rita_demo.ui.session.session import Session, WhatIf
from rita_demo.ui.widgets.blocks import build_menu
from rita_demo.ui.widgets.setting_controls import (
    PRESET_TITLES,
    build_control,
    changes_from_preset,
    label_of,
    preset_values,
    value_of,
)

#: The settings that can be changed here, of transport and of the memory: for all of them the features are enough.
ADJUSTABLE = (
    *("step_back", "cost", "entropy_weight", "transported_mass", "objective"),
    *("cache_weight", "empty_class", "order", "max_entropy", "slots"),
)
#: What can be left out: a field of :class:`Exclusions`, the name of one, and where to choose one.
EXCLUDABLE = {
    "view": ("views", "crop", "Choose one of the crops first."),
    "prompt": ("prompts", "sentence", "Choose a cell of the plan first."),
    "item": ("cache_items", "stored view", "Choose one that this picture was decided from."),
}


def run_of(session: Session) -> Run:
    """The run on screen; SettingError when there is none."""
    if session.run is None:
        raise SettingError("There is no picture yet.", "Run one in the Story.")
    return session.run


def settings_of(session: Session) -> Settings:
    """The settings of the displayed run; SettingError when there is none."""
    return session.inside.what_if.settings or run_of(session).settings


def change(engine: Engine, session: Session, **changes: Any) -> None:
    """Decide again with ``settings``, ``exclusions`` or ``label`` changed; an error leaves everything as it was. Raises
    SettingError: there is no picture, or nothing would be left to decide from."""
    with session.lock:
        run = session.run_at_step or run_of(session)
        wanted = replace(session.inside.what_if, **changes)
        settings = wanted.settings or run.settings
        label = None if wanted.label in (None, run.label) else wanted.label
        if settings == run.settings and wanted.exclusions == Exclusions() and label is None:
            session.inside.what_if = WhatIf()
            return
        now = session.inside.what_if.run  # it may hold the prompt update that these settings need
        if now is not None and now.step == run.step and rerun.same_prompt_update(now.settings, settings):
            run = replace(now, label=run.label, label_given=run.label_given)
        result = rerun.rescore(engine, run, settings, wanted.exclusions, label)
        session.inside.what_if = WhatIf(settings, wanted.exclusions, label, result)


def with_preset(session: Session, name: JsonValue) -> Settings:
    """The settings of the displayed run with those of a preset that can be changed here."""
    values = preset_values(name if isinstance(name, str) else "")
    return settings_of(session).replace(**{n: values[n] for n in (*ADJUSTABLE, "tuning_steps")})


def follow_selection(engine: Engine, session: Session) -> None:
    """Repeat the what-if for the selected attack step."""
    with session.lock:
        result, now = session.inside.what_if.run, session.run_at_step
        if result is not None and now is not None and result.step != now.step:
            change(engine, session)


def _chosen(session: Session, kind: str) -> tuple[int | tuple[int, int], int] | None:
    """What of a ``kind`` of ``EXCLUDABLE`` is selected: as :class:`Exclusions` holds it, and its number; or None."""
    at, slot, view = session.selection, selected_slot(session), shown_view(session)
    prompt = None if at.k is None or at.atom is None else ((at.k, at.atom), at.atom + 1)
    return {"view": None if view is None else (view, view), "prompt": prompt, "item": slot and (slot, slot[1])}[kind]


def toggled(session: Session, kind: str) -> Exclusions:
    """What is left out once the selected one of a ``kind`` of ``EXCLUDABLE`` is left out, or put back."""
    field, name, hint = EXCLUDABLE[kind]
    chosen, out = _chosen(session, kind), session.inside.what_if.exclusions
    if session.run is None or chosen is None:
        raise SettingError(f"No {name} is chosen.", hint)
    return replace(out, **{field: getattr(out, field) ^ {chosen[0]}})


def changes_from_preset_html(session: Session) -> Markup:
    """HTML: what a what-if changes, and every setting of the defence that differs from the nearest preset, its value there and
    now, as it acts."""
    run = session.displayed_run
    if run is None:
        return Markup("")
    settings, (name, changed) = used_settings(run), changes_from_preset(run.settings)
    each = "; ".join(f"{label_of(n)}: {value_of(n, PRESETS[name])} → now {value_of(n, settings)}" for n in changed)
    text = f"Other than in “{name}”: {each}." if changed else f"Every setting of the defence is as in “{name}”."
    here = [f"What if: {'; '.join(differing(session))}."] if session.inside.what_if.run else []
    return Markup("<p class='note'>{}</p>").format(" ".join([*here, text, *notes(run)]))


def differing(session: Session) -> list[str]:
    """Each difference from the run in a few words."""
    run, what = run_of(session), session.inside.what_if
    names, out, settings = run.class_prompts.names, what.exclusions, what.settings or run.settings
    texts = [
        f"{label_of(n)} {value_of(n, settings)} instead of {value_of(n, run.settings)}"
        for n in settings.differs_from(run.settings)
    ]
    if out.views:
        crops = ", ".join(str(n) for n in sorted(out.views) if n)
        parts = ["the whole picture"] * (0 in out.views) + ([f"crop{'s' * (',' in crops)} {crops}"] if crops else [])
        texts.append(f"without {' and '.join(parts)}")
    texts += [f"without “{run.class_prompts.prompts[k][m]}”" for k, m in sorted(out.prompts)]
    texts += [f"without stored view {slot} of {names[k]}" for k, slot in sorted(out.cache_items)]
    return texts if what.label is None else [*texts, f"the true class is {names[what.label]}"]


def build_what_if(panels: PanelRegistry) -> Parts:
    """What the drawer has of a what-if; returns what has events by name."""
    panels.add(gr.HTML(elem_id="whatif-differs"), changes_from_preset_html, "inside")
    parts: Parts = {"undo": gr.Button("Undo all", size="sm", elem_id="whatif-undo")}
    with gr.Column(elem_id="whatif-settings"):
        preset = gr.Radio(PRESET_TITLES, label="All as", elem_id="whatif-preset")
        parts["preset"] = panels.add(preset, _preset, "inside")
        parts["settings"] = {name: build_setting(panels, name) for name in ADJUSTABLE}
        parts["steps"] = build_setting(panels, "tuning_steps")
        info = "What counts as right; it changes no cost."
        truth = build_menu([], label="True class", allow_custom_value=True, info=info, elem_id="whatif-truth")
    gr.HTML(
        "<h3>Leave out</h3><p class='note'>A sentence is chosen in the plan, a stored view in “The memory of this class”.</p>"
    )
    parts |= {kind: build_leave_out(panels, kind) for kind in ("prompt", "item")}
    return parts | {"truth": panels.add(truth, _truth, "inside")}


def draw_back(session: Session) -> PanelValue:
    """The button that goes back to the run, and again to the what-if that was left; hidden where there is none."""
    at_run, left = session.inside.what_if.run is None, session.inside.undone.run is not None
    name = "Show the what-if again" if at_run and left else "Back to the run"
    return gr.update(value=name, visible=left or not at_run)


def build_leave_out(panels: PanelRegistry, kind: str) -> gr.Button:
    """Leaves the selected one of ``EXCLUDABLE`` out, or puts it back; disabled while none is selected."""
    field, name, _ = EXCLUDABLE[kind]

    def draw(session: Session) -> PanelValue:
        chosen = _chosen(session, kind)
        if chosen is None:
            return gr.update(value=f"Leave out the chosen {name}", interactive=False)
        key, number = chosen
        excluded = key in getattr(session.inside.what_if.exclusions, field)
        which = f"{name} {number}" if kind != "view" or number else "the whole picture"
        return gr.update(value=f"{'Put back' if excluded else 'Leave out'} {which}", interactive=True)

    button = gr.Button(f"Leave out the chosen {name}", size="sm", elem_id=f"whatif-{kind}")
    return panels.add(button, draw, "view", "class", "memory", "inside")


def build_setting(panels: PanelRegistry, name: str) -> Component:
    """The setting's own control; for a logarithmic one a slider over powers of ten. It is not drawn again where it was
    moved: the visitor may already be moving the next one."""
    setting, common = SETTINGS[name], dict[str, Any](elem_id=f"whatif-{name}", min_width=220)

    def draw(session: Session) -> PanelValue:
        if session.run is None:
            return gr.update()
        value = getattr(settings_of(session), name)
        return gr.update(value=math.log10(value) if setting.log else value)

    if not setting.log:
        return panels.add(build_control(setting, **common), draw, "what_if_settings")
    low, high, value = (math.log10(float(v or 1)) for v in (setting.low, setting.high, setting.default))
    title, info = f"{setting.label} {setting.symbol}, as a power of ten", f"{setting.help} −2 is 0.01."
    control = gr.Slider(low, high, value=value, step=0.05, info=info, label=title, **common)
    return panels.add(control, draw, "what_if_settings")


def from_control(name: str, value: JsonValue) -> JsonValue:
    """The setting that a control's value stands for. Raises SettingError: it is not allowed."""
    setting = SETTINGS[name]
    if setting.log and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 300:
        value = float(f"{10**value:.4g}")
    return setting.parse(value)


def _preset(session: Session) -> PanelValue:
    """The preset that the displayed settings are, if they are one."""
    if session.run is None:
        return gr.update()
    now = settings_of(session)
    return gr.update(value=next((name for _, name in PRESET_TITLES if with_preset(session, name) == now), None))


def _truth(session: Session) -> PanelValue:
    run = session.displayed_run
    if run is None:
        return gr.update()
    return gr.update(choices=list(run.class_prompts.names), value=run.class_prompts.names[run.label])
