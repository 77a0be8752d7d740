"""The room *Inside*: one decision of RITA as one linked view. The crops stand where they fit; below them what each class costs,
and the plan of the chosen one in the same order; beside them what is chosen.

It shares its selection with every other room. It is drawn only while it is in sight, and a fold only while it is open.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from rita_demo import figures
from rita_demo.figures.figure import Figure
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import ENGINE_QUEUE, AppContext, immediate_event
from rita_demo.ui.framework.panels import PanelRegistry, Parts, Updates
from rita_demo.ui.framework.room_layout import build_drawer, build_room
from rita_demo.ui.framework.selection import bind_selection
from rita_demo.ui.inside import details, what_if
from rita_demo.ui.inside.crop_columns import CropColumns, columns_html, fit_of, shown_view
from rita_demo.ui.inside.folds import EMPTY_TEXT, build_folds
from rita_demo.ui.inside.headline import effect, headline, notes
from rita_demo.ui.inside.method_settings import build_method_settings
from rita_demo.ui.run_panels import build_step_slider, class_choices, clean_picture, run_pills, summary_bar
from rita_demo.ui.session.session import SIDES, Session, WhatIf
from rita_demo.ui.widgets.blocks import build_menu
from rita_demo.ui.widgets.data_uri import sprite_value
from rita_demo.ui.widgets.html_buttons import HtmlButtons, is_of
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.ui.widgets.wording import term_html

MAX_CLASSES = 6  # rows of costs


class InsideTab:
    """The room. Build it inside ``gr.Tab``; ``parts`` holds its components by name. ``of_form``: the settings that the form has."""

    room = "inside"

    def __init__(self, context: AppContext, of_form: Collection[str]) -> None:
        self.context, panels = context, context.panels
        layout = build_room(panels, self.room, headline, "inside", "step")
        with layout.pills:
            panels.add(HtmlButtons(elem_id="inside-run-pills"), run_pills, "run")
            with build_drawer(self.room):
                self.parts: Parts = what_if.build_what_if(panels)
                build_method_settings(context, of_form)
        with layout.figure:
            panels.add(gr.HTML(elem_id="in-note", elem_classes="note"), notes, "inside")
            with gr.Row(elem_id="in-strip"):
                panels.add(gr.HTML(elem_id="in-clean"), clean_picture)
                with gr.Column(elem_id="in-steps", min_width=200):
                    self.step_slider = build_step_slider(panels, "in-scrubber", "inside")
                panels.add(gr.HTML(elem_id="inside-strip"), summary_bar, "inside", "step")
            self.parts |= _build_figure(panels)
        with layout.details:
            panels.add(gr.HTML(elem_id="in-crop"), details.crop_details, "view", "class", "inside", "crops", first=True)
            with gr.Row(elem_id="in-buttons"):
                self.parts["view"] = what_if.build_leave_out(panels, "view")
                back = gr.Button("Back to the run", size="sm", elem_id="whatif-back", visible=False)
                self.parts["back"] = panels.add(back, what_if.draw_back, "inside")
            panels.add(gr.HTML(elem_id="in-effect"), effect, "inside")
            panels.add(gr.HTML(elem_id="in-cell"), details.class_details, "view", "class", "inside", first=True)
        with layout.folds:
            self.folds, parts = build_folds(panels)
        self.parts |= parts
        panels.prepare(self.room, self.prepare)

    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        p, visitor, banner = self.parts, self.context.visitor, self.context.error_banner
        bind_selection(self.context, self.room, {"step": self.step_slider, "k": p["class_menu"]})
        bind = partial(self.context.bind_quick, self.room)
        for name, control in p["settings"].items():
            bind(control.input, self.on_setting(name), [visitor, control], "inside")
        for kind in what_if.EXCLUDABLE:
            bind(p[kind].click, self.on_toggle(kind), [visitor], "inside")
        bind(p["truth"].input, self.on_truth, [visitor, p["truth"]], "inside")
        bind(p["back"].click, self.on_back, [visitor], "inside", "what_if_settings")
        bind(p["undo"].click, self.on_undo, [visitor], "inside", "what_if_settings")
        self.context.bind_room(own_tab)
        safe, shown = notice.handle_errors(banner), [part for fold in self.folds for part in dict.fromkeys(fold.shown)]
        for kind, handler, outputs in (("expand", self.on_expand, shown), ("collapse", self.on_collapse, [])):
            events = [getattr(fold.accordion, kind) for fold in self.folds]
            gr.on(events, safe(handler), visitor, [banner, *outputs], **immediate_event(handler))
        # To encode sentences again takes seconds: one at a time, through the engine's queue. The room then draws itself.
        busy: dict[str, Any] = {"show_progress": "minimal", "show_progress_on": p["steps"]}
        queued = ENGINE_QUEUE | busy | {"trigger_mode": "always_last", "api_visibility": "private"}
        for part, on_input in (("steps", self.on_steps), ("preset", self.on_preset)):
            p[part].input(safe(on_input), [visitor, p[part]], self.context.outputs(), **queued)

    def prepare(self, session: Session) -> None:
        """Cut the views of both pictures for the screen, and repeat a what-if for the selected attack step."""
        self.context.crop_views(session, *SIDES)
        what_if.follow_selection(self.context.engine_of(session), session)

    def on_expand(self, visitor: str, event: gr.EventData) -> Updates:
        """A fold was opened: it is drawn."""
        session = self.context.sessions.get(visitor)
        used = [fold for fold in self.folds if is_of(event, fold.accordion)]
        session.inside.open_folds |= {fold.name for fold in used}
        return self.context.panels.draw_only(session, [part for fold in used for part in fold.shown])

    def on_collapse(self, visitor: str, event: gr.EventData) -> Updates:
        inside = self.context.sessions.get(visitor).inside
        inside.open_folds -= {fold.name for fold in self.folds if is_of(event, fold.accordion)}
        return {}

    # --- what if
    def _change(self, visitor: str, changes: Callable[[Session], dict[str, Any]]) -> Session:
        """Decide again with these changes, the arguments of :func:`what_if.change`."""
        session = self.context.sessions.get(visitor)
        with session.lock:  # nothing else may change the session meanwhile
            what_if.change(self.context.engine_of(session), session, **changes(session))
        return session

    def _drawn(self, session: Session, *more: str) -> Updates:
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "inside", *more)}

    def on_toggle(self, kind: str) -> Callable[[str], Updates]:
        """The event that leaves the selected one of a kind out, or puts it back."""

        def toggled(session: Session) -> dict[str, Any]:
            return {"exclusions": what_if.toggled(session, kind)}

        return lambda visitor: self._drawn(self._change(visitor, toggled))

    def _with_setting(self, visitor: str, name: str, value: JsonValue) -> Session:
        """Decide again with a control's value."""

        def changes(session: Session) -> dict[str, Any]:
            return {"settings": what_if.settings_of(session).replace(**{name: what_if.from_control(name, value)})}

        return self._change(visitor, changes)

    def on_setting(self, name: str) -> Callable[[str, JsonValue], Updates]:
        """The event of a changed setting."""
        return lambda visitor, value: self._drawn(self._with_setting(visitor, name, value))

    def on_steps(self, visitor: str, value: JsonValue) -> Updates:
        """Another number of tuning steps, which takes a second or two."""
        return self.context.changed(self._with_setting(visitor, "tuning_steps", value), "inside")

    def on_preset(self, visitor: str, name: JsonValue) -> Updates:
        """The settings of a preset, the number of tuning steps among them."""
        session = self._change(visitor, lambda session: {"settings": what_if.with_preset(session, name)})
        return self.context.changed(session, "inside", "what_if_settings")

    def on_truth(self, visitor: str, name: JsonValue) -> Updates:
        """Another class counts as right."""
        run = self.context.sessions.get(visitor).run
        if run is None or name not in run.class_prompts.names:
            return {}
        label = run.class_prompts.names.index(name)
        return self._drawn(self._change(visitor, lambda _: {"label": label}))

    def on_back(self, visitor: str) -> Updates:
        """Back to the run; pressed there, to the what-if that was left."""
        session = self.context.sessions.get(visitor)
        with session.lock:
            inside, left = session.inside, session.inside.what_if
            inside.what_if, inside.undone = (inside.undone if left.run is None else WhatIf()), left
            what_if.follow_selection(self.context.engine_of(session), session)
        return self._drawn(session, "what_if_settings")

    def on_undo(self, visitor: str) -> Updates:
        """Back to the run."""
        here = self.context.sessions.get(visitor).inside.what_if.run is not None
        return self.on_back(visitor) if here else {}


def _build_figure(panels: PanelRegistry) -> Parts:
    """The crops as a histogram, and below it the costs of the classes and the plan of the chosen one."""
    columns = CropColumns("", view=-1, elem_id="in-views")
    panels.add(gr.HTML(elem_classes="sheet"), lambda s: sprite_value(s.crops_of("attacked"), "in-views"), "crops")
    panels.add(columns, lambda s: gr.update(value=columns_html(s)), "inside", first=True)
    # Gradio does not tell the browser that a property became None
    panels.add(columns, lambda s: gr.update(view=-1 if s.run is None else shown_view(s)), "view", first=True)
    with gr.Row(elem_id="in-figures"):
        with gr.Column(scale=40, min_width=280):
            title, sides = term_html("transport cost", "Cost of each class"), ("○ clean", "● attacked")
            marks = " ".join(f"<span class='of {side[2:]}'>{side}</span>" for side in sides)
            gr.HTML(f"<h3>{title} {marks}</h3>")
            aria = "Cost of every class, clean and attacked"
            costs = PlotlyView(height=182, aria=aria, empty=EMPTY_TEXT, elem_id="in-costs")
            panels.add(costs, _costs, "class", "inside", first=True)
        with gr.Column(scale=60, min_width=280):
            with gr.Row(elem_id="in-plan-of"):
                gr.HTML(f"<h3>{term_html('transport plan', 'Plan of')}</h3>")
                narrow: dict[str, Any] = {"min_width": 120, "container": False, "elem_id": "in-class"}
                menu = build_menu([], label="Chosen class", allow_custom_value=True, **narrow)
                gr.HTML("<h3>crops onto sentences</h3>")
            panels.add(menu, class_choices, "class", "inside")
            plan = PlotlyView(height=158, aria="Plan of the chosen class", empty=EMPTY_TEXT, elem_id="in-plan")
            panels.add(plan, _plan, "class", "view", "inside", first=True)
    return {"columns": columns, "costs": costs, "plan": plan, "class_menu": menu}


def _costs(session: Session) -> Figure | None:
    run, at = session.displayed_run, session.selection
    along = () if session.inside.what_if.run else session.attacked_by_step
    return None if run is None else figures.class_costs(run, at.k, along=along, most=MAX_CLASSES)


def _plan(session: Session) -> Figure | None:
    run, at = session.displayed_run, session.selection
    if run is None or at.k is None:
        return None
    fit, names = fit_of(session, run), run.class_prompts.names
    order, ends = np.argsort(fit.margins, kind="stable"), (names[fit.rival], names[fit.reference])
    return figures.plan_matrix(run, at.k, shown_view(session), at.atom, order=order, ends=ends)
