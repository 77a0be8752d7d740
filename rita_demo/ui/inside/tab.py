"""The room *Inside*: everything one decision was made from, for the clean and the attacked picture.

It shares its selection with every other room. Its figures are drawn only while it is in sight.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import gradio as gr

from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records.errors import DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import ENGINE_QUEUE, IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Parts, Updates
from rita_demo.ui.framework.selection_events import STEP_TOPICS, SelectionEvents
from rita_demo.ui.inside import cache_used, what_if
from rita_demo.ui.inside.layout import Section, build_section
from rita_demo.ui.inside.run_panels import build_answers, build_head, build_rest
from rita_demo.ui.inside.sections import SECTIONS, prompt_names
from rita_demo.ui.panels import run_summary_bar
from rita_demo.ui.panels.attack_sliders import build_step_slider
from rita_demo.ui.session.session import SIDES, Session, WhatIf
from rita_demo.ui.widgets.plotly_view import clicked_integer, event_data


class InsideTab(SelectionEvents):
    """The room. Build it inside ``gr.Tab``; ``parts`` holds its components by name."""

    room = "inside"

    def __init__(self, context: AppContext) -> None:
        self.context, panels = context, context.panels
        build_head(panels)
        panels.add(gr.HTML(elem_id="inside-says"), run_summary_bar.says, "inside", "step")
        panels.add(gr.HTML(elem_id="inside-strip"), run_summary_bar.summary_bar, "inside")
        self.step_slider = build_step_slider(panels, "in-scrubber", "inside")
        self.parts: Parts = build_answers(panels) | what_if.build_what_if(panels)
        for section in SECTIONS:
            self.parts |= build_section(context, section)
        self.parts |= build_rest(panels)
        panels.prepare(self.room, self.prepare)

    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        p, visitor, bind = self.parts, self.context.visitor, partial(self.context.bind_quick, self.room)
        step = self.step_slider
        bind(step.input, self.pick_step, [visitor, step], *STEP_TOPICS, active=[step])
        bind(p["field"].release, self.on_field_step, [visitor], *STEP_TOPICS)
        bind(p["steps_figure"].click, self.on_step, [visitor], *STEP_TOPICS)
        bind(p["side"].input, self.pick_side, [visitor, p["side"]], "side")
        clicks: dict[str, list[Any]] = {"on_view": [p["field"].click], "on_item": [p["items"].click]}
        for row in (figure for section in SECTIONS for figure in section.figures if figure.on_click):
            clicks.setdefault(row.on_click, []).extend(p[name].click for name in row.components)
        for name, events in clicks.items():
            bind(partial(gr.on, events), getattr(self, name), [visitor], "class", "view", "memory")
        for menu, handler in (("class_menu", self.pick_class), ("prompt_menu", self.pick_prompt)):
            bind(p[menu].input, handler, [visitor, p[menu]], "class", "view")
        for side in SIDES:
            grid = p[f"grid_{side}"]
            bind(grid.click, self.on_view, [visitor], "class", "view", active=[grid])
        self._bind_what_if()
        self.context.bind_room(own_tab)
        banner, safe = self.context.error_banner, notice.handle_errors(self.context.error_banner)
        for section in filter(lambda section: section.fold, SECTIONS):
            outputs = [banner, *(p[name] for name in section.components)]
            for event, is_open in ((p[section.fold].expand, True), (p[section.fold].collapse, False)):
                event(safe(self.on_fold(section, is_open)), visitor, outputs, **IMMEDIATE_EVENT)
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

    # --- selecting
    def on_field_step(self, visitor: str, event: gr.EventData) -> Updates:
        """The crop field's control was moved, or the attack was played to its end."""
        return self.pick_step(visitor, event_data(event).get("step"))

    def on_step(self, visitor: str, event: gr.EventData) -> Updates:
        _, run = self._session_and_run(visitor)
        return self.pick_step(visitor, None if run is None else clicked_integer(event, last_step(run) + 1))

    def pick_side(self, visitor: str, side: JsonValue) -> Updates:
        session, run = self._session_and_run(visitor)
        return {} if run is None or side not in SIDES else self._select(session, "side", side=side)

    def on_mass(self, visitor: str, event: gr.EventData) -> Updates:
        """A cell of views times classes was clicked: both are chosen."""
        session, n = self._clicked_view(visitor, event)
        if n is None or session.run is None:
            return {}
        k = clicked_integer(event, len(session.run.class_prompts.names), 1)
        return {} if k is None else self._select(session, "view", "class", view=n, k=k, atom=None)

    def on_prompt(self, visitor: str, event: gr.EventData) -> Updates:
        """A prompt's bar was clicked."""
        session, run = self._session_and_run(visitor)
        k = session.selection.k
        m = clicked_integer(event, 0 if run is None or k is None else len(run.class_prompts.prompts[k]))
        return {} if m is None else self._select(session, "view", atom=m)

    def pick_prompt(self, visitor: str, name: JsonValue) -> Updates:
        """A prompt was chosen from the list, or none."""
        session, run = self._session_and_run(visitor)
        k = session.selection.k
        names = [] if run is None or k is None else prompt_names(run, k)
        if name not in names:
            return {}
        return self._select(session, "view", atom=names.index(name) - 1 if name != names[0] else None)

    def on_all_views(self, visitor: str, event: gr.EventData) -> Updates:
        """A cell of views times all classes was clicked: both are chosen."""
        session, run = self._session_and_run(visitor)
        N = len(run.attacked.encoded_views.features) if run else 0
        code = clicked_integer(event, N * len(run.class_prompts.names) if run else 0)
        if code is None:
            return {}
        return self._select(session, "view", "class", view=code % N, k=code // N, atom=None)

    def on_item(self, visitor: str, event: gr.EventData) -> Updates:
        """A cached view was chosen: *Memory* goes to the latest moment that held it."""
        session = self.context.sessions.get(visitor)
        place = cache_used.clicked_slot(event, session)
        if place is None:
            return {}
        found = cache_used.find_in_history(session, place)
        if found is None:
            raise DemoError("This view is no longer in the memory's history.", "Choose another.")
        item, moment = found
        last = moment == len(session.history.moments) - 1
        changes = {"item": item, "moment": None if last else moment, "k": place[0]}
        return self._select(session, "memory", "class", **changes)

    def on_fold(self, section: Section, is_open: bool) -> Callable[[str], Updates]:
        """A fold was opened or closed."""

        def handler(visitor: str) -> Updates:
            session = self.context.sessions.get(visitor)
            inside = session.inside
            inside.open_folds = inside.open_folds | {section.fold} if is_open else inside.open_folds - {section.fold}
            figures = [self.parts[name] for name in section.components]
            return self.context.panels.draw_only(session, figures) if is_open else {}

        return handler

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
        _, run = self._session_and_run(visitor)
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
