"""The tab *Inside RITA*: everything one decision was made from, for the clean and the attacked picture.

It shares its selection with every other tab. Its figures are drawn only while it is visible.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.selection_events import SelectionEvents
from rita_demo.ui.framework.two_stage_update import TwoStageUpdate
from rita_demo.ui.inside import cache_used, what_if
from rita_demo.ui.inside.layout import Section, build_section
from rita_demo.ui.inside.sections import NO_PROMPT, SECTIONS, prompt_names
from rita_demo.ui.inside.what_if_events import WhatIfEvents, build_comparisons
from rita_demo.ui.panels import run_summary_bar
from rita_demo.ui.panels.attack_sliders import build_budget_choice, build_step_slider
from rita_demo.ui.session.session import SIDES, Session
from rita_demo.ui.widgets.plotly_view import clicked_integer


class InsideTab(SelectionEvents):
    """The tab. Build it inside ``gr.Tab``; ``parts`` holds its components by name."""

    tab = "inside"

    def __init__(self, context: AppContext) -> None:
        self.context = context
        panels = context.panels
        strip = gr.HTML(elem_id="inside-strip")
        panels.add(strip, run_summary_bar.summary_bar, "inside")
        self.budget_choice = build_budget_choice(panels, "in-budget")
        self.step_slider = build_step_slider(panels, "in-scrubber", "inside")
        self.parts: dict[str, Any] = what_if.build_what_if(panels)
        for section in SECTIONS:
            self.parts |= build_section(context, section)
        self.parts |= build_comparisons(panels)
        self.two_stage = TwoStageUpdate(context, self.tab)
        panels.before_draw(self.tab, self.prepare)
        panels.on_open(self.tab, self.prepare)
        self.what_if_events = WhatIfEvents(context, self.parts, self.two_stage)

    def bind_events(self, budget_input: gr.Slider, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all tabs are registered. ``budget_input`` is the form's budget."""
        p, visitor = self.parts, self.context.visitor
        figures = [figure for section in SECTIONS for figure in section.figures if figure.on_click]
        chosen: list[tuple[Any, Any, list[Any]]] = [
            *(
                (p[name].click, getattr(self, row.on_click), [visitor])
                for row in figures
                for name in row.component_names
            ),
            (p["items"].click, self.on_item, [visitor]),
            (p["class_menu"].input, self.pick_class, [visitor, p["class_menu"]]),
            (p["prompt_menu"].input, self.pick_prompt, [visitor, p["prompt_menu"]]),
        ]
        self.bind_attack_sliders(self.budget_choice, budget_input, self.step_slider)
        safe = notice.handle_errors(self.context.error_banner)
        for event, handler, inputs in chosen:
            self.two_stage.bind_event(event, handler, inputs, "class", "view")
        for side in SIDES:
            grid = p[f"grid_{side}"]
            self.two_stage.bind_event(grid.click, self.on_view, [visitor], "class", "view", active=[grid])
        self.context.bind_tab(own_tab)
        for section in filter(lambda section: section.fold, SECTIONS):
            for event, is_open in ((p[section.fold].expand, True), (p[section.fold].collapse, False)):
                outputs = [self.context.error_banner, *self._fold_figures(section)]
                event(safe(self.on_fold(section, is_open)), visitor, outputs, **IMMEDIATE_EVENT)
        self.what_if_events.bind_events()

    def prepare(self, session: Session) -> None:
        """Cut the views of both pictures for the screen, and repeat a what-if for the selected attack step."""
        self.context.crop_views(session, *SIDES)
        what_if.follow_selection(self.context.engine_of(session), session)

    # --- what only this tab shows
    def on_cell(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of the cost matrix or the plan was clicked."""
        session, n = self._clicked_view(visitor, event)
        k = session.selection.k
        if n is None or k is None or session.run is None:
            return {}
        m = clicked_integer(event, len(session.run.class_prompts.prompts[k]), 1)
        return {} if m is None else self._select(session, "view", view=n, atom=m)

    def on_mass(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of views times classes was clicked: both are chosen."""
        session, n = self._clicked_view(visitor, event)
        if n is None or session.run is None:
            return {}
        k = clicked_integer(event, len(session.run.class_prompts.names), 1)
        return {} if k is None else self._select(session, "view", "class", view=n, k=k, atom=None)

    def on_prompt(self, visitor: Any, event: gr.EventData) -> Updates:
        """A prompt's bar was clicked."""
        session, run = self._session_and_run(visitor)
        k = session.selection.k
        m = clicked_integer(event, 0 if run is None or k is None else len(run.class_prompts.prompts[k]))
        return {} if m is None else self._select(session, "view", atom=m)

    def pick_prompt(self, visitor: Any, name: Any) -> Updates:
        """A prompt was chosen from the list, or none."""
        session, run = self._session_and_run(visitor)
        k = session.selection.k
        if run is None or k is None:
            return {}
        names = [NO_PROMPT, *prompt_names(run, k)]
        if name not in names:
            return {}
        return self._select(session, "view", atom=names.index(name) - 1 if name != NO_PROMPT else None)

    def on_all_views(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of views times all classes was clicked: both are chosen."""
        session, run = self._session_and_run(visitor)
        N = len(run.attacked.encoded_views.features) if run else 0
        code = clicked_integer(event, N * len(run.class_prompts.names) if run else 0)
        if code is None:
            return {}
        return self._select(session, "view", "class", view=code % N, k=code // N, atom=None)

    def on_item(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cached view was chosen: the tab *Memory* goes to the latest moment that held it."""
        session = self.context.sessions.get(visitor)
        place = cache_used.clicked_slot(event, session)
        if place is None:
            return {}
        found = cache_used.find_in_history(session, place)
        if found is None:
            raise DemoError("This view is no longer in the memory's history.", "Choose another.")
        item, moment = found
        last = moment == len(session.history.entries) - 1
        changes = {"item": item, "moment": None if last else moment, "k": place[0]}
        return self._select(session, "memory", "class", **changes)

    def on_fold(self, section: Section, is_open: bool) -> Callable[[Any], Updates]:
        """A fold was opened or closed."""

        def handler(visitor: Any) -> Updates:
            session = self.context.sessions.get(visitor)
            inside = session.inside
            inside.open_folds = inside.open_folds | {section.fold} if is_open else inside.open_folds - {section.fold}
            return self.context.panels.draw_only(session, self._fold_figures(section)) if is_open else {}

        return handler

    def _fold_figures(self, section: Section) -> list[Any]:
        return [self.parts[name] for row in section.figures for name in row.component_names]
