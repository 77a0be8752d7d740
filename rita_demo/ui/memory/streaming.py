"""A stream of one's own: its form in the drawer of *Memory*, start and stop."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import MAX_PICTURES, MIN_PICTURES, DataFolders, Request
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, queued_event
from rita_demo.ui.framework.form import Form
from rita_demo.ui.framework.panels import FormValues, Updates
from rita_demo.ui.memory.dataset_download import DatasetDownload, dataset_choices
from rita_demo.ui.session.run_request import methods_of
from rita_demo.ui.session.session import Session, StreamState
from rita_demo.ui.session.stream_history import show_stream
from rita_demo.ui.widgets.blocks import build_menu
from rita_demo.ui.widgets.setting_controls import settings_from

#: Not the engine's queue: between two pictures a stream of minutes leaves the engine to other visitors.
STREAM_QUEUE = queued_event("stream", 2)
MAX_WAIT_SECONDS = 20.0  # longest wait for other visitors' pictures, between two of the stream
PAUSE_SECONDS = 0.02  # between two pictures, for requests that wait for the engine
TRAFFIC = [("clean", "clean"), ("half of them attacked", "mixed"), ("attacked", "attacked")]
LEAD = (
    "<h3>A stream of your own</h3><p class='note'>Many pictures, one after the other, with the memory kept between them. Attack, "
    "strength and methods are the Story’s. What was stopped goes on when it is started again as it was.</p>"
)


class Streaming:
    """The form and its buttons, built where it is made. ``form``: has the settings; ``room``: the id of the room."""

    def __init__(self, context: AppContext, folders: DataFolders, form: Form, room: str) -> None:
        self.context, self.folders, self.form, self.room = context, folders, form, room
        gr.HTML(LEAD)
        self.inputs = self._build_inputs()
        with gr.Row(elem_id="stream-buttons"):
            self.start_button = gr.Button("Start", variant="primary", size="sm", elem_id="stream-start")
            self.stop_button = gr.Button("Stop", visible=False, size="sm", elem_id="stream-stop")
        context.panels.add(self.start_button, lambda s: gr.update(interactive=not s.stream.running), "memory")
        context.panels.add(self.stop_button, lambda s: gr.update(visible=s.stream.running), "memory")
        self.dataset_download = DatasetDownload(context, folders, self.inputs["dataset"])

    def _build_inputs(self) -> dict[str, Any]:
        """The form, named as the parameters of :func:`rita_demo.evaluation.page.request_for`."""
        listed, asked = dataset_choices(self.folders), dict[str, Any]()
        asked["dataset"] = build_menu(
            listed, value=listed[0][1], label="Pictures", filterable=False, elem_id="stream-dataset"
        )
        asked["pictures"] = gr.Slider(
            MIN_PICTURES, MAX_PICTURES, value=50, step=1, label="How many", elem_id="stream-pictures"
        )
        asked["traffic"] = gr.Radio(TRAFFIC, value="mixed", label="They arrive", elem_id="stream-traffic")
        asked["seed"] = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="stream-seed")
        return asked

    def bind_events(self) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        context, start, stop = self.context, self.start_button, self.stop_button
        safe = notice.handle_errors(
            context.error_banner,
            lambda: {start: gr.update(interactive=True), stop: gr.update(visible=False), context.status: ""},
        )
        inputs = {context.visitor, *self.inputs.values(), *self.form.fields.values()}
        start.click(safe(self.on_start), inputs, context.outputs(start, stop), **STREAM_QUEUE)
        context.bind_quick(self.room, stop.click, self.on_stop, [context.visitor], "memory")
        self.dataset_download.bind_events()

    def on_start(self, values: FormValues) -> Iterator[Updates]:
        """Start a stream; one with the same request goes on where it was left."""
        yield from self.run(str(values[self.context.visitor]), self._request(values))

    def _request(self, values: FormValues) -> Request:
        session = self.context.sessions.get(str(values[self.context.visitor]))
        form = self.form.read(session, values)
        settings, methods = settings_from(form), methods_of(form)
        asked = {name: values[component] for name, component in self.inputs.items()}
        backbone = self.context.engine_of(session).info.name
        return evaluation_page.request_for(self.folders, settings, backbone, methods=methods, **asked)

    def run(self, visitor: str, request: Request) -> Iterator[Updates]:
        """Decide the pictures of a request that are not decided yet."""
        context, session = self.context, self.context.sessions.get(visitor)
        view, engine = session.stream, context.engine_of(session)
        with session.lock:  # two presses may arrive together
            if view.running:
                raise SettingError("A stream of yours is running.", "Stop it first.")
            view.request, view.time_left = request, TimeLeft()
            view.running, view.following, view.stop_requested = True, True, False
            session.memory.chosen = True
        try:
            starts = context.progress("The stream begins", 0)
            yield {context.error_banner: "", **starts, **context.changed(session, "memory")}
            with closing(evaluation_page.stream_steps(engine, request)) as steps:
                for step in steps:
                    context.sessions.get(visitor)  # raises when the page was closed
                    said = self._reload(session)
                    if step.fault:
                        sentence = f"No answer. {step.fault.rstrip('.')}."
                        fault = DemoError(sentence, f"The stream goes on. {evaluation_page.NO_COUNT}")
                        said |= {context.error_banner: notice.error_html(fault)}
                    yield said
                    if view.stop_requested:
                        break
                    time.sleep(PAUSE_SECONDS)
                    until = time.monotonic() + MAX_WAIT_SECONDS
                    for _ in context.activity.wait_until_idle():  # single pictures come first
                        if view.stop_requested or time.monotonic() > until:
                            break
                        yield {context.error_banner: gr.skip()}
            self._reload(session)  # a stream that was complete before yields nothing
        finally:
            view.running = False
            session.touch("memory")
        view.known = evaluation_page.known_streams(self.folders)
        ended = context.done(decided_text(view, self.folders))
        yield ended | context.changed(session, "memory")

    def _reload(self, session: Session) -> Updates:
        """The stream as far as it is written; it is shown unless the visitor looks at another memory."""
        view, context = session.stream, self.context
        found = None if view.request is None else evaluation_page.stream_run_of(self.folders, view.request)
        if found is None:
            return {}
        done, wanted = found.decided, found.header.pictures
        with session.lock:
            if view.following:
                show_stream(view, self.folders, found)
        update = context.progress(f"Picture {done} of {wanted}", done / wanted, view.time_left)
        return update | (context.changed(session, "memory") if view.following else {})

    def on_stop(self, visitor: str) -> Updates:
        """Stop after the picture that is being decided."""
        session = self.context.sessions.get(visitor)
        session.stream.stop_requested = True
        return self.context.done("Stopping after this picture …") | self.context.answer(session, self.room, "memory")


def decided_text(view: StreamState, folders: DataFolders) -> str:
    """How far the visitor's stream is, and how fast."""
    found = None if view.request is None else evaluation_page.stream_run_of(folders, view.request)
    if found is None:
        return ""
    share = "All" if found.decided == found.header.pictures else f"{found.decided} of"
    per_second, _ = evaluation_page.throughput(evaluation_page.trajectory_of(found))
    return f"{share} {found.header.pictures} pictures are decided, {per_second:.2f} pictures per second of computing."
