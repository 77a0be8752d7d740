"""The room *Arena*: every defence against every attacker, on the picture on screen and on many."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from rita_demo.data.memory import MemoryTable
from rita_demo.defences.registry import compared
from rita_demo.evaluation.page import SHIPPED, DataFolders, arena_cells, run_names
from rita_demo.figures.analysis.numbers import pooled
from rita_demo.pipeline import arena_file
from rita_demo.pipeline.arena import TOWERS, TowerTable, arena_steps, cell_settings, columns, due_jobs
from rita_demo.pipeline.export import arena_csv, arena_json
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import BackboneInfo, Verdict
from rita_demo.records.errors import DataError, DemoError
from rita_demo.ui.arena import details
from rita_demo.ui.arena.numbers import numbers_html
from rita_demo.ui.arena.table import headline, model_of, shown_columns, shown_rows, table_html, table_of, tower_of
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, RunShown, immediate_event, queued_event
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import PanelValue, Updates
from rita_demo.ui.framework.room_layout import build_drawer, build_room
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.run_panels import run_pills
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons, clicked_format, download_value, event_data
from rita_demo.ui.widgets.wording import title_of

SHIPPED_RUN = ("measured for this copy: Caltech101 and DTD, test", SHIPPED)
STRENGTH = 4  # in 1/255, of the measurements in the table
MODELS = dict(zip(TOWERS, ("Standard model", "Trained on attacks")))
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
        self.context, self.folders, self.opener, self.show_model = context, folders, opener, show_model
        self.export_count = 0
        cells = arena_cells(folders, SHIPPED)
        shares = pooled(cell for cell in cells if cell.budget in (0, STRENGTH))
        add = partial(context.panels.add, first=True)
        layout = build_room(context.panels, "arena", partial(headline, shares=shares), "arena")
        with layout.pills:
            context.panels.add(HtmlButtons(elem_id="arena-run-pills"), run_pills, "run")
            self.stop_button = gr.Button("Stop", elem_id="arena-stop", visible=False, size="sm")
            models = [(title, name) for name, title in MODELS.items()]
            self.switch = gr.Radio(models, value=TOWERS[0], label="Model", elem_id="arena-model", elem_classes="switch")
            add(self.switch, self.draw_switch, "arena")
            with build_drawer("arena"):
                self.asked = [
                    gr.CheckboxGroup(choices, value=[name for _, name in choices], label=label, elem_id=f"arena-{part}")
                    for part, label, choices in (
                        ("methods", "Defences", [(title_of(name), name) for name in compared()]),
                        ("attackers", "Attackers", [(title, name) for name, title in columns().items()]),
                        ("models", "Models to fill", models),
                    )
                ]
                self.fill_all = add(gr.Button("Fill all", elem_id="arena-all", size="sm"), self.draw_fill_all, "arena")
        with layout.figure:
            self.table = add(HtmlButtons(elem_id="arena-table"), partial(table_html, shares=shares), "arena")
            self.start = RunShown(elem_classes="bell", elem_id="arena-start")  # asks to fill the cell that was clicked
            add(self.start, lambda session: str(session.arena_view.asked), "arena")
        with layout.details:
            add(gr.HTML(elem_id="arena-answer"), details.answer_html, "arena")
            self.open_button = gr.Button("Open in Inside", elem_id="arena-open", visible=False, size="sm")
            add(self.open_button, draw_open_button, "arena")
            add(gr.HTML(elem_id="arena-about"), partial(details.about_html, cells=cells, shares=shares), "arena")
            self.fill_button = gr.Button("Fill", elem_id="arena-fill", visible=False, size="sm")
            add(self.fill_button, draw_fill_button, "arena")
        with layout.folds:
            with build_fold("In numbers, per dataset", elem_id="arena-measured"):
                self.runs = build_menu([SHIPPED_RUN], value=SHIPPED, label="Run", filterable=False, elem_id="arena-run")
                self.measured = gr.HTML(numbers_html(cells), elem_id="arena-many")
            with build_fold("Tables as CSV, JSON", elem_id="arena-files"):
                self.export = DownloadButtons({"csv": "Table as CSV", "json": "Table as JSON"}, elem_id="arena-export")
        context.panels.on_open("arena", self.on_open)

    def bind_events(self, own_tab: gr.Tab, shown: Sequence[Component]) -> None:
        """Connect the events, after the panels of all rooms are registered. ``shown``: what ``show_model``
        updates."""
        context, visitor, banner = self.context, self.context.visitor, self.context.error_banner
        context.bind_room(own_tab, self.runs)
        context.bind_quick("arena", self.table.click, self.choose, [visitor], "arena")
        controls: list[Any] = [self.switch, *self.asked]  # Gradio makes their events at runtime
        changed = partial(gr.on, [control.input for control in controls])
        context.bind_quick("arena", changed, self.on_controls, [visitor, *controls], "arena")
        job, outputs = StoppableJob(context, self.stop_button, self.on_stopped), context.outputs(self.stop_button)
        chosen = partial(gr.on, [self.start.submit, self.fill_button.click])
        job.bind_event(chosen, self.fill_chosen, [visitor], outputs, **ARENA_QUEUE)
        job.bind_event(self.fill_all.click, self.fill_everything, [visitor], outputs, **ARENA_QUEUE)
        safe = notice.handle_errors(banner)
        self.export.click(safe(self.on_export), visitor, [banner, self.export], **immediate_event(self.on_export))
        self.runs.input(safe(self.show_stored), self.runs, [banner, self.measured], **IMMEDIATE_EVENT)
        self.opener.bind_event(self.open_button.click, self.open_cell, *shown)

    def on_open(self, session: Session) -> Updates:
        """The room is opened: the server may have other run folders. The worked example comes with its table."""
        with suppress(DataError):
            if table_of(session) is None and arena_file.stored().fits(session.run):
                session.arena = arena_file.stored()
                session.touch("arena")
        return {self.runs: gr.update(choices=[SHIPPED_RUN, *((name, name) for name in run_names(self.folders))])}

    def show_stored(self, run: str) -> Updates:
        """The measurements of a run folder."""
        return {self.measured: numbers_html(arena_cells(self.folders, run))}

    # --- what is shown and chosen
    def models_of(self, session: Session) -> tuple[str, ...]:
        """The models that can be shown beside each other."""
        return () if session.run is None else self.context.models.arena_names(session.run.backbone.name)

    def draw_switch(self, session: Session) -> PanelValue:
        """There is none where only one model can be used."""
        if session.run is None:
            return gr.update()
        return gr.update(visible=len(self.models_of(session)) > 1, value=model_of(session))

    def draw_fill_all(self, session: Session) -> PanelValue:
        """Its label says what it costs."""
        cost = details.cost_of(session, *self._everything(session))
        name = f"Fill all: {cost}" if cost else "All is filled"
        return gr.update(value=name, interactive=bool(cost) and not running(session))

    def choose(self, visitor: str, event: gr.EventData) -> Updates:
        """Choose what an untrusted click names: a defence, an attacker, or the cell of both, which is filled if it is empty."""
        session, named = self.context.sessions.get(visitor), event_data(event)
        method, column = named.get("method", ""), named.get("column", "")
        if method not in ("", *compared()) or column not in ("", *columns()) or not (method or column):
            return {}
        view, tower = session.arena_view, tower_of(session)
        view.method, view.column = str(method), str(column)
        if method and column and not running(session) and (tower is None or (method, column) not in tower.cells):
            view.asked += 1
        return self.context.answer(session, "arena", "arena")

    def on_controls(
        self, visitor: str, model: str, methods: list[str], attackers: list[str], models: list[str]
    ) -> Updates:
        """The switch or a box of the drawer was used."""
        session = self.context.sessions.get(visitor)
        if not all(isinstance(names, list) for names in (methods, attackers, models)):
            return {}
        view = session.arena_view
        view.model = model if model in self.models_of(session) else view.model
        view.methods = tuple(name for name in compared() if name in methods)
        view.columns = tuple(name for name in columns() if name in attackers)
        view.models = tuple(name for name in TOWERS if name in models)
        return self.context.answer(session, "arena", "arena")

    # --- filling
    def _everything(self, session: Session) -> tuple[list[str], list[str], list[str]]:
        """Models, defences and attackers that were not left out."""
        wanted = session.arena_view.models
        models = [name for name in self.models_of(session) if wanted is None or name in wanted or name not in TOWERS]
        return models, shown_rows(session, {}), list(shown_columns(session))

    def fill_chosen(self, visitor: str) -> Iterator[Updates]:
        """Fill the chosen cell, row or column in the model that is shown."""
        session = self.context.sessions.get(visitor)
        yield from self.fill(session, [model_of(session)], *details.asked(session))

    def fill_everything(self, visitor: str) -> Iterator[Updates]:
        """Fill every cell that was not left out."""
        session = self.context.sessions.get(visitor)
        yield from self.fill(session, *self._everything(session))

    def fill(
        self, session: Session, names: Sequence[str], methods: Sequence[str], attackers: Sequence[str]
    ) -> Iterator[Updates]:
        """Fill cells of the table, from cheap to expensive; those that are known are kept."""
        context, run, time_left, view = self.context, session.run, TimeLeft(), session.arena_view
        if run is None or not (names and methods and attackers):
            message = "The arena needs a picture, a defence, an attacker and a model."
            raise DemoError(message, "Run a picture, or tick a box of each.")
        if running(session):
            raise DemoError("The arena is being filled already.", "Stop that first, or wait.")
        known = table_of(session)
        if not due_jobs(names, methods, attackers, known):
            yield Finished(context.done("These cells are filled already."))
            return
        try:
            for name in names:
                for _ in context.models.load_steps(name):
                    yield context.progress("Loading the other model", 0)
            for at in arena_steps([context.models.get(name) for name in names], run, methods, known, attackers):
                for _ in context.activity.wait_until_idle():  # between two steps the engine is left to other visitors
                    yield {context.error_banner: gr.skip()}
                if not at.table.fits(session.run):
                    yield context.done("Stopped: another run is on screen.") | self._ended(session)
                    return
                update = context.progress(at.sentence, at.fraction, time_left)
                if at.table is not session.arena or at.cells != view.running:
                    session.arena, view.running = at.table, at.cells
                    update |= context.changed(session, "arena")
                yield update
            context.sessions.evict()
            said = f"Filled after {wording.format_seconds(time_left.elapsed)}."
            yield Finished(context.done(said) | self._ended(session))
        except Exception:
            yield self._ended(session)
            raise
        finally:
            view.running = frozenset()

    def _ended(self, session: Session) -> Updates:
        session.arena_view.running = frozenset()
        return self.context.changed(session, "arena")

    def on_stopped(self, session: Session) -> Updates:
        """What is there stays."""
        return self.context.done("Stopped. The answers that are there stay.") | self._ended(session)

    def on_export(self, visitor: str, event: gr.EventData) -> Updates:
        """The table as a file."""
        table = table_of(self.context.sessions.get(visitor))
        if table is None:
            raise DemoError("There is no table to export.", "Fill the arena for this picture first.")
        kind = clicked_format(event, self.export.kinds)
        self.export_count += 1
        with self.context.downloads:
            data = arena_csv(table) if kind == "csv" else arena_json(table)
            return {self.export: download_value(f"arena.{kind}", data, self.export_count)}

    def open_cell(self, visitor: str) -> Iterator[Updates]:
        """Run the attack of the chosen cell again, in its model, and show the run in all rooms."""
        session = self.context.sessions.get(visitor)
        tower, request = cell_request(session)
        # a stored table's model may never have been loaded
        for _ in self.context.models.load_steps(tower.backbone.name):
            yield self.context.progress("Loading the other model", 0)

        def find() -> RunRequest:
            session.model = tower.backbone.name
            self.context.chosen_engine(session)  # raises when it was unloaded meanwhile
            now = session.history.cache_before(request.picture.key)
            if tower.cache.pictures and (now is None or now.key != tower.cache.key):
                memory = MemoryTable().with_state("The memory of the arena", tower.cache, request.names)
                session.replace_history(memory)
            return request

        yield from self.opener.steps(session, find, room="inside")
        assert session.run is not None
        yield self.show_model(session.run.backbone)


def running(session: Session) -> bool:
    """Whether cells are being measured."""
    return bool(session.arena_view.running)


def draw_open_button(session: Session) -> PanelValue:
    """It opens the run of the chosen cell, where that has an answer."""
    view, tower = session.arena_view, tower_of(session)
    cell = None if tower is None else tower.cells.get((view.method, view.column))
    return gr.update(visible=isinstance(cell, Verdict))


def draw_fill_button(session: Session) -> PanelValue:
    """It fills what is chosen, where something is missing."""
    view = session.arena_view
    what = "cell" if view.method and view.column else "row" if view.method else "column"
    return gr.update(visible=bool(details.cost(session)), value=f"Fill this {what}", interactive=not running(session))


def cell_request(session: Session) -> tuple[TowerTable, RunRequest]:
    """The tower and the run of the chosen cell."""
    table, tower, view = table_of(session), tower_of(session), session.arena_view
    if table is None or tower is None or not isinstance(tower.cells.get((view.method, view.column)), Verdict):
        raise DemoError("There is no such answer.", "Choose one from the table.")
    run = table.run
    return tower, RunRequest(
        picture=run.clean.picture,
        names=run.class_prompts.names,
        settings=cell_settings(run.settings, view.method, view.column),
        label=run.label if run.label_given else None,
        target=None,
        title="A cell of the arena",
        sample=session.run_sample,
        methods=tuple(dict.fromkeys((*run.methods, view.method))),
    )
