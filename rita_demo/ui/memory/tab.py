"""The room *Memory*: what a memory holds, how that came about, whether it helps, and what it changes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import gradio as gr
from gradio.components import Component

from rita_demo import figures
from rita_demo.data import memory_file
from rita_demo.data.memory import IMPORTED, MAX_MOMENTS, MemoryTable
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, StreamRun
from rita_demo.evaluation.stored_views import COLUMNS, view_rows
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import RememberedView
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, immediate_event
from rita_demo.ui.framework.form import Form
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import PanelValue, Updates
from rita_demo.ui.framework.room_layout import build_drawer, build_room
from rita_demo.ui.framework.selection import bind_selection
from rita_demo.ui.memory import answers, panels
from rita_demo.ui.memory.panels import ShownStream, shown_stream
from rita_demo.ui.memory.streaming import Streaming, dataset_choices
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_history import (
    own_picture_request,
    replacing_item,
    show_stream,
    stored_picture_request,
    stream_picture_request,
)
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons, MarkButtons, download_value, event_data
from rita_demo.ui.widgets.plotly_view import PlotlyView

NO_STREAM = "No stream is on screen."
MAX_NAME = 60  # characters of an imported file's name
#: Column of a stored view -> its heading in the table of the room.
SHOWN_COLUMNS = {
    **{"picture": "picture", "stored_as": "stored as", "true_class": "true class", "file": "file"},
    **{"attacked": "attacked", "view": "crop", "entropy": "entropy (nats)", "replaced_file": "it replaced one of"},
    "left_at": "left at",
}
COUNTED = ("picture", "left_at")  # from 0 in files, from 1 on the page
C = TypeVar("C", bound=Component)


class MemoryTab:
    """The room. Build it inside its ``gr.Tab``. ``folders``: the datasets and the run folders of the server; ``form``: has the
    settings of a stream."""

    room = "memory"

    def __init__(self, context: AppContext, folders: DataFolders, form: Form, opener: RunOpener) -> None:
        self.context, self.folders, self.opener, self.export_count = context, folders, opener, 0
        layout = build_room(context.panels, self.room, panels.headline, "memory")
        with layout.pills:
            menu = build_menu([], label="Memory", filterable=False, min_width=200, elem_id="memory-menu")
            self.menu = context.panels.add(menu, panels.menu, "memory")
            self.export = DownloadButtons({"zip": "Export"}, elem_id="export")
            with build_drawer(self.room):
                gr.HTML("<h3>A memory of your own</h3>")
                with gr.Row(elem_id="memory-buttons"):
                    self.undo_button = gr.Button("Undo", size="sm", elem_id="undo")
                    self.clear_button = gr.Button("Empty it", size="sm", elem_id="empty-memory")
                    self.import_button = gr.UploadButton("Import", type="filepath", size="sm", elem_id="import")
                for button in (self.undo_button, self.clear_button):
                    context.panels.add(button, lambda s: gr.update(interactive=s.stream.history is None), "memory")
                self.streaming = Streaming(context, folders, form, self.room)
        with layout.figure:
            self._build_figure()
        with layout.details:
            self._build_details()
        with layout.folds:
            self._build_folds()
        context.panels.on_open(self.room, self.on_open)

    # --- layout
    def _add(self, component: C, draw: Callable[[Session, DataFolders], PanelValue], *topics: str) -> C:
        """A panel that is drawn first when something is selected."""
        return self.context.panels.add(component, lambda s: draw(s, self.folders), "memory", *topics, first=True)

    def _add_stream(self, component: C, draw: Callable[[ShownStream], PanelValue], empty: Any = "", **how: Any) -> C:
        """A panel of the stream on screen; ``empty`` where there is none."""

        def panel(session: Session) -> PanelValue:
            shown = shown_stream(session, self.folders)
            return empty if shown is None else draw(shown)

        return self.context.panels.add(component, panel, "memory", **how)

    def _build_figure(self) -> None:
        about = {"aria": "Accuracy over the stream, with the memory and without", "empty": NO_STREAM}
        accuracy = PlotlyView(**about, height=168, elem_id="memory-accuracy")
        self.accuracy = self._add_stream(
            accuracy,
            lambda shown: shown.captioned(figures.memory_accuracy(shown.trajectory, shown.t)),
            None,
            first=True,
        )
        self.film = self._add_stream(MarkButtons(elem_id="memory-film"), panels.film, first=True)
        moment = gr.Slider(0, 1, value=0, step=1, label="Moment", visible=False, elem_id="moment")
        self.moment = self._add(moment, lambda session, _: panels.slider(session))
        self.shelf = self._add(MarkButtons(elem_id="memory-shelf"), panels.shelf, "class")

    def _build_details(self) -> None:
        add, hidden = self.context.panels.add, dict[str, Any](size="sm", visible=False)
        self._add(gr.HTML(elem_id="stored-view"), panels.stored_view)
        with gr.Row(elem_id="stored-buttons"):
            self.remove_button = gr.Button("Remove", elem_id="remove", **hidden)
            self.open_button = gr.Button("Open its picture", elem_id="open-stored", **hidden)
        self._add(self.remove_button, lambda session, _: panels.remove_button(session))
        self._add(self.open_button, lambda session, _: gr.update(visible=session.selected_item is not None))
        self._add(gr.HTML(elem_id="happened"), lambda session, _: panels.happened(session))
        self.inside_button = gr.Button("Open in Inside", elem_id="open-inside", **hidden)
        self._add_stream(self.inside_button, lambda _: gr.update(visible=True), gr.update(visible=False), first=True)
        # not among the first: it decides the picture twice
        self.effect = add(HtmlButtons(elem_id="memory-effect"), self._effect, "memory")
        self.decide_button = gr.Button("Decide among these names", elem_id="decide-own", **hidden)
        add(self.decide_button, lambda session: gr.update(visible=panels.has_other_names(session)), "memory")

    def _effect(self, session: Session) -> str:
        return panels.effect(session, self.context.engine_of(session), evaluation_page.shipped_streams())

    def _build_folds(self) -> None:
        def of_stream(session: Session) -> PanelValue:
            return gr.update(visible=session.stream.history is not None)

        add = self.context.panels.add
        with build_fold("How full is it, and how pure?", elem_id="memory-growth-fold") as held:
            aria = "How full and how pure the memory is"
            growth = PlotlyView(aria=aria, height=300, empty=NO_STREAM, elem_id="memory-growth")
            self.growth = self._add_stream(
                growth, lambda shown: shown.captioned(figures.cache_growth(shown.trajectory, shown.t)), None
            )
        with build_fold("Who is right?", elem_id="memory-who") as who:
            self._add_stream(gr.HTML(elem_id="memory-standings"), answers.who_is_right)
        add(held, of_stream, "memory")
        add(who, of_stream, "memory")
        with build_fold("Every stored view", elem_id="memory-views"):
            shown: dict[str, Any] = {"show_search": "filter", "show_label": False, "max_height": 420}
            headers = list(SHOWN_COLUMNS.values())
            table = gr.Dataframe(headers=headers, interactive=False, elem_id="views-table", **shown)
            self.views = add(table, self._views, "memory")
            with gr.Row(elem_classes="chosen-row"):
                self.table_button = DownloadButtons({"csv": "As CSV"}, elem_id="views-export")
                self.rows_button = DownloadButtons({"jsonl": "Rows (JSON lines)"}, elem_id="rows-export", visible=False)
            add(self.rows_button, of_stream, "memory")

    def _view_rows(self, session: Session) -> tuple[str, tuple[str, ...], tuple[RememberedView, ...], dict[int, Any]]:
        """Title, names, every view that entered up to the selected moment, and their boxes."""
        stream, memory = session.stream.recording, session.shown_history.until(session.selected_moment)
        views = memory.views()
        boxes = {view.id: memory.box[row] for row, view in views.items()}
        title = "the memory of this page" if stream is None else stream.title
        return title, memory.names, tuple(views.values()), boxes

    def _views(self, session: Session) -> PanelValue:
        """The rows of the table."""
        if not session.shown_history.moments:
            return []
        rows = list[JsonValue]()
        for row in view_rows(*self._view_rows(session)):
            by_name: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
            by_name |= {name: n + 1 for name in COUNTED if isinstance(n := by_name[name], int)}
            by_name["entropy"] = round(by_name["entropy"], 4)
            rows.append([by_name[name] for name in SHOWN_COLUMNS])
        return rows

    # --- events
    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        context, visitor, streaming = self.context, self.context.visitor, self.streaming
        bind_selection(context, self.room, {"moment": self.moment})
        context.bind_room(own_tab, streaming.inputs["dataset"])
        topics = ("memory", "class", "view")
        bind = partial(context.bind_quick, self.room)
        for event, handler, *more in (
            (self.undo_button.click, self.on_undo),
            (self.clear_button.click, self.on_clear),
            (self.menu.input, self.pick_memory, self.menu),
            (self.effect.click, self.pick_offered),
            (self.remove_button.click, self.on_remove),
            (self.import_button.upload, self.on_import, self.import_button),
        ):
            bind(event, handler, [visitor, *more], *topics)
        for button, opened in (
            (self.decide_button, self.decide_own),
            (self.open_button, self.open_picture),
            (self.inside_button, self.open_inside),
        ):
            self.opener.bind_event(button.click, opened)
        safe, said = notice.handle_errors(context.error_banner), [context.error_banner, context.status]
        for files, save in (
            (self.export, self.on_export),
            (self.table_button, self.on_table),
            (self.rows_button, self.on_rows),
        ):
            files.click(safe(save), visitor, [*said, files], **immediate_event(save))
        streaming.bind_events()

    def on_open(self, session: Session) -> Updates:
        """The room is opened: datasets and streams may have changed. Until the visitor has run a picture or chosen a memory, it
        shows the first stored stream."""
        stream = session.stream
        stream.known = evaluation_page.known_streams(self.folders)
        session.touch("memory")
        stored = next((one for one in stream.known if one.stored), None)
        fresh = not session.memory.chosen and session.run is session.shared_run
        if fresh and stream.recording is None and stored is not None:
            self._show_stream(session, stored)
        return {self.streaming.inputs["dataset"]: gr.update(choices=dataset_choices(self.folders))}

    def pick_offered(self, visitor: str, event: gr.EventData) -> Updates:
        """The memory that the sentence on the picture on screen offers."""
        return self.pick_memory(visitor, event_data(event).get("name"))

    def pick_memory(self, visitor: str, name: JsonValue) -> Updates:
        """One of the visitor's memories is in use from now on, or the memory of a stream is shown, and its accuracy."""
        session = self.context.sessions.get(visitor)
        if not isinstance(name, str):
            raise DataError("No memory is chosen.", "Choose one from the menu.")
        with session.lock:
            session.memory.chosen = True
            if name in (str(n) for n in range(len(session.memories.histories))):
                session.stream.close()
                session.memories = session.memories.using(int(name))
                session.select(item=replacing_item(session.history), moment=None)
            else:
                self._show_stream(session, evaluation_page.find_stream(self.folders, name))
        self.context.sessions.evict()
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "memory")}

    def _show_stream(self, session: Session, one: StreamRun) -> None:
        stream = session.stream
        show_stream(stream, self.folders, one)
        running = None if stream.request is None else evaluation_page.stream_run_of(self.folders, stream.request)
        stream.following = stream.running and running is not None and running.name == one.name
        session.select(item=replacing_item(session.shown_history), moment=None)

    def decide_own(self, visitor: str) -> Iterator[Updates]:
        """Decide the picture on screen with the memory on screen at the selected moment, among its class names."""
        session = self.context.sessions.get(visitor)
        stream, engine, history = session.stream.recording, self.context.engine_of(session), session.shown_history
        if not history.moments:
            raise DemoError("There is no memory on screen.", "Run a picture first.")
        if not session.at_latest_moment:
            history = history.until(session.selected_moment)
        find = partial(own_picture_request, session, engine, stream, history)
        yield from self.opener.steps(session, find, self.room, "The picture with this memory")

    def open_picture(self, visitor: str) -> Iterator[Updates]:
        """The picture of the chosen stored view becomes that of the Story."""
        session = self.context.sessions.get(visitor)
        row, shown = session.selected_item, session.shown_history
        find = partial(stored_picture_request, session, self.context.engine_of(session), self.folders)
        what = "The picture" if row is None else shown.picture[row] or f"Picture {shown.born[row] + 1}"
        yield from self.opener.steps(session, find, what=what)

    def open_inside(self, visitor: str) -> Iterator[Updates]:
        """Run the selected picture of a stream again with the memory it was decided from, and show it."""
        session = self.context.sessions.get(visitor)
        engine, shown = self.context.engine_of(session), shown_stream(session, self.folders)
        if shown is None:
            raise DataError("There is no picture to open.", "Choose a stream first.")
        find = partial(stream_picture_request, session, engine, self.folders, shown.recording, shown.t)
        yield from self.opener.steps(session, find, "inside", f"Picture {shown.t} of the stream")

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
        if session.stream.history is not None:
            raise DemoError("This memory is a stream's: nothing is removed from it.", "Choose yours in the menu.")
        history, item, row = session.history, session.selection.item, session.selected_item
        if item is None or row is None:
            raise DemoError("No stored view is chosen.", "Choose one first.")
        if not session.at_latest_moment:
            message = "This is an earlier moment: only what the memory holds now can be removed."
            raise DemoError(message, "Move the slider to the latest moment.")
        title = f"Removed view {history.view[row]} of picture {history.born[row] + 1} from {history.names[item[0]]}"
        state = self.context.engine_of(session).remove_cache_item(history.state_at(), *item)
        history = history.with_state(title, state, history.names)
        return self._replace_history(session, history, f"{title}. Undo brings it back.")

    def on_export(self, visitor: str) -> Updates:
        """The memory on screen at the selected moment as a file that can be imported."""
        session = self.context.sessions.get(visitor)
        entry, run, stream = session.selected_entry, session.run, session.stream.recording
        if entry is None or run is None:
            raise DemoError("There is no memory to export yet.", "Run a picture first.")
        model, settings = run.backbone.name, run.settings
        if stream is not None:
            model, settings = stream.columns["backbone"], stream.header.requested
        memory = session.shown_history.until(session.selected_moment)
        made = partial(memory_file.pack, memory.with_moments(memory.moments[-MAX_MOMENTS:]), model, settings)
        return self._saved(self.export, "memory.zip", made, f"Exported {wording.view_count(len(entry.held))}.")

    def on_table(self, visitor: str) -> Updates:
        """Every view that entered up to the selected moment, as a file."""
        session = self.context.sessions.get(visitor)
        if not session.shown_history.moments:
            raise DemoError("There is no memory to list yet.", "Run a picture first.")
        rows = self._view_rows(session)
        made = partial(evaluation_page.stored_views_csv, *rows)
        return self._saved(self.table_button, "stored-views.csv", made, f"Saved {wording.view_count(len(rows[2]))}.")

    def on_rows(self, visitor: str) -> Updates:
        """All rows of the stream, as ``evaluate`` wrote them."""
        stream = self.context.sessions.get(visitor).stream.recording
        if stream is None:
            raise DataError("There is no stream to export.", "Choose or start one first.")
        made = partial(evaluation_page.rows_text, stream)
        return self._saved(self.rows_button, "rows.jsonl", lambda: made().encode(), "Saved the rows of the stream.")

    def _saved(self, button: DownloadButtons, name: str, make: Callable[[], bytes], said: str) -> Updates:
        self.export_count += 1
        with self.context.downloads:
            return {button: download_value(name, make(), self.export_count), **self.context.done(said)}

    def on_import(self, visitor: str, path: JsonValue) -> Updates:
        session = self.context.sessions.get(visitor)
        if not isinstance(path, str):
            raise DemoError("No file arrived.", "Try again.")
        info, data = self.context.engine_of(session).info, memory_file.read_file(Path(path))
        origin = f"{IMPORTED} ({Path(path).name[:MAX_NAME]})"
        imported = replace(memory_file.unpack(data, None, info.name, info.width), origin=origin)
        message = f"Imported {wording.view_count(len(imported.moments[-1].held))}. The next picture with its class names is decided from it."
        message += " The earlier memory stays in the menu." * bool(len(session.history.label))
        session.replace_history(imported)
        self.context.sessions.evict()
        return self._replace_history(session, session.history, message)

    def _replace_history(self, session: Session, history: MemoryTable, message: str) -> Updates:
        with session.lock:
            session.stream.close()
            session.history, session.memory.chosen = history, True
        session.select(moment=None, item=None)
        updates = self.context.answer(session, self.room, "memory")
        return {self.context.error_banner: "", **self.context.done(message), **updates}
