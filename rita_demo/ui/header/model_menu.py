"""The model menu: the models, their sizes, and loading one with progress."""

from collections.abc import Iterator
from html import escape

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from rita_demo.process.environment import graphics_card_warning
from rita_demo.records import BackboneInfo
from rita_demo.records.errors import BackboneError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings.models import BACKBONES
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, queued_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.vlm import hub_download
from rita_demo.vlm.hub_download import Stopped

#: Not the engine's queue: a download of minutes must not block other visitors.
LOADING_QUEUE = queued_event("models", 4)
EXPECTED_LOAD_SECONDS = 90.0  # for the progress bar


class ModelMenu:
    """An accordion in the header; a chosen model is loaded for this visitor."""

    def __init__(self, context: AppContext) -> None:
        self.context, first = context, context.models.default.info
        choices = [] if first.name in BACKBONES else [(first.title, first.name)]
        for name in sorted(BACKBONES, key=lambda name: name != first.name):  # the one in use comes first
            entry = BACKBONES[name]
            size = f"{entry.megabytes} MB to download once" if entry.megabytes else "nothing to download"
            choices.append((f"{entry.title}: {entry.parameters / 1e6:.0f} M parameters, {size}", name))
        with gr.Accordion(self._title(first), open=False, elem_id="model") as self.accordion:
            gr.HTML(
                "<p class='quiet small'>The model that is attacked and defended. The embedded one is small, was trained "
                "for this page and answers in seconds; the others are the models of the paper, larger and slower.</p>"
            )
            self.choice = gr.Radio(choices, value=first.name, label="Model", show_label=False, elem_id="model-choice")
            self.note = gr.HTML(self._note(first.name), elem_id="model-note")
            self.use_button = gr.Button("Use this model", elem_id="use-model", size="sm")
        self.stop_button = gr.Button("Stop the download", size="sm", visible=False, elem_id="stop-model")
        self._loading: dict[str, str] = {}  # visitor -> the model that is loaded for them now

    def bind_events(self) -> Dependency:
        """Connect the events, after the panels of all tabs are registered. Returns the event after which another model is
        in use."""
        self.choice.input(self._note, self.choice, self.note, **IMMEDIATE_EVENT)
        stop = notice.handle_errors(self.context.error_banner)(self.stop_download)
        self.stop_button.click(
            stop, self.context.visitor, [self.context.error_banner, self.context.status], **IMMEDIATE_EVENT
        )
        load = notice.handle_errors(self.context.error_banner, lambda: {self.context.status: ""})(self.load)
        inputs, outputs = [self.context.visitor, self.choice], self.context.outputs(*self.shown)
        return self.use_button.click(load, inputs, outputs, **LOADING_QUEUE)

    def load(self, visitor: str, name: JsonValue) -> Iterator[Updates]:
        """Load the chosen model; the next run uses it."""
        context, session = self.context, self.context.sessions.get(visitor)
        if name != context.models.default.info.name and name not in BACKBONES:
            raise BackboneError("There is no such model.", "Choose one from the menu.")
        no_stop: Updates = {self.stop_button: gr.update(visible=False)}
        # The open menu would cover the progress and an error message.
        folded = {self.accordion: gr.update(open=False)}
        yield {context.error_banner: "", context.status: notice.progress_html("Loading the model", 0.02)} | folded
        try:
            for passed in context.models.load_steps(name):
                self._loading[visitor] = name
                if downloaded := hub_download.PROGRESS.get(name):
                    done, total = downloaded
                    share = done / total if total else 0.0
                    now = f"Downloading {name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB ({share:.0%})"
                    yield {context.status: notice.progress_html(now, share), self.stop_button: gr.update(visible=True)}
                else:
                    now, share = f"Loading the model ({passed:.0f} s so far)", passed / EXPECTED_LOAD_SECONDS
                    yield {context.status: notice.progress_html(now, min(0.95, share)), **no_stop}
        except Exception as error:
            used = context.engine_of(session).info.name
            stopped: Updates = {context.status: notice.done_html(str(error))} if isinstance(error, Stopped) else {}
            yield {self.choice: gr.update(value=used), self.note: self._note(used), **no_stop, **stopped}
            if stopped:
                return
            raise
        finally:
            self._loading.pop(visitor, None)
        session.model, info = name, context.models.get(name).info
        ready = notice.done_html(
            f"{info.title} is ready: press “Attack” in the Story. {graphics_card_warning(info.device)}".strip()
        )
        yield {context.status: ready, **no_stop, **self.show_model(info)}

    def stop_download(self, visitor: str) -> Updates:
        """Stop the download for this visitor, not another's."""
        self.context.sessions.get(visitor)
        name = self._loading.get(visitor)
        if name is None:
            return {self.context.status: notice.done_html("There is no download to stop.")}
        hub_download.STOPPED.add(name)
        return {self.context.status: notice.progress_html("Stopping the download", 0.02)}

    @property
    def shown(self) -> list[Component]:
        """What :meth:`show_model` updates."""
        return [self.accordion, self.choice, self.note, self.stop_button]

    def show_model(self, info: BackboneInfo) -> Updates:
        """The menu with the model that is in use."""
        title = gr.update(label=self._title(info), open=False)
        return {self.accordion: title, self.choice: gr.update(value=info.name), self.note: self._note(info.name)}

    def _title(self, info: BackboneInfo) -> str:
        return f"Model: {info.title}"

    def _note(self, name: JsonValue) -> str:
        first = self.context.models.default.info
        known = first if name == first.name else BACKBONES.get(str(name))
        about = f" {BACKBONES[str(name)].about}" if known and name in BACKBONES else ""
        return f"<p class='quiet small'>{escape(known.note + about)}</p>" if known and known.note else ""
