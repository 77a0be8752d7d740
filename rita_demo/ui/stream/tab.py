"""Streams in the room *Memory*: many pictures with the cache kept between them; live, back in time, and from stored runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import gradio as gr
from gradio.components import Component

from rita_demo import plots
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import MAX_PICTURES, MIN_PICTURES, ChosenPictures, DataFolders, Request, StreamRun
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.plots.figure import Figure
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DataError, DemoError, SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.chosen_buttons import Choice, ChosenButtons
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, immediate_event, queued_event
from rita_demo.ui.framework.form import Form
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import FormValues, PanelValue, Updates
from rita_demo.ui.session.mark import Mark
from rita_demo.ui.session.run_request import methods_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_history import own_picture_request, stream_history, stream_picture_request
from rita_demo.ui.session.stream_state import StreamState
from rita_demo.ui.stream import memory_panels
from rita_demo.ui.stream import panels as stream_panels
from rita_demo.ui.stream.dataset_download import DatasetDownload, dataset_choices
from rita_demo.ui.stream.panels import ShownStream, shown_stream
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_fold, build_heading, build_menu
from rita_demo.ui.widgets.html_buttons import (
    DownloadButtons,
    HtmlButtons,
    MarkButtons,
    clicked_format,
    download_value,
    event_data,
)
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.ui.widgets.setting_controls import settings_from
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

#: Not the engine's queue: between two pictures a stream of minutes leaves the engine to other visitors.
STREAM_QUEUE = queued_event("stream", 2)
MAX_WAIT_SECONDS = 20.0  # longest wait for other visitors' pictures, between two of the stream
MAX_SEARCH = 100  # letters
PAUSE_SECONDS = 0.02  # between two pictures, for requests that wait for the engine
TRAFFIC = [("clean", "clean"), ("mixed: half of them attacked", "mixed"), ("attacked", "attacked")]
ORDERS = [("mixed at random", "random"), ("one class after the other", "classes")]
NAMES = [("all class names", "all"), ("the names with pictures here", "present")]
LEAD = (
    f"One picture after the other, with the {wording.term_html('memory (cache)')} kept between them: does it help, and is what "
    "it holds right? Attack, strength, views, memory and methods are those of the form above the Story; every picture is cut to the "
    f"model’s square, as in all tables. {NOT_ZERO_SHOT}"
)
NO_STREAM = "<p class='empty'>Shown once a stream was run.</p>"
REPLACES = (
    "<p class='quiet small'>The memory in use becomes that of the stream; yours stays in the menu above. The Story’s "
    "picture, class names and settings become those of the stream.</p>"
)
EXPORTS = {"jsonl": "Export the rows (JSON lines)", "csv": "Export every stored view (CSV)"}
DECIDE = "Decide my own picture with this memory"
C = TypeVar("C", bound=Component)


class StreamTab:
    """Part of *Memory*. Build it inside its ``gr.Tab``. ``form``: has the settings."""

    room = "memory"

    def __init__(self, context: AppContext, folders: DataFolders, form: Form, opener: RunOpener) -> None:
        self.context, self.folders, self.form, self.opener = context, folders, form, opener
        self.figures, self.export_count = dict[str, PlotlyView](), 0
        with gr.Column(elem_id="stream"):
            build_heading("A stream of pictures", LEAD)
            self._add(gr.HTML(elem_id="stream-says"), stream_panels.says)
            self.stored_menu = build_menu([], label="On screen", elem_id="stored-run", filterable=False)
            with gr.Row(elem_id="stream-buttons"):
                start = gr.Button("Start a stream of your own", variant="primary", elem_id="stream-start")
                self.buttons = {"start": start}
                context.panels.add(start, lambda s: gr.update(interactive=not s.stream.running), "stream")
                self._add_button("pause", "Pause", lambda stream: stream.running)
                for name, text in (("resume", "Resume"), ("step", "One picture")):
                    self._add_button(name, text, lambda stream: stream.unfinished and not stream.running)
                self._add_button("cancel", "Cancel", lambda stream: stream.unfinished)
            with build_fold("Which pictures, how many, attacked or not", elem_id="stream-settings"):
                self._build_request_form()
            self.dataset_download = DatasetDownload(context, folders, self.request_inputs["dataset"])
            self._add(gr.HTML(elem_id="stream-status"), stream_panels.status)
            self._build_accuracy()
            self._build_comparison()
            self._build_cache()
        context.panels.on_open(self.room, self.on_open)

    # --- layout
    def _build_request_form(self) -> None:
        """The form; ``request_inputs`` is named as the parameters of :func:`rita_demo.evaluation.page.request_for`."""
        listed, asked = dataset_choices(self.folders), dict[str, Any]()
        with gr.Row(elem_classes="stream-form"):
            asked["dataset"] = build_menu(
                listed, value=listed[0][1], label="Pictures", filterable=False, scale=3, elem_id="stream-dataset"
            )
            asked["pictures"] = gr.Slider(
                MIN_PICTURES, MAX_PICTURES, value=50, step=1, label="How many", scale=2, elem_id="stream-pictures"
            )
            asked["whole"] = gr.Checkbox(False, label="The whole test split", elem_id="stream-whole")
        with gr.Row(elem_classes="stream-form"):
            asked["traffic"] = gr.Radio(TRAFFIC, value="mixed", label="They arrive", elem_id="stream-traffic")
            asked["order"] = gr.Radio(ORDERS, value="random", label="In which order", elem_id="stream-order")
            asked["names"] = gr.Radio(NAMES, value="all", label="Asked among", elem_id="stream-names")
            asked["seed"] = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="stream-seed")
        self.request_inputs = asked

    def _add_button(self, name: str, text: str, is_shown: Callable[[StreamState], bool], **options: Any) -> None:
        """A button that is visible when ``is_shown``; braces in its text stand for the selected picture."""
        button = gr.Button(text, visible=False, elem_id=f"stream-{name}", **options)

        def draw(session: Session) -> PanelValue:
            stream = session.stream
            return gr.update(visible=is_shown(stream), value=text.format(stream.shown_picture))

        self.buttons[name] = self.context.panels.add(button, draw, "stream")

    def _add(self, component: C, draw: Callable[[ShownStream], PanelValue], *topics: str, empty: str | None = "") -> C:
        """A panel of the stream on screen; ``empty`` before there is one."""

        def panel(session: Session) -> PanelValue:
            shown = shown_stream(session, self.folders)
            return empty if shown is None else draw(shown)

        return self.context.panels.add(component, panel, "stream", *topics)

    def _add_figure(
        self, name: str, aria: str, draw: Callable[[ShownStream], Figure], *topics: str, height: int = 300
    ) -> None:
        gr.HTML(f"<h3>{aria}</h3>")
        figure = PlotlyView(aria=aria, height=height, empty="Nothing was streamed yet.", elem_id=f"stream-{name}")
        self.figures[name] = self._add(figure, lambda shown: shown.captioned(draw(shown)), *topics, empty=None)

    def _build_accuracy(self) -> None:
        p = stream_panels
        self._add(gr.HTML(elem_id="stream-heading"), p.heading, empty="<h3>No stream yet</h3>")
        info = "As it was then; the right end follows the stream."
        time_slider = gr.Slider(
            1, 2, value=1, step=1, label="After picture", visible=False, elem_id="stream-time", info=info
        )
        self.slider = self.context.panels.add(time_slider, p.slider, "stream")
        left, right = build_columns(2, 3)
        with left:
            empty = "<p class='empty'>Start a stream, or choose a stored one.</p>"
            self._add(gr.HTML(elem_id="stream-standings"), p.accuracy_table, empty=empty)
        with right:
            title = "Accuracy over the stream"
            self._add_figure("accuracy", title, lambda s: plots.running_accuracy(s.trajectory, s.t))
        self._add(MarkButtons(elem_id="stream-pictures-near"), p.latest_pictures)
        with gr.Row(elem_id="stream-open"):
            for name, text in (
                ("inside", "Open picture {} in Inside"),
                ("memory", "Open the memory before picture {}"),
            ):
                self._add_button(f"open-{name}", text, lambda stream: stream.shown_picture > 0, size="sm")
            self._add_button("decide", DECIDE, lambda stream: stream.shown_picture > 0, size="sm")
            self.export = DownloadButtons(EXPORTS, visible=False, elem_id="stream-export")
            shown = self.context.panels.add
            shown(self.export, lambda session: gr.update(visible=session.stream.shown_picture > 0), "stream")
        self._add(gr.HTML(elem_id="stream-replaces"), lambda shown: REPLACES)

    def _build_comparison(self) -> None:
        m = memory_panels
        build_heading("Does the memory help?")
        empty = "<p class='empty'>Answered once a stream runs: the same pictures with the memory and without.</p>"
        self._add(MarkButtons(elem_id="stream-help"), m.help_html, empty=empty)
        with build_fold("Which method is right on which picture?", elem_id="stream-who"):
            self.outcome = gr.Radio(
                m.OUTCOMES, value="rita", label="Pictures", show_label=False, elem_id="stream-outcome"
            )
            self.sorted_out = self._add(MarkButtons(elem_id="stream-outcomes"), m.outcome_gallery, empty=NO_STREAM)
            choice = Choice(
                *("outcome", self._outcome_pictures, self._has_outcome, self._outcome_table),
                *("pictures.csv", "These pictures as CSV"),
            )
            self.chosen_buttons = ChosenButtons(self.context, self.folders, choice, "stream")

    def _has_outcome(self, session: Session) -> bool:
        shown = shown_stream(session, self.folders)
        return shown is not None and not shown.state.running and bool(memory_panels.outcome_pictures(shown))

    def _outcome_pictures(self, session: Session) -> ChosenPictures:
        """The pictures of the gallery, asked among the stream's class names. Raises DataError: there are none."""
        shown = shown_stream(session, self.folders)
        if shown is None:
            raise DataError("There is no stream yet.", "Start one first.")
        pictures, names = shown.trajectory.pictures, shown.trajectory.names
        ids = tuple(pictures[n] for n in memory_panels.outcome_pictures(shown))
        return ChosenPictures(ids, names, shown.recording.place)

    def _outcome_table(self, session: Session) -> bytes:
        shown = shown_stream(session, self.folders)
        return b"" if shown is None else memory_panels.outcome_csv(shown)

    def _build_views(self) -> None:
        m = memory_panels
        lead = (
            "A view enters if its entropy is at most the limit and its class has a free place or a view of higher "
            "entropy, which it replaces. The frame is the view; its picture opens in all rooms."
        )
        with build_fold("Every stored view: where it came from, which one it replaced", lead, elem_id="stream-views"):
            with gr.Row(elem_classes="stream-form"):
                hint, orders = "class, file, wrong, attacked", [(title, name) for title, name, _ in m.ORDERS]
                self.search = gr.Textbox(label="Search", placeholder=hint, elem_id="stream-search", scale=2)
                self.order = build_menu(
                    orders, value="class", label="Sorted by", filterable=False, elem_id="stream-sort"
                )
                self.listed = gr.Radio(m.LISTED, value="held", label="Views", elem_id="stream-listed")
            self.views = self._add(HtmlButtons(elem_id="stream-remembered"), m.remembered_table, empty=NO_STREAM)

    def _build_cache(self) -> None:
        p = stream_panels
        build_heading("What entered the memory")
        self._add(gr.HTML(elem_id="stream-memory"), p.cache_text)
        left, right = build_columns(1, 1)
        with left:
            title = "How full and how pure the memory is"
            self._add_figure("growth", title, lambda s: plots.cache_growth(s.trajectory, s.t))
        with right:
            title = "Entropy of the views that entered"
            self._add_figure("entered", title, lambda s: plots.cache_insertions(s.trajectory, s.t))
        self._add_figure("timeline", "When each view was held", p.class_timeline, "class", height=480)
        self._build_views()
        self._add_figure("classes", "The memory per class", p.class_cache, "class")
        self._add(gr.HTML(), p.class_cache_note)

    # --- events
    def bind_events(self) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        visitor, b, context = self.context.visitor, self.buttons, self.context
        self.long_outputs = context.outputs(b["start"], self.stored_menu)
        inputs_of_start = {visitor, *self.request_inputs.values(), *self.form.fields.values()}
        safe = notice.handle_errors(context.error_banner, lambda: {b["start"]: gr.update(interactive=True)})
        b["start"].click(safe(self.on_start), inputs_of_start, self.long_outputs, **STREAM_QUEUE)
        b["resume"].click(safe(self.on_resume), visitor, self.long_outputs, **STREAM_QUEUE)
        b["step"].click(safe(self.on_step), visitor, self.long_outputs, **STREAM_QUEUE)
        bind = partial(context.bind_quick, self.room)
        bind(b["pause"].click, self.on_pause, [visitor], "stream")
        bind(self.stored_menu.input, self.open_stored, [visitor, self.stored_menu], "stream")
        b["cancel"].click(safe(self.on_cancel), visitor, self.long_outputs, **IMMEDIATE_EVENT)
        plain, listed = notice.handle_errors(context.error_banner), [self.search, self.order, self.listed]
        changed = partial(gr.on, [self.search.change, self.order.input, self.listed.input])
        gallery = [self.sorted_out, *self.chosen_buttons.components]
        for event, handler, inputs, outputs in (
            (changed, self.list_views, listed, [self.views]),
            (self.outcome.input, self.pick_outcome, [self.outcome], gallery),
            (self.export.click, self.on_export, list[Any](), [self.export]),
        ):
            event(plain(handler), [visitor, *inputs], [context.error_banner, *outputs], **immediate_event(handler))
        self.opener.bind_event(b["open-inside"].click, self.open_inside)
        self.opener.bind_event(b["open-memory"].click, self.open_memory)
        self.opener.bind_event(b["decide"].click, self.decide_own)
        self.opener.bind_event(self.views.click, self.open_remembered)
        self.dataset_download.bind_events()
        self.chosen_buttons.bind_events(self.form, self.bind_chosen, [self.stored_menu], self._stored_choices)

    @property
    def opened(self) -> list[Component]:
        """What :meth:`on_open` updates besides panels."""
        return [self.request_inputs["dataset"], self.stored_menu]

    def _stored_choices(self, session: Session) -> Updates:
        found, shown = evaluation_page.known_streams(self.folders), session.stream.recording
        value = None if shown is None else shown.name
        return {self.stored_menu: gr.update(choices=evaluation_page.stream_choices(found), value=value)}

    def on_open(self, session: Session) -> Updates:
        """The room is opened: datasets and stored runs may have changed. The first time it shows a stored example."""
        if session.stream.recording is None and session.stream.request is None:
            for one in evaluation_page.shipped_streams()[:1]:
                session.stream.show(one)
        session.touch("stream")
        listed: Updates = {self.request_inputs["dataset"]: gr.update(choices=dataset_choices(self.folders))}
        return listed | self._stored_choices(session)

    # --- running
    def on_start(self, values: FormValues) -> Iterator[Updates]:
        """Start a stream; one with the same request is resumed."""
        yield from self.on_resume(values[self.context.visitor], self._request(values))

    def bind_chosen(self, event: Any, find: Callable[[Session], ChosenPictures]) -> None:
        """Connect an event of another room that makes the pictures that ``find`` gives the next stream."""

        def start_chosen(values: FormValues) -> Iterator[Updates]:
            yield from self.start_chosen(values, find)

        start = self.buttons["start"]
        safe = notice.handle_errors(self.context.error_banner, lambda: {start: gr.update(interactive=True)})
        inputs = {self.context.visitor, *self.request_inputs.values(), *self.form.fields.values()}
        event(safe(start_chosen), inputs, [self.opener.tabs, *self.long_outputs], **STREAM_QUEUE)

    def start_chosen(self, values: FormValues, find: Callable[[Session], ChosenPictures]) -> Iterator[Updates]:
        """Stream chosen pictures; how they arrive is set here, and *Memory* comes to the front."""
        visitor = values[self.context.visitor]
        session = self.context.sessions.get(visitor)
        chosen = find(session)
        steps = self.on_resume(visitor, self._request(values, chosen))
        first = next(steps)  # before the room comes to the front: it may be refused
        said = f"{len(chosen.ids)} chosen pictures are the next stream, among {len(chosen.names)} class names."
        to_front: dict[Any, Any] = {self.opener.tabs: gr.update(selected=self.room)}
        yield to_front | first | self.context.done(said)
        yield from steps

    def _request(self, values: FormValues, chosen: ChosenPictures | None = None) -> Request:
        """The request of the form, of ``chosen`` pictures if there are any."""
        session = self.context.sessions.get(str(values[self.context.visitor]))
        form = self.form.read(session, values)
        settings, methods = settings_from(form), methods_of(form)
        asked = {name: values[component] for name, component in self.request_inputs.items()}
        backbone = self.context.engine_of(session).info.name
        return evaluation_page.request_for(self.folders, settings, backbone, methods=methods, chosen=chosen, **asked)

    def on_step(self, visitor: str) -> Iterator[Updates]:
        yield from self.on_resume(visitor, most=1)

    def on_resume(self, visitor: str, new: Request | None = None, most: int = MAX_PICTURES) -> Iterator[Updates]:
        """Go on with the visitor's stream, or with a ``new`` request, for ``most`` pictures."""
        session = self.context.sessions.get(visitor)
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
                raise SettingError("Another model was chosen since.", "Choose its model, or start a new stream.")
            request = view.request
            view.running, view.pause_requested, view.time_left = True, False, TimeLeft()
        try:
            shown: Updates = {} if new is None else {self.stored_menu: gr.update(value=None)}
            yield {self.context.error_banner: "", **self.context.changed(session, "stream"), **shown}
            with closing(evaluation_page.stream_steps(engine, request)) as steps:
                for done, step in enumerate(steps, 1):
                    self.context.sessions.get(visitor)  # raises when the page was closed
                    self._reload(session)
                    fault = DemoError(
                        f"No answer. {step.fault.rstrip('.')}.", f"The stream goes on. {evaluation_page.NO_COUNT}"
                    )
                    said = {self.context.error_banner: notice.error_html(fault)} if step.fault else {}
                    yield self.context.changed(session, "stream") | said
                    if done >= most or view.pause_requested:
                        break
                    time.sleep(PAUSE_SECONDS)
                    until = time.monotonic() + MAX_WAIT_SECONDS
                    for _ in self.context.activity.wait_until_idle():  # single pictures come first
                        if view.pause_requested or time.monotonic() > until:
                            break
                        yield {self.context.error_banner: gr.skip()}
            self._reload(session)  # a stream that was complete before yields nothing
        finally:
            view.running = False
        yield self._stored_choices(session) | self.context.changed(session, "stream")

    def _reload(self, session: Session) -> None:
        view, request = session.stream, session.stream.request
        found = None if request is None else evaluation_page.stream_run_of(self.folders, request)
        with session.lock:
            if found is not None and view.request is request:  # it may have been cancelled meanwhile
                view.show(found)

    def on_pause(self, visitor: str) -> Updates:
        """Stop after the picture that is being decided."""
        session = self.context.sessions.get(visitor)
        session.stream.pause_requested = True
        return self.context.answer(session, self.room, "stream")

    def on_cancel(self, visitor: str) -> Updates:
        """End the stream; what was decided stays on screen and among the stored runs."""
        session = self.context.sessions.get(visitor)
        with session.lock:
            session.stream.end()
        return self._stored_choices(session) | self.context.changed(session, "stream")

    # --- choosing what is listed
    def pick_outcome(self, visitor: str, outcome: str) -> Updates:
        """Which pictures the gallery shows; an unknown value means the first choice."""
        session = self.context.sessions.get(visitor)
        session.stream.outcome = outcome
        return self.context.panels.draw_only(session, [self.sorted_out]) | self.chosen_buttons.draw(session)

    def list_views(self, visitor: str, search: JsonValue, order: str, listed: str) -> Updates:
        """Search, sort and choose the stored views; unknown values mean the first choice."""
        session = self.context.sessions.get(visitor)
        view = session.stream
        view.search = search[:MAX_SEARCH] if isinstance(search, str) else ""
        view.order, view.listed = order, listed
        return self.context.panels.draw_only(session, [self.views])

    def open_stored(self, visitor: str, name: JsonValue) -> Updates:
        session = self.context.sessions.get(visitor)
        if session.stream.running:
            raise SettingError("A stream of yours is running.", "Pause it first.")
        if not isinstance(name, str):
            raise DataError("No run is chosen.", "Choose one from the list.")
        found = evaluation_page.find_stream(self.folders, name)
        session.stream.close()
        session.stream.show(found)
        self.context.sessions.evict()
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "stream")}

    def on_export(self, visitor: str, event: gr.EventData) -> Updates:
        """All rows of the stream, as ``evaluate`` wrote them, or every view that entered the memory up to the selected
        picture, as a file."""
        view = self.context.sessions.get(visitor).stream
        if view.recording is None or view.trajectory is None:
            raise DataError("There is no stream to export.", "Start one or open a stored run.")
        self.export_count += 1
        with self.context.downloads:
            if clicked_format(event, EXPORTS) == "jsonl":
                name, data = "rows.jsonl", evaluation_page.rows_text(view.recording).encode()
            else:
                views = evaluation_page.remembered_views(view.trajectory, view.shown_picture)
                boxes = evaluation_page.view_boxes(view.recording, views)
                table = view.recording.title, view.recording.names, views, boxes
                name, data = "stored-views.csv", evaluation_page.stored_views_csv(*table)
            return {self.export: download_value(name, data, self.export_count)}

    def open_memory(self, visitor: str) -> Iterator[Updates]:
        """Show the memory before the selected picture in *Memory*."""
        yield from self.open_inside(visitor, "memory")

    def open_remembered(self, visitor: str, event: gr.EventData) -> Iterator[Updates]:
        """The picture of a stored view was clicked."""
        session = self.context.sessions.get(visitor)
        stream, t = session.stream.recording, Mark.read(event_data(event), session).picture
        if stream is not None and t is not None:
            yield from self._open(visitor, stream, t)

    def open_inside(self, visitor: str, room: str = "inside") -> Iterator[Updates]:
        """Show the selected picture."""
        shown = shown_stream(self.context.sessions.get(visitor), self.folders)
        if shown is None:
            raise DataError("There is no picture to open.", "Start a stream first.")
        yield from self._open(visitor, shown.recording, shown.t, room)

    def _open(self, visitor: str, stream: StreamRun, t: int, room: str = "inside") -> Iterator[Updates]:
        """Run picture number ``t`` of a stream again with the cache it was decided from, and show it."""
        session = self.context.sessions.get(visitor)
        engine = self.context.engine_of(session)

        def find() -> RunRequest:
            return stream_picture_request(session, engine, self.folders, stream, t, before=room == "memory")

        yield from self.opener.steps(session, find, room, f"Picture {t} of the stream")

    def decide_own(self, visitor: str) -> Iterator[Updates]:
        """Decide the picture on screen with the memory after the selected picture, and show what that changes."""
        session = self.context.sessions.get(visitor)
        shown, engine = shown_stream(session, self.folders), self.context.engine_of(session)
        if shown is None:
            raise DataError("There is no memory to decide with.", "Start a stream first.")

        def find() -> RunRequest:
            history = stream_history(self.folders, shown.recording, shown.trajectory, shown.t)
            return own_picture_request(session, engine, shown.recording, history)

        yield from self.opener.steps(session, find, "memory", "The picture with this memory")
