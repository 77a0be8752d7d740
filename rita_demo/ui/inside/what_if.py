"""What if: decide again with another setting or true class, or without a view, a prompt or a cached view.

The run itself is never changed. A visitor's :class:`WhatIf` is kept beside it and is shown in *Inside RITA* only,
with a banner that says what differs and a button that goes back.
"""

import math
from dataclasses import replace
from html import escape
from typing import Any

import gradio as gr

from rita_demo.pipeline import rerun
from rita_demo.plots.labels import sides_of
from rita_demo.records import Exclusions, Run
from rita_demo.records.errors import SettingError
from rita_demo.settings import PRESETS, SETTINGS, Settings
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.inside import cache_used
from rita_demo.ui.session.session import Session, WhatIf
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.setting_controls import build_control, changes_from_preset, label_html, value_html

#: The settings that can be changed here: for all of them the features are enough.
ADJUSTABLE = (
    "step_back",
    "entropy_weight",
    "transported_mass",
    "objective",
    "cache_weight",
    "empty_class",
    "order",
    "max_entropy",
    "slots",
)
NO_PICTURE = SettingError("There is no picture yet.", "Run one on the first tab.")


def settings_of(session: Session) -> Settings:
    """The settings of the displayed run; SettingError when there is none."""
    if session.run is None:
        raise NO_PICTURE
    return session.inside.what_if.settings or session.run.settings


def change(engine: Any, session: Session, **changes: Any) -> None:
    """Decide again with ``settings``, ``exclusions`` or ``label`` changed; an error leaves everything as it was.

    Raises:
        SettingError: when there is no picture, or nothing would be left to decide from.
    """
    with session.lock:
        run = session.run_at_step
        if run is None:
            raise NO_PICTURE
        wanted = replace(session.inside.what_if, **changes)
        settings = wanted.settings or run.settings
        label = None if wanted.label in (None, run.label) else wanted.label
        if settings == run.settings and wanted.exclusions == Exclusions() and label is None:
            session.inside.what_if = WhatIf()
            return
        now = session.inside.what_if.run  # it may hold the prompt update that these settings need
        if now is not None and _of_same_attack_step(now, run) and rerun.same_prompt_update(now.settings, settings):
            run = replace(now, label=run.label, label_given=run.label_given)
        result = rerun.rescore(engine, run, settings, wanted.exclusions, label)
        session.inside.what_if = WhatIf(settings, wanted.exclusions, label, result)


def follow_selection(engine: Any, session: Session) -> None:
    """Repeat the what-if for the selected attack step and budget."""
    with session.lock:
        result, now = session.inside.what_if.run, session.run_at_step
        if result is not None and now is not None and not _of_same_attack_step(result, now):
            change(engine, session)


def _of_same_attack_step(what_if_run: Run, displayed: Run) -> bool:
    return what_if_run.step == displayed.step and what_if_run.attack is displayed.attack


def toggle_view(engine: Any, session: Session) -> None:
    """Leave the selected view out, or put it back."""
    view, out = session.selection.view, session.inside.what_if.exclusions
    if session.run is None or view is None:
        raise SettingError("No view is chosen.", "Choose one of the crops first.")
    change(engine, session, exclusions=replace(out, views=out.views ^ {view}))


def toggle_prompt(engine: Any, session: Session) -> None:
    """Leave the selected prompt of the selected class out, or put it back."""
    at, out = session.selection, session.inside.what_if.exclusions
    if session.run is None or at.k is None or at.atom is None:
        raise SettingError("No prompt is chosen.", "Choose a cell of the plan first.")
    change(engine, session, exclusions=replace(out, prompts=out.prompts ^ {(at.k, at.atom)}))


def toggle_cache_item(engine: Any, session: Session) -> None:
    """Take the selected view out of the cache, or put it back."""
    place, out = cache_used.selected_slot(session), session.inside.what_if.exclusions
    if place is None:
        raise SettingError(
            "No stored view is chosen, or this picture was not decided from it.",
            "Choose one under “What the memory held of the chosen class”.",
        )
    change(engine, session, exclusions=replace(out, cache_items=out.cache_items ^ {place}))


def banner(session: Session) -> str:
    """HTML: what differs from the run and from the preset, and what that does to RITA's answer."""
    run, now = session.run_at_step, session.inside.what_if.run
    if run is None:
        return ""
    if now is None:
        return (
            "<div class='whatif'><p>This is the run as it was made. Change a setting, or leave something out: the "
            "decision follows at once."
            f"</p>{changes_from_preset_html(run.settings)}</div>"
        )
    return (
        f"<div class='whatif changed' role='status'><p><b>What if:</b> {'; '.join(differing(session))}. "
        f"</p><p>{effect(run, now)}</p>{changes_from_preset_html(now.settings)}</div>"
    )


def changes_from_preset_html(settings: Settings) -> str:
    """HTML: every setting of the defence that differs from the nearest preset, its value there and now."""
    name, changed = changes_from_preset(settings)
    if not changed:
        return f"<p class='quiet small'>Every setting of the defence is as in “{name}”.</p>"
    each = "; ".join(
        f"{label_html(n)}: {value_html(n, PRESETS[name])} → now {value_html(n, settings)}" for n in changed
    )
    return f"<p class='quiet small'>Other than in “{name}”: {each}.</p>"


def differing(session: Session) -> list[str]:
    """HTML: each difference from the run in a few words."""
    run, what = session.run, session.inside.what_if
    assert run is not None
    found = []
    settings = what.settings or run.settings
    for name in settings.differs_from(run.settings):
        found.append(f"{label_html(name)} {value_html(name, settings)} instead of {value_html(name, run.settings)}")
    if what.exclusions.views:
        found.append(f"without view {', '.join(str(n) for n in sorted(what.exclusions.views))}")
    for k, m in sorted(what.exclusions.prompts):
        found.append(f"without the prompt “{escape(run.class_prompts.prompts[k][m])}”")
    for k, slot in sorted(what.exclusions.cache_items):
        found.append(f"without slot {slot} of the memory of {escape(run.class_prompts.names[k])}")
    if what.label is not None:
        found.append(f"the true class is {escape(run.class_prompts.names[what.label])}")
    return found


def effect(before: Run, after: Run) -> str:
    """HTML: RITA's answer and margin before and after, on both pictures."""
    parts = []
    for side in sides_of(before):
        old, new = (getattr(s, side).verdicts["rita"] for s in (before, after))
        one, two = (escape(before.class_prompts.names[v.label]) for v in (old, new))
        answer = f"still <b>{two}</b>" if one == two else f"{one} → <b>{two}</b>"
        parts.append(f"{side}: {answer}, margin {old.margin:.4f} → {new.margin:.4f}")
    return f"RITA, {'; '.join(parts)} ({wording.term_html('margin')} in cosine distance)."


def build_what_if(panels: PanelRegistry) -> dict[str, Any]:
    """The banner, the buttons and the controls; returns those with events by name."""
    panels.add(gr.HTML(elem_id="whatif-banner"), banner, "inside", immediate=True)
    with gr.Row(elem_id="whatif-buttons"):
        back = gr.Button("Back to the run", size="sm", elem_id="whatif-back")
        view = gr.Button("Leave out the chosen view", size="sm", elem_id="whatif-view")
        prompt = gr.Button("Leave out the chosen prompt", size="sm", elem_id="whatif-prompt")
        item = gr.Button("Leave out the stored view", size="sm", elem_id="whatif-item")
    panels.add(back, lambda s: gr.update(interactive=s.inside.what_if.run is not None), "inside")
    panels.add(view, _view_button, "view", "inside")
    panels.add(prompt, _prompt_button, "view", "class", "inside")
    panels.add(item, _item_button, "memory", "class", "inside")
    fold = gr.Accordion("Change a setting", open=False, elem_classes="fold", elem_id="whatif-fold")
    with fold, gr.Row(elem_id="whatif-settings"):
        controls = {name: _build_control(name) for name in ADJUSTABLE}
        truth = gr.Dropdown(
            [],
            label="True class",
            allow_custom_value=True,
            elem_id="whatif-truth",
            info="What counts as right; it changes no cost.",
            min_width=220,
        )
    for name, control in controls.items():
        panels.add(control, _setting_value(name), "inside")
    panels.add(truth, _truth, "inside")
    return {"back": back, "view": view, "prompt": prompt, "item": item, "settings": controls, "truth": truth}


def _build_control(name: str) -> Any:
    """The setting's own control; for a logarithmic one a slider over powers of ten."""
    setting = SETTINGS[name]
    common: dict[str, Any] = {"elem_id": f"whatif-{name}", "min_width": 220}
    if not setting.log:
        return build_control(setting, **common)
    low, high = (math.log10(float(v or 1)) for v in (setting.low, setting.high))
    return gr.Slider(
        low,
        high,
        value=math.log10(setting.default),
        step=0.05,
        info=f"{setting.help} −2 is 0.01.",
        label=f"{setting.label} {setting.symbol}, as a power of ten",
        **common,
    )


def from_control(name: str, value: Any) -> Any:
    """The setting that a control's value stands for.

    Raises:
        SettingError: when it is not allowed.
    """
    setting = SETTINGS[name]
    if setting.log and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 300:
        value = float(f"{10**value:.4g}")
    return setting.parse(value)


def _setting_value(name: str) -> Any:
    def draw(session: Session) -> Any:
        if session.run is None:
            return gr.update()
        value = getattr(settings_of(session), name)
        return gr.update(value=math.log10(value) if SETTINGS[name].log else value)

    return draw


def _truth(session: Session) -> Any:
    run = session.displayed_run
    if run is None:
        return gr.update()
    return gr.update(choices=list(run.class_prompts.names), value=run.class_prompts.names[run.label])


def _leave_out_button(name: str | None, excluded: bool, nothing: str) -> Any:
    """A button that leaves ``name`` out or puts it back; without a name it is disabled and says ``nothing``."""
    if name is None:
        return gr.update(value=f"Leave out {nothing}", interactive=False)
    return gr.update(value=f"Put {name} back" if excluded else f"Leave out {name}", interactive=True)


def _view_button(session: Session) -> Any:
    view = session.selection.view
    name = None if view is None else f"view {view}"
    return _leave_out_button(name, view in session.inside.what_if.exclusions.views, "the chosen view")


def _prompt_button(session: Session) -> Any:
    at = session.selection
    name = None if at.k is None or at.atom is None else f"prompt {at.atom + 1}"
    return _leave_out_button(name, (at.k, at.atom) in session.inside.what_if.exclusions.prompts, "the chosen prompt")


def _item_button(session: Session) -> Any:
    item = cache_used.selected_slot(session)
    name = None if item is None else f"stored view {item[1]}"
    return _leave_out_button(name, item in session.inside.what_if.exclusions.cache_items, "the stored view")
