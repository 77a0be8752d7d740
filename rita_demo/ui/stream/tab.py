"""The tab *Stream*: many pictures with the cache kept between them; live, back in time, and from stored runs."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import gradio as gr

from rita_demo.defences.registry import DEFENCES, default_methods
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import MAX_PICTURES, MIN_PICTURES, DataFolders
from rita_demo.records.errors import DataError, SettingError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import BACKGROUND_EVENT, IMMEDIATE_EVENT, LONG_EVENT, AppContext, queued_event
from rita_demo.ui.framework.panels import PanelRegistry, Updates
from rita_demo.ui.session.cache_history import History
from rita_demo.ui.session.run_request import RunRequest, methods_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_state import StreamState
from rita_demo.ui.stream import memory_panels
from rita_demo.ui.stream import panels as stream_panels
from rita_demo.ui.stream.dataset_download import DatasetDownload, dataset_choices
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_fold, build_heading
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons, download_value
from rita_demo.ui.widgets.plotly_view import PlotlyView, clicked_integer, event_data, parse_int
from rita_demo.ui.widgets.setting_controls import settings_from
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

#: Not the engine's queue: between two pictures a stream of minutes leaves the engine to other visitors.
STREAM_QUEUE = queued_event("stream", 2)
MAX_WAIT_SECONDS = 20.0  # longest wait for other visitors' pictures, between two of the stream
MAX_SEARCH = 100  # letters
PAUSE_SECONDS = 0.02  # between two pictures, for requests that wait for the engine


TRAFFIC = [("clean", "clean"), ("mixed: half of them attacked", "mixed"), ("attacked", "attacked")]
ORDERS = [("mixed at random", "random"), ("one class after the other", "classes")]


class StreamTab:
    """The tab. Build it inside its ``gr.Tab``. From the other tabs it uses the components ``fields`` of the form with the
    settings, by name; ``run``, which runs a picture and puts it on screen, the handler ``start_background_work`` of what
    follows, and ``tabs``, which holds all tabs."""

    def __init__(
        self,
        context: AppContext,
        folders: DataFolders,
        fields: Mapping[str, Any],
        run: Callable[[Session, RunRequest], Iterator[Updates]],
        start_background_work: Callable[[Any], Iterator[Updates]],
        tabs: gr.Tabs,
    ) -> None:
        self.context, self.folders, self.fields, self.tabs = context, folders, fields, tabs
        self.run, self.start_background_work = run, start_background_work
        self.panels, self.export_count = PanelRegistry(), 0
        with gr.Column(elem_id="stream"):
            self._build_request_form()
            self.dataset_download = DatasetDownload(context, folders, self.request_inputs["dataset"])
            with build_fold("Open a stored run", elem_id="stored"):
                gr.HTML(
                    "<p class='quiet small'>Runs of this page, and of the command <code>evaluate</code> where "
                    "RITA was measured with the protocol <code>stream</code> into the server’s runs folder.</p>"
                )
                self.stored_menu = gr.Dropdown([], label="Run", show_label=False, elem_id="stored-run")
                with gr.Row(elem_classes="whatif-row"):
                    self.open_button = gr.Button("Open it", size="sm", elem_id="open-run")
            with gr.Row(elem_id="stream-buttons"):
                self.buttons: dict[str, Any] = {
                    "start": gr.Button("Start the stream", variant="primary", elem_id="stream-start"),
                    "pause": gr.Button("Pause", visible=False, elem_id="stream-pause"),
                    "resume": gr.Button("Resume", visible=False, elem_id="stream-resume"),
                    "step": gr.Button("One picture", visible=False, elem_id="stream-step"),
                    "cancel": gr.Button("Cancel", visible=False, elem_id="stream-cancel"),
                }
            self.panels.add(gr.HTML(elem_id="stream-status"), stream_panels.status)
            self._build_accuracy()
            self._build_comparison()
            self._build_cache()
        context.panels.on_open("stream", self.on_open)

    # --- layout
    def _build_request_form(self) -> None:
        """The form; ``request_inputs`` is named as the parameters of :func:`rita_demo.evaluation.page.request_for`."""
        build_heading(
            "A stream of pictures",
            f"One picture after the other, with the {wording.term_html('memory (cache)')} kept between them and the true "
            "classes known: does the memory help, and is what it holds right? Attack, strength, views, memory and the "
            "methods to compare are those chosen on the first tab; the square is the model’s input, as in all tables. "
            f"{NOT_ZERO_SHOT}",
        )
        listed, asked = dataset_choices(self.folders), dict[str, Any]()
        with gr.Row(elem_classes="stream-form"):
            asked["dataset"] = gr.Dropdown(
                listed, value=listed[0][1], label="Pictures", filterable=False, scale=3, elem_id="stream-dataset"
            )
            asked["pictures"] = gr.Slider(
                MIN_PICTURES, MAX_PICTURES, value=50, step=1, label="How many", scale=2, elem_id="stream-pictures"
            )
            asked["whole"] = gr.Checkbox(False, label="The whole test split", elem_id="stream-whole")
        with gr.Row(elem_classes="stream-form"):
            asked["traffic"] = gr.Radio(TRAFFIC, value="mixed", label="They arrive", elem_id="stream-traffic")
            asked["order"] = gr.Radio(ORDERS, value="random", label="In which order", elem_id="stream-order")
            asked["seed"] = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="stream-seed")
        self.request_inputs = asked

    def _build_accuracy(self) -> None:
        add, p = self.panels.add, stream_panels
        add(gr.HTML(elem_id="stream-heading"), p.heading)
        self.slider = gr.Slider(
            1,
            2,
            value=1,
            step=1,
            label="After picture",
            visible=False,
            elem_id="stream-time",
            info="Accuracy and memory as they were then; all the way to the right follows the stream.",
        )
        add(self.slider, p.slider)
        left, right = build_columns(2, 3)
        with left:
            add(gr.HTML(elem_id="stream-standings"), p.accuracy_table)
        with right:
            accuracy = self._build_figure("Accuracy over the stream", p.accuracy_figure, "accuracy")
        self.figures = [accuracy]
        self.thumbnails = HtmlButtons(elem_id="stream-pictures-near")
        add(self.thumbnails, lambda session: p.thumbnails(session, self.folders))
        with gr.Row(elem_id="stream-open"):
            self.buttons |= {
                "inside": gr.Button("Open in Inside RITA", size="sm", visible=False, elem_id="stream-inside"),
                "memory": gr.Button("Open in Memory", size="sm", visible=False, elem_id="stream-open-memory"),
                "export": DownloadButtons(
                    {"jsonl": "Export the rows (JSON lines)"}, visible=False, elem_id="stream-export"
                ),
            }

    def _build_comparison(self) -> None:
        m, folders = memory_panels, self.folders
        build_heading("Does the memory help?")
        self.other_menu = gr.Dropdown(
            [("its memory off", m.OFF)],
            value=m.OFF,
            label="This stream against",
            filterable=False,
            elem_id="stream-other",
        )
        self.panels.add(self.other_menu, lambda session: m.other_choices(session, folders))
        self.changed = HtmlButtons(elem_id="stream-help")
        self.panels.add(self.changed, lambda session: m.help_html(session, folders))
        with build_fold("Which pictures does who get right?", elem_id="stream-who"):
            self.outcome = gr.Radio(
                m.OUTCOMES, value="rita", label="Pictures", show_label=False, elem_id="stream-outcome"
            )
            self.sorted_out = HtmlButtons(elem_id="stream-outcomes")
            self.panels.add(self.sorted_out, lambda session: m.outcome_gallery(session, folders))
        with build_fold("What the two memories hold", elem_id="stream-two"):
            self.panels.add(gr.HTML(elem_id="stream-contents"), lambda session: m.contents_html(session, folders))

    def _build_views(self) -> None:
        m, folders = memory_panels, self.folders
        lead = (
            "A view enters when its entropy is under the limit and its class has a free place or holds a view of higher "
            "entropy, which leaves for it. The frame is the view; its picture opens in all tabs."
        )
        with build_fold("Every remembered view: where it came from, who left for it", lead, elem_id="stream-views"):
            with gr.Row(elem_classes="stream-form"):
                self.search = gr.Textbox(
                    label="Search", placeholder="class, file, wrong, attacked", elem_id="stream-search", scale=2
                )
                self.order = gr.Dropdown(
                    [(title, name) for title, name, _ in m.ORDERS],
                    value="class",
                    label="Sorted by",
                    filterable=False,
                    elem_id="stream-sort",
                )
                self.listed = gr.Radio(m.LISTED, value="held", label="Views", elem_id="stream-listed")
            self.views = HtmlButtons(elem_id="stream-remembered")
            self.panels.add(self.views, lambda session: m.remembered_table(session, folders))

    def _build_cache(self) -> None:
        p = stream_panels
        build_heading("What entered the memory")
        self.panels.add(gr.HTML(elem_id="stream-memory"), p.cache_text)
        left, right = build_columns(1, 1)
        with left:
            gr.HTML("<h3>Fill and purity</h3>")
            growth = self._build_figure("How full and how pure the memory is", p.fill_and_purity, "growth")
        with right:
            gr.HTML("<h3>Views that entered</h3>")
            entered = self._build_figure("Entropy of the views that entered", p.insertions, "entered")
        self.figures += [growth, entered]
        gr.HTML("<h3>Who was held, and how long</h3>")
        self.figures.append(
            self._build_figure("When each view was held", p.class_timeline, "timeline", "class", height=480)
        )
        self._build_views()
        gr.HTML("<h3>Class by class</h3>")
        self.classes = self._build_figure("The memory per class", p.class_cache, "classes", "class")

    def _build_figure(self, aria: str, draw: Any, name: str, *topics: str, height: int = 300) -> PlotlyView:
        figure = PlotlyView(aria=aria, height=height, empty="Nothing was streamed yet.", elem_id=f"stream-{name}")
        self.panels.add(figure, draw, *topics)
        return figure

    # --- events
    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all tabs are registered."""
        visitor, b = self.context.visitor, self.buttons
        mine = [*self.panels.components, *b.values(), self.request_inputs["dataset"], self.stored_menu]
        outputs = [self.context.error_banner, *dict.fromkeys(mine)]
        inputs_of_start = {visitor, *self.request_inputs.values(), *self.fields.values()}
        safe = notice.handle_errors(self.context.error_banner, lambda: {b["start"]: gr.update(interactive=True)})
        b["start"].click(safe(self.on_start), inputs_of_start, outputs, **STREAM_QUEUE)
        b["resume"].click(safe(self.on_resume), visitor, outputs, **STREAM_QUEUE)
        b["step"].click(safe(self.on_step), visitor, outputs, **STREAM_QUEUE)
        listing = (self.search.change, self.order.input, self.listed.input)
        quick: list[tuple[Any, Any, list[Any]]] = [
            (b["pause"].click, self.on_pause, [visitor]),
            (b["cancel"].click, self.on_cancel, [visitor]),
            (self.slider.input, self.pick_picture, [visitor, self.slider]),
            (self.thumbnails.click, self.click_picture, [visitor]),
            (self.changed.click, self.click_picture, [visitor]),
            (self.sorted_out.click, self.click_picture, [visitor]),
            (self.outcome.input, self.pick_outcome, [visitor, self.outcome]),
            (self.other_menu.input, self.pick_other, [visitor, self.other_menu]),
            *((event, self.list_views, [visitor, self.search, self.order, self.listed]) for event in listing),
            *((figure.click, self.click_figure, [visitor]) for figure in self.figures),
            (self.open_button.click, self.open_stored, [visitor, self.stored_menu]),
            (b["export"].click, self.on_export, [visitor]),
        ]
        for event, handler, inputs in quick:
            event(safe(handler), inputs, outputs, **IMMEDIATE_EVENT)
        self.context.bind_tab(own_tab, outputs[1:])
        everywhere = self.context.outputs(self.classes)
        self.classes.click(safe(self.click_class), visitor, everywhere, **IMMEDIATE_EVENT)
        more = [self.tabs, *self.context.outputs()]
        clearing = notice.handle_errors(self.context.error_banner, lambda: {self.context.status: ""})
        for event, handler in (
            (b["inside"].click, self.open_inside),
            (b["memory"].click, self.open_memory),
            (self.views.click, self.open_remembered),
        ):
            opened = event(clearing(handler), visitor, more, **LONG_EVENT)
            opened.success(clearing(self.start_background_work), visitor, more[1:], **BACKGROUND_EVENT)
        self.dataset_download.bind_events()

    def _draw(self, session: Session) -> Updates:
        shown = stream_panels.buttons(session)
        updates = {self.buttons[name]: update for name, update in shown.items()}
        return updates | self.panels.redraw(session, "run")

    def _stored_choices(self) -> Any:
        found = evaluation_page.stream_runs(self.folders.runs)
        return gr.update(choices=[(one.title, one.name) for one in found])

    def on_open(self, session: Session) -> Updates:
        """The tab is opened: datasets and stored runs may have changed."""
        listed = {self.request_inputs["dataset"]: gr.update(choices=dataset_choices(self.folders))}
        return listed | {self.stored_menu: self._stored_choices()} | self._draw(session)

    # --- running
    def on_start(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """Start a stream; one with the same request is resumed."""
        visitor = values[self.context.visitor]
        session = self.context.sessions.get(visitor)
        form = {name: values[component] for name, component in self.fields.items()}
        settings, methods = settings_from(form), methods_of(form)
        asked = {name: values[component] for name, component in self.request_inputs.items()}
        backbone = self.context.engine_of(session).info.name
        request = evaluation_page.request_for(self.folders, settings, backbone, methods=methods, **asked)
        yield from self._run_stream(visitor, session, request)

    def on_resume(self, visitor: Any) -> Iterator[Updates]:
        yield from self._run_stream(visitor, self.context.sessions.get(visitor))

    def on_step(self, visitor: Any) -> Iterator[Updates]:
        yield from self._run_stream(visitor, self.context.sessions.get(visitor), most=1)

    def _run_stream(
        self, visitor: Any, session: Session, new: Any = None, most: int = MAX_PICTURES
    ) -> Iterator[Updates]:
        view, engine = session.stream, self.context.engine_of(session)
        with session.lock:  # two presses may arrive together
            if view.running:
                raise SettingError("A stream of yours is running.", "Pause or cancel it first.")
            if new is not None:
                view.close()
                view.request = new
            if view.request is None:
                raise SettingError("There is no paused stream.", "Start one.")
            if view.request.backbone != engine.info.name:
                raise SettingError("Another model was chosen since.", "Choose the stream's one, or start anew.")
            request = view.request
            view.running, view.pause_requested = True, False
        try:
            yield {self.context.error_banner: "", **self._draw(session)}
            with closing(evaluation_page.stream_steps(engine, request)) as steps:
                for done, _ in enumerate(steps, 1):
                    self.context.sessions.get(visitor)  # raises when the page was closed
                    self._reload(session)
                    yield self._draw(session)
                    if done >= most or view.pause_requested:
                        break
                    yield from self._wait_for_others(view)
            self._reload(session)  # a stream that was complete before yields nothing
        finally:
            view.running = False
        yield {self.stored_menu: self._stored_choices(), **self._draw(session)}

    def _reload(self, session: Session) -> None:
        view, request = session.stream, session.stream.request
        found = request and evaluation_page.stream_run_of(self.folders, request)
        with session.lock:
            if found is not None and view.request is request:  # it may have been cancelled meanwhile
                view.show(found)

    def _wait_for_others(self, stream: StreamState) -> Iterator[Updates]:
        """Single pictures of all visitors come first."""
        time.sleep(PAUSE_SECONDS)
        until = time.monotonic() + MAX_WAIT_SECONDS
        while self.context.activity.running_jobs and not stream.pause_requested and time.monotonic() < until:
            yield {self.context.error_banner: gr.skip()}
            time.sleep(0.2)

    def on_pause(self, visitor: Any) -> Updates:
        """Stop after the picture that is being decided."""
        self.context.sessions.get(visitor).stream.pause_requested = True
        return {self.buttons["pause"]: gr.update(visible=False)}

    def on_cancel(self, visitor: Any) -> Updates:
        """End the stream; what was decided stays among the stored runs."""
        session = self.context.sessions.get(visitor)
        session.stream.pause_requested = True
        with session.lock:
            session.stream.close()
        # The running event enables "Start" as it ends. An update here could arrive later and disable the button again.
        updates = self._draw(session) | {self.buttons["pause"]: gr.update(visible=False)}
        updates.pop(self.buttons["start"])
        return {self.stored_menu: self._stored_choices(), **updates}

    # --- selecting
    def pick_picture(self, visitor: Any, number: Any) -> Updates:
        session = self.context.sessions.get(visitor)
        updates = self._select_picture(session, parse_int(number, 1, 10**9))
        updates.pop(self.slider, None)  # the slider itself has the new value
        return updates

    def click_picture(self, visitor: Any, event: gr.EventData) -> Updates:
        number = parse_int(event_data(event).get("t"), 1, 10**9)
        return self._select_picture(self.context.sessions.get(visitor), number)

    def click_figure(self, visitor: Any, event: gr.EventData) -> Updates:
        return self._select_picture(self.context.sessions.get(visitor), clicked_integer(event, 10**9))

    def click_class(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class of the cache was clicked: it is selected in every tab, if the displayed run has it."""
        session = self.context.sessions.get(visitor)
        run, trajectory = session.run, session.stream.trajectory
        k = clicked_integer(event, len(trajectory.names) if trajectory else 0)
        if k is None or trajectory is None or run is None or trajectory.names[k] not in run.class_prompts.names:
            return {}
        session.select(k=run.class_prompts.names.index(trajectory.names[k]), atom=None)
        return self.context.panels.redraw(session, "class") | self.panels.redraw(session, "class")

    def _select_picture(self, session: Session, number: int | None) -> Updates:
        view = session.stream
        if number is None or not 1 <= number <= view.decided:
            return {}
        view.selected = None if number == view.decided else number
        return self._draw(session)

    def pick_other(self, visitor: Any, value: Any) -> Updates:
        session = self.context.sessions.get(visitor)
        session.stream.other = memory_panels.parse_other(session, self.folders, value)
        return {self.context.error_banner: "", **self._draw(session)}

    def pick_outcome(self, visitor: Any, outcome: Any) -> Updates:
        """Which pictures the gallery shows; an unknown value means the first choice."""
        session = self.context.sessions.get(visitor)
        session.stream.outcome = outcome
        return {self.sorted_out: memory_panels.outcome_gallery(session, self.folders)}

    def list_views(self, visitor: Any, search: Any, order: Any, listed: Any) -> Updates:
        """Search, sort and choose the remembered views; unknown values mean the first choice."""
        session = self.context.sessions.get(visitor)
        view = session.stream
        view.search = search[:MAX_SEARCH] if isinstance(search, str) else ""
        view.order, view.listed = order, listed
        return {self.views: memory_panels.remembered_table(session, self.folders)}

    def open_stored(self, visitor: Any, name: Any) -> Updates:
        session = self.context.sessions.get(visitor)
        if session.stream.running:
            raise SettingError("A stream of yours is running.", "Pause it first.")
        if not isinstance(name, str):
            raise DataError("No run is chosen.", "Choose one from the list.")
        found = evaluation_page.find_stream_run(self.folders.runs, name)
        session.stream.close()
        session.stream.show(found)
        self.context.sessions.evict()
        return {self.context.error_banner: "", **self._draw(session)}

    def on_export(self, visitor: Any) -> Updates:
        """All rows of the stream, as ``evaluate`` wrote them, as a file."""
        view = self.context.sessions.get(visitor).stream
        if view.recording is None:
            raise DataError("There is no stream to export.", "Start one or open a stored run.")
        self.export_count += 1
        with self.context.downloads.slot():
            data = evaluation_page.rows_text(view.recording).encode()
            return {self.buttons["export"]: download_value("rows.jsonl", data, self.export_count)}

    def open_inside(self, visitor: Any) -> Iterator[Updates]:
        """Run the selected picture again with the cache it was decided from, and show it in *Inside RITA*."""
        yield from self._open_picture(visitor, None, "inside")

    def open_memory(self, visitor: Any) -> Iterator[Updates]:
        """The same, in *Memory*, where every remembered view can be left out."""
        yield from self._open_picture(visitor, None, "memory")

    def open_remembered(self, visitor: Any, event: gr.EventData) -> Iterator[Updates]:
        """The picture of a remembered view was clicked."""
        number = parse_int(event_data(event).get("t"), 1, self.context.sessions.get(visitor).stream.decided + 1)
        if number is not None:
            yield from self._open_picture(visitor, number, "inside")

    def _open_picture(self, visitor: Any, number: int | None, tab: str) -> Iterator[Updates]:
        session = self.context.sessions.get(visitor)
        view, engine = session.stream, self.context.engine_of(session)
        if view.recording is None or view.trajectory is None or not view.shown_picture:
            raise DataError("There is no picture to open.", "Start a stream first.")
        with self.context.activity.track_job():
            finding = notice.progress_html("Finding the picture", 0, 0)
            yield {self.context.error_banner: "", self.context.status: finding}
            t, before = number or view.shown_picture, session.history
            met = evaluation_page.open_stream_picture(engine, self.folders, view.recording, t)
            methods = tuple(m for m in DEFENCES if m in view.recording.cells or m in default_methods())
            found = (met.picture, met.names, met.settings, met.label, met.target, met.title)
            request = RunRequest(*found, methods=methods)
            # the cache before that picture; Undo brings the visitor's own one back
            snapshot = memory_panels.snapshot_before(session, self.folders, met, t)
            kept = before if before.current is not None and before.current.key == snapshot.key else History()
            session.history = kept.with_snapshot(f"A stream, before its picture {t}", snapshot)
            to_front: dict[Any, Any] = {self.tabs: gr.update(selected=tab)}
            yield to_front
            session.visible_tab = tab
            try:
                yield from self.run(session, request)
            except Exception:
                session.history = before
                raise
