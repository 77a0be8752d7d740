"""The model menu: which models there are, what each costs, and loading one with progress."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import gradio as gr

from rita_demo.errors import BackboneError
from rita_demo.records import BackboneInfo
from rita_demo.ui import notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.vlm import BACKBONES

#: Not the engine's queue: a download of minutes must not keep anybody from using the page.
LOADING_QUEUE: dict[str, Any] = {"concurrency_id": "models", "concurrency_limit": 4}
PATIENCE = 90.0  # seconds a download and a load are expected to take, for the progress bar alone


def about(info: BackboneInfo) -> str:
    """One line on the model in use."""
    return f"{info.title}, {info.parameters / 1e6:.0f} M parameters, {info.device}"


def menu_label(name: str) -> str:
    """A row of the menu: title and size."""
    entry = BACKBONES[name]
    size = f"{entry.megabytes} MB to download once" if entry.megabytes else "nothing to download"
    return f"{entry.title}: {entry.parameters / 1e6:.0f} M parameters, {size}"


class ModelMenu:
    """A fold in the header; choosing a model loads it for this visitor."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        first = desk.engines.first.info
        names = list(dict.fromkeys([first.name, *BACKBONES]))
        with gr.Accordion(f"Model: {about(first)}", open=False, elem_id="model") as fold:
            gr.HTML(
                "<p class='quiet small'>The model that is attacked and defended. The embedded one is "
                "small, was trained for this page and answers in seconds; the others are the models of "
                "the paper, larger and slower.</p>"
            )
            self.choice = gr.Radio(
                [(menu_label(n) if n in BACKBONES else first.title, n) for n in names], value=first.name, label="Model",
                show_label=False, elem_id="model-choice",
            )  # fmt: skip
            self.note = gr.HTML(self._note(first.name), elem_id="model-note")
            self.use = gr.Button("Use this model", elem_id="use-model", size="sm")
        self.fold = fold

    def wire(self) -> None:
        """Connect the menu; call it once every panel is on the board."""
        self.choice.input(self._note, self.choice, self.note, **AT_ONCE)
        self.use.click(
            notice.guarded(self.desk.notice, lambda: {self.desk.status: ""})(self.load),
            [self.desk.visitor, self.choice],
            self.desk.outputs(self.fold, self.choice, self.note),
            show_progress="hidden",
            api_visibility="private",
            **LOADING_QUEUE,
        )

    def load(self, visitor: Any, name: Any) -> Iterator[Updates]:
        """Load the chosen model and use it from the next picture on."""
        desk, session = self.desk, self.desk.sessions.get(visitor)
        if name != desk.engines.first.info.name and name not in BACKBONES:
            raise BackboneError("There is no such model.", "Choose one from the menu.")
        # The open menu would cover the progress, and a sentence if it fails.
        folded = {self.fold: gr.update(open=False)}
        yield {desk.notice: "", desk.status: notice.progress("Loading the model", 0.02, 0)} | folded
        try:
            for passed in desk.engines.loading(name):
                now = f"Loading the model ({passed:.0f} s so far; the first time it is downloaded)"
                yield {desk.status: notice.progress(now, min(0.95, passed / PATIENCE), 0)}
        except Exception:
            used = desk.engine_of(session).info.name
            yield {self.choice: gr.update(value=used), self.note: self._note(used)}
            raise
        session.model = name
        info = desk.engine_of(session).info
        yield {
            desk.status: notice.done(f"{info.title} is ready: press “Attack and defend”."),
            self.fold: gr.update(label=f"Model: {about(info)}", open=False),
        }

    def _note(self, name: Any) -> str:
        first = self.desk.engines.first.info
        known = (
            first if name == first.name else BACKBONES.get(name) if isinstance(name, str) else None
        )
        return f"<p class='quiet small'>{escape(known.note)}</p>" if known and known.note else ""
