"""The room *Memory*: what the cache holds, how that came about, and what it changes."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import gradio as gr

from rita_demo.data.memory import IMPORTED, MemoryTable
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, StreamRun
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records.errors import DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import LONG_EVENT, AppContext, immediate_event
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import StoppableJob
from rita_demo.ui.memory import bulk_add, html
from rita_demo.ui.memory import panels as memory_panels
from rita_demo.ui.panels import run_summary_bar
from rita_demo.ui.session import cache_file
from rita_demo.ui.session.memories import MAX_MEMORIES
from rita_demo.ui.session.session import MemoryExample, Session
from rita_demo.ui.session.stored_picture import stored_picture_request
from rita_demo.ui.session.stream_history import own_picture_request, replacing_item, shipped_history
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_heading, build_menu
from rita_demo.ui.widgets.html_buttons import DownloadButtons, MarkButtons, download_value
from rita_demo.ui.widgets.plotly_view import PlotlyView

MAX_NAME = 60  # characters of an imported file's name


class MemoryTab:
    """The room. Build it inside its ``gr.Tab``. ``folders``: datasets of the server, for thumbnails of a stored example."""

    room = "memory"

    def __init__(self, context: AppContext, folders: DataFolders, opener: RunOpener) -> None:
        self.context, self.export_count = context, 0
        self.folders, self.opener, self.stored = folders, opener, evaluation_page.shipped_streams()
        with gr.Column(elem_id="memory"):
            context.panels.add(gr.HTML(elem_id="memory-says"), memory_panels.says, "memory")
            with gr.Row(elem_id="memory-whose"):
                self._build_menu()
            strip = gr.HTML(elem_id="memory-strip")
            context.panels.add(strip, run_summary_bar.summary_bar, "memory", "step", "inside")
            self._build_contents()
            self._build_effect()
        context.panels.prepare(self.room, self._compare)
        context.panels.on_open(self.room, self.on_open)

    # --- layout
    def _build_menu(self) -> None:
        """The menu of memories, and the button that is seen where the one on screen has other class names."""
        add = self.context.panels.add
        info = f"What you put into one stays in it when you choose another (the last {MAX_MEMORIES} are kept)."
        menu = build_menu([], label="Memory", info=info, filterable=False, min_width=320, elem_id="memory-menu")
        self.menu = add(menu, lambda session: memory_panels.menu(session, self.stored), "memory")
        text = "Decide my own picture with this memory"
        self.decide_button = gr.Button(text, size="sm", scale=0, min_width=290, elem_id="decide-own")
        add(self.decide_button, memory_panels.decide_button, "memory")

    def _build_contents(self) -> None:
        add = self.context.panels.add
        build_heading(
            "What the memory holds",
            f"The surest {wording.term_html('confident view')} of every picture (or more: a setting) enters the "
            f"{wording.term_html('memory (cache)')} under the class it answers with, its "
            f"{wording.term_html('pseudo-label')}. Running a picture again replaces its earlier views.",
        )
        moment = gr.Slider(
            0, 1, value=0, step=1, label="Moment", visible=False, elem_id="moment", info="0 is the beginning."
        )
        self.moment = add(moment, memory_panels.slider, "memory")
        add(gr.HTML(elem_id="moment-title"), memory_panels.moment_heading, "memory")
        self.cards = add(MarkButtons(elem_id="contents"), html.contents, "memory", "class")
        with gr.Row(elem_id="memory-buttons"):
            self.undo_button = gr.Button("Undo", size="sm", elem_id="undo")
            self.clear_button = gr.Button("Empty the memory", size="sm", elem_id="empty-memory")
            self.remove_button = gr.Button("Remove the chosen view", size="sm", elem_id="remove", interactive=False)
            self.export_buttons = DownloadButtons({"zip": "Export"}, elem_id="export")
            self.import_button = gr.UploadButton("Import", type="filepath", size="sm", elem_id="import")
            self.bulk_upload = gr.UploadButton(
                "Add several pictures", file_count="multiple", type="filepath", size="sm", elem_id="many"
            )
            self.stop_button = gr.Button("Stop", size="sm", visible=False, elem_id="stop-filling")
        add(self.remove_button, memory_panels.remove_button, "memory")
        for button in (self.undo_button, self.clear_button):
            add(button, memory_panels.own_memory_button, "memory")
        left, right = build_columns(1, 2)
        with left:
            add(gr.HTML(elem_id="item-detail"), html.detail, "memory")
            self.open_button = gr.Button("Open its picture in the Story", size="sm", elem_id="open-stored")
            add(self.open_button, memory_panels.open_button, "memory")
        with right:
            gr.HTML("<h3>What happened</h3>")
            self.table_button = DownloadButtons({"csv": "Every stored view as CSV"}, elem_id="log-export")
            add(gr.HTML(elem_id="log"), html.log, "memory")

    def _build_effect(self) -> None:
        add, empty = self.context.panels.add, memory_panels.EMPTY_TEXT
        build_heading("What the memory changes")
        add(gr.HTML(elem_id="compared"), memory_panels.comparison, "memory")
        gr.HTML("<h3>Cost in the memory per class, with and without what it holds</h3>")
        aria = "Cost of every class in the memory, and with an empty one"
        distances = PlotlyView(aria=aria, height=380, empty=empty, elem_id="distances")
        self.distances = add(distances, memory_panels.distances, "memory", "class")
        add(gr.HTML(elem_id="distances-empty"), memory_panels.empty_classes, "memory")

    # --- events
    def bind_events(self) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        context, visitor = self.context, self.context.visitor
        topics = ("memory", "class", "view", "side")
        bind = partial(context.bind_quick, self.room)
        for event, handler, *more in (
            (self.undo_button.click, self.on_undo),
            (self.clear_button.click, self.on_clear),
            (self.menu.input, self.pick_memory, self.menu),
            (self.remove_button.click, self.on_remove),
            (self.import_button.upload, self.on_import, self.import_button),
        ):
            bind(event, handler, [visitor, *more], *topics)
        self.opener.bind_event(self.decide_button.click, self.decide_own)
        self.opener.bind_event(self.open_button.click, self.open_picture)
        safe, said = notice.handle_errors(context.error_banner), [context.error_banner, context.status]
        for button, save in ((self.export_buttons, self.on_export), (self.table_button, self.on_table)):
            button.click(safe(save), visitor, [*said, button], **immediate_event(save))
        job = StoppableJob(context, self.stop_button, self.on_stopped, context.activity.track_job).bind_event
        outputs = context.outputs(self.stop_button)
        job(self.bulk_upload.upload, self.add_uploads, [visitor, self.bulk_upload], outputs, **LONG_EVENT)

    def on_open(self, session: Session) -> None:
        """The room is opened: until the visitor has run a picture or chosen a memory, it shows that of the stored stream on
        screen."""
        memory, shown = session.memory, session.stream.recording
        if memory.chosen or session.run is not session.shared_run or not self.stored:
            return
        one = shown if shown is not None and shown.stored else self.stored[0]
        if memory.example is None or memory.example.recording.name != one.name:
            self._show_stored(session, one)
            session.touch("memory")

    def pick_memory(self, visitor: str, name: JsonValue) -> Updates:
        """One of the visitor's memories is in use from now on, or a stored one is shown."""
        session = self.context.sessions.get(visitor)
        with session.lock:
            stored = next((one for one in self.stored if one.name == name), None)
            places = [str(n) for n in range(len(session.memories.histories))]
            if stored is None and name not in places:
                raise DemoError("There is no memory of that name.", "Choose one from the menu.")
            session.memory.chosen = True
            if stored is not None:
                self._show_stored(session, stored)
            else:
                session.memory.example, session.memories = None, session.memories.using(int(str(name)))
                session.select(item=None, moment=None)
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "memory")}

    def _show_stored(self, session: Session, one: StreamRun) -> None:
        session.memory.example = MemoryExample(one, shipped_history(self.folders, one.name))
        session.select(item=replacing_item(session.memory.example.history), moment=None)

    def decide_own(self, visitor: str) -> Iterator[Updates]:
        """Decide the picture on screen with the memory on screen at the selected moment, among its class names."""
        session = self.context.sessions.get(visitor)
        example, engine = session.memory.example, self.context.engine_of(session)
        history = session.shown_history
        if not history.moments:
            raise DemoError("There is no memory on screen.", "Run a picture first.")
        if not session.at_latest_moment:
            history = history.until(session.selected_moment)

        def find() -> RunRequest:
            return own_picture_request(session, engine, None if example is None else example.recording, history)

        yield from self.opener.steps(session, find, self.room, "The picture with this memory")

    def open_picture(self, visitor: str) -> Iterator[Updates]:
        """The picture of the chosen stored view becomes that of the Story."""
        session = self.context.sessions.get(visitor)
        engine, row = self.context.engine_of(session), session.selected_item

        def find() -> RunRequest:
            return stored_picture_request(session, engine, self.folders)

        shown = session.shown_history
        what = "The picture" if row is None else shown.picture[row] or f"Picture {shown.born[row] + 1}"
        yield from self.opener.steps(session, find, what=what)

    def on_undo(self, visitor: str) -> Updates:
        session = self.context.sessions.get(visitor)
        if len(session.history.moments) < 2:
            raise DemoError("There is nothing to undo.")
        title = session.history.moments[-1].title
        return self._replace_history(session, session.history.undo(), f"Undone: {title}.")

    def on_clear(self, visitor: str) -> Updates:
        session = self.context.sessions.get(visitor)
        now = session.history.current
        if now is None or not len(now.held):
            raise DemoError("The memory is empty already.")
        return self._replace_history(session, session.history.emptied(), "The memory is empty. Undo brings it back.")

    def on_remove(self, visitor: str) -> Updates:
        session = self.context.sessions.get(visitor)
        history, item, row = session.history, session.selection.item, session.selected_item
        if item is None or row is None:
            raise DemoError("No stored view is chosen.", "Choose one first.")
        if not session.at_latest_moment:
            raise DemoError(
                "This is an earlier moment: only what the memory holds now can be removed.",
                "Move the slider to the latest moment.",
            )
        title = f"Removed view {history.view[row]} of picture {history.born[row] + 1} from {history.names[item[0]]}"
        state = self.context.engine_of(session).remove_cache_item(history.state_at(), *item)
        history = history.with_state(title, state, history.names)
        return self._replace_history(session, history, f"{title}. Undo brings it back.")

    def on_export(self, visitor: str) -> Updates:
        session = self.context.sessions.get(visitor)
        entry, run = session.selected_entry, session.run
        if entry is None or run is None:
            raise DemoError("There is no memory to export yet.", "Run a picture first.")
        model, settings, example = run.backbone.name, run.settings, session.memory.example
        if example is not None:
            model, settings = example.recording.columns["backbone"], example.recording.header.requested
        with self.context.downloads:
            self.export_count += 1
            made = cache_file.pack(session.shown_history, model, settings, session.selected_moment)
            file = download_value("memory.zip", made, self.export_count)
        said = f"Exported {wording.view_count(len(entry.held))}."
        return {self.export_buttons: file, **self.context.done(said)}

    def on_table(self, visitor: str) -> Updates:
        """Every view that entered up to the selected moment, as a file."""
        session = self.context.sessions.get(visitor)
        memory, example = session.shown_history, session.memory.example
        if not memory.moments:
            raise DemoError("There is no memory to list yet.", "Run a picture first.")
        memory = memory.until(session.selected_moment)
        self.export_count += 1
        with self.context.downloads:
            title = "the memory of this page" if example is None else example.recording.title
            views = memory.views()
            boxes = {view.id: memory.box[row] for row, view in views.items()}
            made = evaluation_page.stored_views_csv(title, memory.names, tuple(views.values()), boxes)
            return {self.table_button: download_value("stored-views.csv", made, self.export_count)}

    def on_import(self, visitor: str, path: JsonValue) -> Updates:
        session = self.context.sessions.get(visitor)
        if not isinstance(path, str):
            raise DemoError("No file arrived.", "Try again.")
        info, data = self.context.engine_of(session).info, cache_file.read_file(Path(path))
        origin = f"{IMPORTED} ({Path(path).name[:MAX_NAME]})"
        imported = replace(cache_file.unpack(data, None, info.name, info.width), origin=origin)
        message = f"Imported {wording.view_count(len(imported.moments[-1].held))}. The next picture with its class names is decided from it."
        message += " The earlier memory stays in the menu." * bool(len(session.history.label))
        session.replace_history(imported)
        updates = self._replace_history(session, session.history, message)
        self.context.sessions.evict()
        return updates

    def add_uploads(self, visitor: str, paths: JsonValue) -> Iterator[Updates]:
        session = self.context.sessions.get(visitor)
        session.memory.example, session.memory.chosen = None, True
        found = bulk_add.uploaded_pictures(session, self.context.engine_of(session), paths)
        yield from bulk_add.add_steps(self.context, session, *found)

    def on_stopped(self, session: Session) -> Updates:
        message = self.context.done("Stopped. What was added until then stays; Undo takes it out.")
        return message | self.context.changed(session, "memory")

    def _replace_history(self, session: Session, history: MemoryTable, message: str) -> Updates:
        with session.lock:
            session.history, session.memory.example, session.memory.chosen = history, None, True
        session.select(moment=None, item=None)
        updates = self.context.answer(session, self.room, "memory")
        return {self.context.error_banner: "", **self.context.done(message), **updates}

    def _compare(self, session: Session) -> None:
        """Decide with and without the memory on screen."""
        if session.memory.example is None:
            bulk_add.compare_with_empty(self.context.engine_of(session), session)
