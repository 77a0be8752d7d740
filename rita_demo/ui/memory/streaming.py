"""A stream of one's own: its form in the drawer of *Memory*, start and stop; and the download of a dataset for it."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from rita_demo.data import download
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import MAX_PICTURES, MIN_PICTURES, DataFolders, Request
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DataError, DemoError, SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, queued_event
from rita_demo.ui.framework.form import Form
from rita_demo.ui.framework.panels import FormValues, Updates
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.session.run_request import methods_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_history import show_stream
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.setting_controls import settings_from

#: Not the engine's queue: between two pictures a stream of minutes leaves the engine to other visitors, and a download needs none.
STREAM_QUEUE, DOWNLOAD_QUEUE = queued_event("stream", 2), queued_event("fetch", 2)
MAX_WAIT_SECONDS = 20.0  # longest wait for other visitors' pictures, between two of the stream
PAUSE_SECONDS = 0.02  # between two pictures, for requests that wait for the engine
TRAFFIC = [("clean", "clean"), ("half of them attacked", "mixed"), ("attacked", "attacked")]
LEAD = (
    "<h3>A stream of your own</h3><p class='note'>Many pictures, one after the other, with the memory kept between them. Attack, "
    "strength and methods are the Story’s. What was stopped goes on when it is started again as it was.</p>"
)
DOWNLOAD_LEAD = (
    "It is downloaded once, from its own site to the server’s data folder, checked and unpacked; a stopped download "
    "can be resumed. Without CoOp’s split file, half of every class is for training, a fifth for validation and "
    "the rest for testing, drawn with seed 0."
)


def missing_datasets(folders: DataFolders) -> list[tuple[str, str]]:
    """The datasets that can be downloaded and are missing: (title with its size, name)."""
    here = {row.name for row in evaluation_page.available(folders)}
    missing = [(name, one) for name, one in DATASETS.items() if name not in here]
    return [(f"{one.title}, about {one.archive.megabytes} MB", name) for name, one in missing if one.archive]


def dataset_choices(folders: DataFolders) -> list[tuple[str, str]]:
    """The datasets that can be streamed: (title, which pictures there are and what is skipped; name)."""
    rows = evaluation_page.available(folders)
    titles = [DATASETS[row.name].title if row.name in DATASETS else row.name for row in rows]
    return [(f"{title}: {row.sentence} {row.skipped}".rstrip(), row.name) for title, row in zip(titles, rows)]


class Streaming:
    """The form and its buttons, built where it is made. ``form``: has the settings; ``room``: the id of the room. ``inputs`` are
    named as the parameters of :func:`rita_demo.evaluation.page.request_for`."""

    def __init__(self, context: AppContext, folders: DataFolders, form: Form, room: str) -> None:
        self.context, self.folders, self.form, self.room = context, folders, form, room
        gr.HTML(LEAD)
        listed, self.inputs = dataset_choices(folders), dict[str, Any]()
        about: dict[str, Any] = {"label": "Pictures", "filterable": False, "elem_id": "stream-dataset"}
        self.inputs["dataset"] = build_menu(listed, value=listed[0][1], **about)
        about = {"label": "How many", "elem_id": "stream-pictures"}
        self.inputs["pictures"] = gr.Slider(MIN_PICTURES, MAX_PICTURES, value=50, step=1, **about)
        self.inputs["traffic"] = gr.Radio(TRAFFIC, value="mixed", label="They arrive", elem_id="stream-traffic")
        self.inputs["seed"] = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="stream-seed")
        with gr.Row(elem_id="stream-buttons"):
            self.start_button = gr.Button("Start", variant="primary", size="sm", elem_id="stream-start")
            self.stop_button = gr.Button("Stop", visible=False, size="sm", elem_id="stream-stop")
        context.panels.add(self.start_button, lambda s: gr.update(interactive=not s.stream.running), "memory")
        context.panels.add(self.stop_button, lambda s: gr.update(visible=s.stream.running), "memory")
        with build_fold("Download a public dataset", DOWNLOAD_LEAD, elem_id="fetch"):
            about = {"label": "Dataset", "show_label": False, "elem_id": "fetch-which"}
            self.download_menu = gr.Radio(missing_datasets(folders), **about)
            with gr.Row(elem_classes="whatif-row"):
                self.download_button = gr.Button("Download it", size="sm", elem_id="fetch-go")
                self.download_stop = gr.Button("Stop", size="sm", visible=False, elem_id="fetch-stop")

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
        stopped = context.done("Stopped. “Download it” goes on from there.")
        job = StoppableJob(context, self.download_stop, lambda _: stopped)
        shown = [context.error_banner, context.status, self.download_menu, self.inputs["dataset"], self.download_stop]
        asked = [context.visitor, self.download_menu]
        job.bind_event(self.download_button.click, self.download_chosen, asked, shown, **DOWNLOAD_QUEUE)

    def on_start(self, values: FormValues) -> Iterator[Updates]:
        """Start a stream; one with the same request goes on where it was left."""
        visitor = str(values[self.context.visitor])
        session = self.context.sessions.get(visitor)
        form = self.form.read(session, values)
        settings, methods = settings_from(form), methods_of(form)
        asked = {name: values[component] for name, component in self.inputs.items()}
        backbone = self.context.engine_of(session).info.name
        request = evaluation_page.request_for(self.folders, settings, backbone, methods=methods, **asked)
        yield from self._run(visitor, session, request)

    def _run(self, visitor: str, session: Session, request: Request) -> Iterator[Updates]:
        """Decide the pictures of a request that are not decided yet."""
        context, view, engine = self.context, session.stream, self.context.engine_of(session)
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
                    update = self._reload(session)
                    if step.fault:
                        sentence = f"No answer. {step.fault.rstrip('.')}."
                        fault = DemoError(sentence, f"The stream goes on. {evaluation_page.NO_COUNT}")
                        update |= {context.error_banner: notice.error_html(fault)}
                    yield update
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
        view.known, text = evaluation_page.known_streams(self.folders), ""
        if stream := evaluation_page.stream_run_of(self.folders, request):
            pictures = stream.header.pictures
            share = "All" if stream.decided == pictures else f"{stream.decided} of"
            per_second, _ = evaluation_page.throughput(evaluation_page.trajectory_of(stream))
            text = f"{share} {pictures} pictures are decided, {per_second:.2f} pictures per second of computing."
        yield context.done(text) | context.changed(session, "memory")

    def _reload(self, session: Session) -> Updates:
        """The stream as far as it is written; it is shown unless the visitor looks at another memory."""
        view, context = session.stream, self.context
        stream = None if view.request is None else evaluation_page.stream_run_of(self.folders, view.request)
        if stream is None:
            return {}
        done, wanted = stream.decided, stream.header.pictures
        with session.lock:
            if view.following:
                show_stream(view, self.folders, stream)
        update = context.progress(f"Picture {done} of {wanted}", done / wanted, view.time_left)
        return update | (context.changed(session, "memory") if view.following else {})

    def on_stop(self, visitor: str) -> Updates:
        """Stop after the picture that is being decided."""
        session = self.context.sessions.get(visitor)
        session.stream.stop_requested = True
        return self.context.done("Stopping after this picture …") | self.context.answer(session, self.room, "memory")

    def download_chosen(self, visitor: str, name: JsonValue) -> Iterator[Updates]:
        """Download a dataset. It can be stopped at every update; what was downloaded stays."""
        dataset, context, time_left = DATASETS.get(name) if isinstance(name, str) else None, self.context, TimeLeft()
        if dataset is None or dataset.archive is None:
            raise DataError("No dataset is chosen.", "Choose one to download.")
        with closing(download.download_steps(dataset, self.folders.data)) as steps:
            for at in steps:
                context.sessions.get(visitor)  # raises when the page was closed
                yield context.progress(at.sentence, at.done / max(at.total, 1), time_left)
        choices: Updates = {
            self.download_menu: gr.update(choices=missing_datasets(self.folders), value=None),
            self.inputs["dataset"]: gr.update(choices=dataset_choices(self.folders), value=dataset.name),
        }
        yield Finished(context.done(f"{dataset.title} is here: choose it above.") | choices)
