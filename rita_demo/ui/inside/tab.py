"""The room *Inside*: everything one decision was made from, for the clean and the attacked picture.

It shares its selection with every other room. Its figures are drawn only while it is in sight.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import gradio as gr

from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import ENGINE_QUEUE, AppContext, immediate_event
from rita_demo.ui.framework.panels import Parts, Updates
from rita_demo.ui.framework.selection import bind_selection
from rita_demo.ui.inside import what_if
from rita_demo.ui.inside.layout import build_section
from rita_demo.ui.inside.method_settings import build_method_settings
from rita_demo.ui.inside.run_panels import build_answers, build_head, build_rest
from rita_demo.ui.inside.sections import SECTIONS
from rita_demo.ui.panels import run_summary_bar
from rita_demo.ui.panels.attack_sliders import build_step_slider
from rita_demo.ui.session.session import SIDES, Session, WhatIf
from rita_demo.ui.widgets.html_buttons import is_of


class InsideTab:
    """The room. Build it inside ``gr.Tab``; ``parts`` holds its components by name. ``of_form``: the settings that the form has."""

    room = "inside"

    def __init__(self, context: AppContext, of_form: Collection[str]) -> None:
        self.context, panels = context, context.panels
        build_head(panels)
        panels.add(gr.HTML(elem_id="inside-says"), run_summary_bar.says, "inside", "step")
        panels.add(gr.HTML(elem_id="inside-strip"), run_summary_bar.summary_bar, "inside")
        self.step_slider = build_step_slider(panels, "in-scrubber", "inside")
        self.parts: Parts = build_answers(panels) | what_if.build_what_if(panels)
        for section in SECTIONS:
            self.parts |= build_section(context, section)
        self.parts |= build_rest(panels)
        build_method_settings(context, of_form)
        panels.prepare(self.room, self.prepare)

    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        p, visitor = self.parts, self.context.visitor
        controls = {"step": self.step_slider, "side": p["side"], "k": p["class_menu"], "atom": p["prompt_menu"]}
        bind_selection(self.context, self.room, controls)
        self._bind_what_if()
        self.context.bind_room(own_tab)
        banner, safe = self.context.error_banner, notice.handle_errors(self.context.error_banner)
        folds = [section for section in SECTIONS if section.fold]
        figures = [p[name] for section in folds for name in section.components]
        for kind, handler, outputs in (("expand", self.on_expand, figures), ("collapse", self.on_collapse, [])):
            events = [getattr(p[section.fold], kind) for section in folds]
            gr.on(events, safe(handler), visitor, [banner, *outputs], **immediate_event(handler))
        # To encode sentences again takes seconds: one at a time, through the engine's queue. The room then draws itself.
        shown: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": p["steps"]}
        queued = ENGINE_QUEUE | shown | {"trigger_mode": "always_last", "api_visibility": "private"}
        p["steps"].input(safe(self.on_steps), [visitor, p["steps"]], self.context.outputs(), **queued)

    def _bind_what_if(self) -> None:
        p, visitor, bind = self.parts, self.context.visitor, partial(self.context.bind_quick, self.room)
        for name, control in p["settings"].items():
            bind(control.input, self.on_setting(name), [visitor, control], "inside")
        for kind in what_if.EXCLUDABLE:
            bind(p[kind].click, self.on_toggle(kind), [visitor], "inside")
        bind(p["truth"].input, self.on_truth, [visitor, p["truth"]], "inside")
        bind(p["back"].click, self.on_back, [visitor], "inside", "what_if_settings")

    def prepare(self, session: Session) -> None:
        """Cut the views of both pictures for the screen, and repeat a what-if for the selected attack step."""
        self.context.crop_views(session, *SIDES)
        what_if.follow_selection(self.context.engine_of(session), session)

    def on_expand(self, visitor: str, event: gr.EventData) -> Updates:
        """A fold was opened: its figures are drawn."""
        session = self.context.sessions.get(visitor)
        used = [one for one in SECTIONS if one.fold and is_of(event, self.parts[one.fold])]
        session.inside.open_folds |= {one.fold for one in used}
        return self.context.panels.draw_only(session, [self.parts[name] for one in used for name in one.components])

    def on_collapse(self, visitor: str, event: gr.EventData) -> Updates:
        inside = self.context.sessions.get(visitor).inside
        inside.open_folds -= {one.fold for one in SECTIONS if one.fold and is_of(event, self.parts[one.fold])}
        return {}

    # --- what if
    def _decide_again(self, visitor: str, changes: Callable[[Session], dict[str, Any]]) -> Updates:
        """Decide again with these changes, the arguments of :func:`what_if.change`."""
        self._change(visitor, changes)
        return self.on_changed(visitor)

    def _change(self, visitor: str, changes: Callable[[Session], dict[str, Any]]) -> None:
        session = self.context.sessions.get(visitor)
        with session.lock:  # nothing else may change the session meanwhile
            what_if.change(self.context.engine_of(session), session, **changes(session))

    def on_changed(self, visitor: str, *more: str) -> Updates:
        """Draw the what-if."""
        session = self.context.sessions.get(visitor)
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "inside", *more)}

    def on_toggle(self, kind: str) -> Callable[[str], Updates]:
        """The event that leaves the selected one of a kind out, or puts it back."""
        return lambda visitor: self._decide_again(visitor, lambda s: {"exclusions": what_if.toggled(s, kind)})

    def on_setting(self, name: str) -> Callable[[str, JsonValue], Updates]:
        """The event of a changed setting."""
        return lambda visitor, value: self._decide_again(visitor, _with_setting(name, value))

    def on_steps(self, visitor: str, value: JsonValue) -> Updates:
        """Another number of tuning steps, which takes a second or two."""
        self._change(visitor, _with_setting("tuning_steps", value))
        return self.context.changed(self.context.sessions.get(visitor), "inside")

    def on_truth(self, visitor: str, name: JsonValue) -> Updates:
        """Another class counts as right."""
        run = self.context.sessions.get(visitor).run
        if run is None or name not in run.class_prompts.names:
            return {}
        return self._decide_again(visitor, lambda _: {"label": run.class_prompts.names.index(name)})

    def on_back(self, visitor: str) -> Updates:
        """Back to the run; pressed there, to the what-if that was left."""
        session = self.context.sessions.get(visitor)
        with session.lock:
            inside, left = session.inside, session.inside.what_if
            inside.what_if, inside.undone = (inside.undone if left.run is None else WhatIf()), left
            what_if.follow_selection(self.context.engine_of(session), session)
        return self.on_changed(visitor, "what_if_settings")


def _with_setting(name: str, value: JsonValue) -> Callable[[Session], dict[str, Any]]:
    """The arguments of :func:`what_if.change` for a control's value."""
    return lambda session: {
        "settings": what_if.settings_of(session).replace(**{name: what_if.from_control(name, value)})
    }
