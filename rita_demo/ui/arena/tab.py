"""The room *Arena*: every defence against every attacker on the picture on screen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import gradio as gr
from gradio.components import Component

from rita_demo.data.memory import MemoryTable
from rita_demo.defences.registry import DEFENCES, compared, usual, validated
from rita_demo.evaluation.page import SHIPPED, DataFolders, arena_cells, run_names
from rita_demo.pipeline import arena_file
from rita_demo.pipeline.arena import ArenaTable, TowerTable, arena_steps, cell_settings
from rita_demo.pipeline.export import arena_csv, arena_json
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import BackboneInfo, Verdict
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.arena.table import arena_html, measured_html, measured_summary, says
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, immediate_event, queued_event
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.room_layout import build_drawer, build_room
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.panels.run_pills import run_pills
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons, clicked_format, download_value
from rita_demo.ui.widgets.plotly_view import event_data

SHIPPED_RUN = ("measured for this copy: Caltech101 and DTD, test", SHIPPED)
#: Not the engine's queue: between two steps of an attack the arena leaves the engine to other visitors.
ARENA_QUEUE = queued_event("arena", 2)


class ArenaTab:
    """Rows are defences, columns attackers. ``folders``: where the server's run folders are. ``show_model`` gives updates
    of the header for an engine's info."""

    def __init__(
        self,
        context: AppContext,
        folders: DataFolders,
        opener: RunOpener,
        show_model: Callable[[BackboneInfo], Updates],
    ) -> None:
        self.context, self.folders, self.opener = context, folders, opener
        self.show_model = show_model
        layout = build_room(context.panels, "arena", says, "arena")
        shipped = arena_cells(folders, SHIPPED)
        with layout.pills:
            context.panels.add(HtmlButtons(elem_id="arena-run-pills"), run_pills, "run")
            self.start_button = gr.Button("Fill the arena", elem_id="arena-go", size="sm")
            self.stop_button = gr.Button("Stop", elem_id="arena-stop", visible=False, size="sm")
            titles, names = [(DEFENCES[name].title, name) for name in compared()], list(usual())
            with build_drawer("arena"):
                self.methods = gr.CheckboxGroup(titles, value=names, label="Defences", elem_id="arena-methods")
        with layout.figure:
            self.table = context.panels.add(HtmlButtons(elem_id="arena-table"), arena_html, "arena")
        with layout.details:
            gr.HTML(measured_summary(shipped), elem_id="arena-summary")
            self.export = DownloadButtons({"csv": "Table as CSV", "json": "Table as JSON"}, elem_id="arena-export")
        self.export_count = 0
        with layout.folds, build_fold("The same table over many pictures", elem_id="arena-measured"):
            self.runs = build_menu([SHIPPED_RUN], value=SHIPPED, label="Run", filterable=False, elem_id="arena-run")
            self.measured = gr.HTML(measured_html(shipped), elem_id="arena-many")
        context.panels.on_open("arena", self.on_open)

    def bind_events(self, own_tab: gr.Tab, shown: Sequence[Component]) -> None:
        """Connect the events, after the panels of all rooms are registered. ``shown``: what ``show_model``
        updates."""
        context, visitor, banner = self.context, self.context.visitor, self.context.error_banner
        context.bind_room(own_tab, self.runs)
        job = StoppableJob(context, self.stop_button, self.on_stopped)
        outputs = context.outputs(self.stop_button)
        job.bind_event(self.start_button.click, self.fill, [visitor, self.methods], outputs, **ARENA_QUEUE)
        safe = notice.handle_errors(banner)
        self.export.click(safe(self.on_export), visitor, [banner, self.export], **immediate_event(self.on_export))
        self.runs.input(safe(self.show_stored), self.runs, [banner, self.measured], **IMMEDIATE_EVENT)
        self.opener.bind_event(self.table.click, self.open_cell, *shown)

    def on_open(self, session: Session) -> Updates:
        """The room is opened: the server may have other run folders. The worked example comes with its table."""
        with suppress(DataError):
            if (session.arena is None or not session.arena.fits(session.run)) and arena_file.stored().fits(session.run):
                session.arena = arena_file.stored()
                session.touch("arena")
        return {self.runs: gr.update(choices=[SHIPPED_RUN, *((name, name) for name in run_names(self.folders))])}

    def show_stored(self, run: str) -> Updates:
        """The measurements of a run folder."""
        return {self.measured: measured_html(arena_cells(self.folders, run))}

    def fill(self, visitor: str, methods: list[str]) -> Iterator[Updates]:
        """Fill the table, from cheap to expensive; cells that are known are kept."""
        context, session = self.context, self.context.sessions.get(visitor)
        run, time_left = session.run, TimeLeft()
        if run is None or not isinstance(methods, list) or not methods:
            raise DemoError("The arena needs a picture and at least one defence.", "Run a picture in the Story.")
        asked = [name for name in compared() if name in validated(methods)]
        names = context.models.arena_names(context.chosen_engine(session).info.name)
        for name in names:
            for _ in context.models.load_steps(name):
                yield context.progress("Loading the other model", 0)
        known = session.arena
        if known is not None and (known.stored or not known.fits(run)):  # a stored table is measured anew
            known = None

        shown: ArenaTable | None = None
        for at in arena_steps([context.models.get(name) for name in names], run, asked, known):
            for _ in context.activity.wait_until_idle():  # between two steps the engine is left to other visitors
                yield {context.error_banner: gr.skip()}
            if not at.table.fits(session.run):
                yield context.done("Stopped: another run is on screen.")
                return
            update = context.progress(at.sentence, at.fraction, time_left)
            if at.table is not shown:
                session.arena = shown = at.table
                update |= context.changed(session, "arena")
            yield update
        context.sessions.evict()
        yield Finished(context.done(f"The arena is filled after {wording.format_seconds(time_left.elapsed)}."))

    def on_stopped(self, session: Session) -> Updates:
        stopped = self.context.done("Stopped. The answers that are there stay.")
        return stopped | self.context.changed(session, "arena")

    def on_export(self, visitor: str, event: gr.EventData) -> Updates:
        """The table as a file."""
        session = self.context.sessions.get(visitor)
        table = session.arena
        if table is None or not table.fits(session.run):
            raise DemoError("There is no table to export.", "Fill the arena for this picture first.")
        kind = clicked_format(event, self.export.kinds)
        self.export_count += 1
        with self.context.downloads:
            data = arena_csv(table) if kind == "csv" else arena_json(table)
            return {self.export: download_value(f"arena.{kind}", data, self.export_count)}

    def open_cell(self, visitor: str, event: gr.EventData) -> Iterator[Updates]:
        """Run the attack of a cell again, in its model, and show the run in all rooms."""
        session = self.context.sessions.get(visitor)
        tower, request = cell_request(session, event_data(event))
        for _ in self.context.models.load_steps(
            tower.backbone.name
        ):  # a stored table's model may never have been loaded
            yield self.context.progress("Loading the other model", 0)

        def find() -> RunRequest:
            session.model = tower.backbone.name
            self.context.chosen_engine(session)  # raises when it was unloaded meanwhile
            now = session.history.cache_before(request.picture.key)
            if tower.cache.pictures and (now is None or now.key != tower.cache.key):
                memory = MemoryTable().with_state("The memory of the arena", tower.cache, request.names)
                session.replace_history(memory)
            return request

        yield from self.opener.steps(session, find)
        assert session.run is not None
        yield self.show_model(session.run.backbone)


def cell_request(session: Session, chosen: Mapping[str, JsonValue]) -> tuple[TowerTable, RunRequest]:
    """The tower and the run of a cell that an untrusted event names."""
    table = session.arena
    name, method, column = (str(chosen.get(part)) for part in ("tower", "method", "column"))
    if table is None or not table.fits(session.run):
        raise DemoError("There is no such answer.", "Fill the arena for this picture first.")
    tower, run = table.towers.get(name), table.run
    if tower is None or not isinstance(tower.cells.get((method, column)), Verdict):
        raise DemoError("There is no such answer.", "Choose one from the table.")
    return tower, RunRequest(
        picture=run.clean.picture,
        names=run.class_prompts.names,
        settings=cell_settings(run.settings, method, column),
        label=run.label if run.label_given else None,
        target=None,
        title="A cell of the arena",
        sample=session.run_sample,
        methods=tuple(dict.fromkeys((*run.methods, method))),
    )
