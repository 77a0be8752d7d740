"""The room *Figures*, drawn from this visitor's run and from measurements.

Its panels share the selection of all rooms; they are drawn only while the room is in sight.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from rita_demo.analysis import UmapProcess
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, small_ablations
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import FeatureCloud
from rita_demo.ui.figures import feature_cloud, layout, measurements, run_figures, won_pictures
from rita_demo.ui.figures.jobs import FigureJobs, example_of, is_stored
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.chosen_buttons import StartStream
from rita_demo.ui.framework.context import AppContext, immediate_event, queued_event
from rita_demo.ui.framework.form import Form
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import Parts, Updates
from rita_demo.ui.framework.selection import bind_selection
from rita_demo.ui.framework.stoppable import StoppableJob
from rita_demo.ui.session.mark import Mark
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.plotly_view import event_data, parse_int, selected_points
from rita_demo.ui.widgets.setting_controls import strength_update

#: Long jobs of this tab wait only for each other: they use the engine for one step at a time.
LONG_EVENT, UMAP_EVENT = queued_event("figures"), queued_event("umap")


class FiguresTab:
    """The room. Build it inside ``gr.Tab``; ``parts`` holds its components by name."""

    room = "figures"

    def __init__(self, context: AppContext, folders: DataFolders, opener: RunOpener) -> None:
        self.context, self.folders, self.opener = context, folders, opener
        self.jobs = FigureJobs(context, folders, UmapProcess())
        self.parts: Parts = layout.build(context, folders)
        context.panels.prepare(self.room, self._compute_bounds)
        context.panels.on_open(self.room, self.on_open)

    # --- events
    def bind_events(self, own_tab: gr.Tab, form: Form, start_stream: StartStream) -> None:
        """Connect the events, after the panels of all rooms are registered. ``form``: has the settings;
        ``start_stream`` connects a press that makes pictures the next stream."""
        p, visitor = self.parts, self.context.visitor
        said, won = self.context.error_banner, p["won_buttons"]
        of = partial(self.context.outputs_of, self.room)
        sources_chosen, runs_chosen = (
            partial(gr.on, [p[name].input for name in names]) for names in (("source", "attack"), ("first", "second"))
        )
        filters, sources = p["filters"].values(), [*of("cloud"), *(p[name] for name in layout.LIVE_CONTROLS)]
        compared = [said, p["won"], p["second"], *won.components]
        quick: list[tuple[Any, Any, list[Any], list[Any]]] = [
            (p["cloud"].hover, self.on_hover, [visitor], [said, p["mark"]]),
            (p["cloud"].select, self.on_lasso, [visitor], [said, p["lassoed"], *p["lasso_buttons"].components]),
            (sources_chosen, self.pick_source, [visitor, p["source"], p["attack"]], sources),
            (p["how"].input, self.pick_projection, [visitor, p["how"]], of("cloud")),
            (p["switch"].input, self.pick_pictures, [visitor, p["switch"]], [said, p["cloud"]]),
            (p["run"].input, self.pick_run, [visitor, p["run"]], of("figures")),
            (p["setting"].input, self.pick_setting, [visitor, p["setting"]], of("figures")),
            (runs_chosen, self.pick_compared, [visitor, p["first"], p["second"]], compared),
            (
                partial(gr.on, [menu.input for menu in filters]),
                self.on_filter,
                [visitor, *filters],
                [said, p["printed"]],
            ),
        ]
        for event, handler, inputs, outputs in quick:
            event(notice.handle_errors(said)(handler), inputs, outputs, **immediate_event(handler))
        bind_selection(self.context, self.room)
        lists = [p[name] for name in ("source", "run", "first", "second")]
        self.context.bind_room(own_tab, *lists)
        for buttons in (p["lasso_buttons"], won):
            buttons.bind_events(form, start_stream, lists, self._lists)
        self.opener.bind_event(p["lassoed"].click, self.open_picture)
        self.opener.bind_event(p["won"].click, self.open_won)
        self._bind_jobs()

    def _bind_jobs(self) -> None:
        p, visitor = self.parts, self.context.visitor
        asked = [p[n] for n in ("source", "classes", "each", "attack", "budget", "views", "names")]
        cloud = StoppableJob(self.context, p["stop"], self.on_stopped)
        near, outputs = [visitor, p["neighbours"]], self.context.outputs(p["stop"])
        gathers = cloud.bind_event(p["gather"].click, self.jobs.collect, [visitor, *asked], outputs, **LONG_EVENT)
        gathers.success(cloud.handler(self.jobs.run_umap_for_new, follows=True), near, outputs, **UMAP_EVENT)
        cloud.bind_event(p["place"].click, self.jobs.run_umap, near, outputs, **UMAP_EVENT)
        StoppableJob(self.context, p["stop_measuring"], self.on_stopped).bind_event(
            p["measure"].click,
            self.measure,
            [visitor, p["setting"], p["pictures"], p["measured_budget"]],
            self.context.outputs(p["stop_measuring"], *(p[name] for name in ("source", "run", "first", "second"))),
            **LONG_EVENT,
        )

    def on_stopped(self, _: Session) -> Updates:
        return self.context.done("Stopped. What was there before is still shown.")

    def _change(self, session: Session, topic: str, **changes: Any) -> Updates:
        """Change what the room shows, and draw what depends on ``topic``."""
        session.figures = replace(session.figures, **changes)
        return self.context.answer(session, self.room, topic)

    # --- opening the room
    def on_open(self, session: Session) -> Updates:
        """The room is opened: warm up UMAP, compute the bounds of Theorem 1, list the runs. The first time it shows a stored
        cloud."""
        self.jobs.worker.warm_up()
        if session.figures.placed_cloud is None:
            with suppress(DataError):
                self._show_example(session, evaluation_page.EXAMPLES[0])
        lists = self._lists(session)
        self._load_run_folder(session, lists[self.parts["run"]]["value"])  # it may have more rows than before
        session.touch("figures", "cloud")
        return lists

    def _lists(self, session: Session) -> Updates:
        """The menus of the runs that are on the server now."""
        lists = layout.run_lists(self.parts, self.folders, session.figures.run_folder)
        return lists | won_pictures.open_menus(self.parts, self.folders, session)

    def _show_example(self, session: Session, dataset: str) -> None:
        """A stored cloud. Raises DataError: its file is missing or damaged."""
        placed = evaluation_page.shipped_cloud(self.folders, dataset)
        session.figures = replace(
            session.figures, placed_cloud=placed, projection="UMAP", k=None, picture=None, lasso_points=()
        )

    def _compute_bounds(self, session: Session) -> None:
        run, known = session.run, session.figures.theorem_bounds
        if run is not None and (known is None or known[0] is not run):
            made = run_figures.bounds_by_side(self.context.engine_of(session), run)
            session.figures = replace(session.figures, theorem_bounds=(run, made))

    def _load_run_folder(self, session: Session, run: str) -> None:
        """Read the measurements of a run folder; "" are those shipped with this copy."""
        found = evaluation_page.measured_points(self.folders, run)
        session.figures = replace(session.figures, run_folder=run, ablation_points=found)

    # --- the cloud
    def on_hover(self, visitor: str, event: gr.EventData) -> Updates:
        session = self.context.sessions.get(visitor)
        i = Mark.read(event_data(event), session).point
        return {} if i is None else {self.parts["mark"]: feature_cloud.point_html(session, i)}

    def on_lasso(self, visitor: str, event: gr.EventData) -> Updates:
        session = self.context.sessions.get(visitor)
        one = session.figures.placed_cloud
        if one is None:
            return {}
        chosen = selected_points(event, len(one.points.kind))
        session.figures = replace(session.figures, lasso_points=chosen)
        drawn = self.context.panels.draw_only(session, [self.parts["lassoed"]])
        return drawn | self.parts["lasso_buttons"].draw(session)

    def open_picture(self, visitor: str, event: gr.EventData) -> Iterator[Updates]:
        """A picture of the table was pressed: attack it again as in the cloud, and show it in all rooms."""
        session = self.context.sessions.get(visitor)
        cloud = session.figures.placed_cloud and session.figures.placed_cloud.cloud
        if not isinstance(cloud, FeatureCloud):
            return
        n = parse_int(event_data(event).get("picture"), 0, len(cloud.ids))
        if n is None:
            return
        side = self.context.engine_of(session).info.side

        def find() -> RunRequest:
            picture = evaluation_page.cloud_picture(self.folders, cloud, n, side)
            settings = cloud.settings.replace(view_seed=cloud.seeds[n], attack_seed=cloud.seeds[n])
            names, label = cloud.names, int(cloud.label[n])
            return RunRequest(picture, names, settings, label, None, cloud.ids[n])

        yield from self.opener.steps(session, find)

    def open_won(self, visitor: str, event: gr.EventData) -> Iterator[Updates]:
        """A picture that one run alone has right was pressed: show it in all rooms as that run had it."""
        session = self.context.sessions.get(visitor)
        compared = session.figures.compared
        n = parse_int(event_data(event).get("picture"), 0, len(compared.found.won) if compared else 0)
        if n is None:
            return
        engine = self.context.engine_of(session)
        yield from self.opener.steps(session, lambda: won_pictures.request_of(session, engine, self.folders, n))

    def pick_source(self, visitor: str, source: JsonValue, attack: JsonValue) -> Updates:
        """What is attacked now has controls; a stored stream has its own pictures, attack and views, and a stored example
        is shown at once."""
        live, example = not is_stored(source), example_of(source)
        updates: Updates = {self.parts[name]: gr.update(interactive=live) for name in layout.LIVE_CONTROLS}
        updates[self.parts["names"]] = gr.update(
            interactive=live, value=[], choices=layout.class_choices(self.folders, str(source)) if live else []
        )
        if example is not None:
            session = self.context.sessions.get(visitor)
            self._show_example(session, example)
            updates |= self.context.answer(session, self.room, "cloud")
        return updates | {self.parts["budget"]: strength_update(attack, layout.STRENGTH_INFO, usable=live)}

    def pick_projection(self, visitor: str, projection: JsonValue) -> Updates:
        known = projection in ("PCA", "UMAP")
        return self._change(self.context.sessions.get(visitor), "cloud", projection=projection) if known else {}

    def pick_pictures(self, visitor: str, pictures: JsonValue) -> Updates:
        session = self.context.sessions.get(visitor)
        session.figures = replace(session.figures, pictures=pictures is True)
        return self.context.panels.draw_only(session, [self.parts["cloud"]])

    # --- measurements
    def pick_run(self, visitor: str, run: str | None) -> Updates:
        session = self.context.sessions.get(visitor)
        self._load_run_folder(session, run or "")
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "figures")}

    def pick_compared(self, visitor: str, first: JsonValue, second: JsonValue) -> Updates:
        """Two measurements were chosen: the pictures that the first alone has right. A second one that is not of the same
        dataset makes room for one that is."""
        session = self.context.sessions.get(visitor)
        if first is None:
            return {}
        second = won_pictures.second_of(self.folders, first, second)
        won_pictures.compare(session, self.folders, first, second)
        drawn = self.context.panels.draw_only(session, [self.parts["won"]])
        drawn |= {self.parts["second"]: gr.update(value=second)}
        return {self.context.error_banner: ""} | drawn | self.parts["won_buttons"].draw(session)

    def pick_setting(self, visitor: str, setting: JsonValue) -> Updates:
        known = setting in small_ablations.VALUES
        return self._change(self.context.sessions.get(visitor), "figures", setting=setting) if known else {}

    def measure(self, visitor: str, setting: str, pictures: JsonValue, budget: JsonValue) -> Iterator[Updates]:
        """Measure a small ablation, then show its run in the list of runs."""
        yield from self.jobs.measure(visitor, setting, pictures, budget)
        session = self.context.sessions.get(visitor)
        self._load_run_folder(session, small_ablations.RUN_FOLDER)
        lists = self._lists(session)
        yield lists | self.context.changed(session, "figures")

    def on_filter(self, visitor: str, *values: JsonValue) -> Updates:
        session = self.context.sessions.get(visitor)
        session.figures = replace(session.figures, filters=measurements.chosen_filters(values))
        return self.context.panels.draw_only(session, [self.parts["printed"]])
