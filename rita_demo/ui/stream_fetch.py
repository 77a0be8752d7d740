"""Fetching a public dataset by a button: size, progress, stopping, going on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from rita_demo import measuring
from rita_demo.data import download
from rita_demo.data.datasets import DATASETS
from rita_demo.errors import DataError
from rita_demo.measuring import Places
from rita_demo.ui import notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk

#: Not the engine's queue: a download of minutes must not keep anybody from using the page.
FETCH_QUEUE: dict[str, Any] = {
    "concurrency_id": "fetch", "concurrency_limit": 2, "show_progress": "hidden",
    "api_visibility": "private",
}  # fmt: skip
OFTEN = 0.3  # seconds between two updates of the page


def missing(places: Places) -> list[tuple[str, str]]:
    """The datasets that can be fetched and are not here: (title with its size, name)."""
    here = {row.name for row in measuring.offered(places)}
    return [
        (f"{DATASETS[name].title}, about {one.megabytes} MB", name)
        for name, one in download.ARCHIVES.items()
        if name not in here
    ]


def choices(places: Places) -> list[tuple[str, str]]:
    """The datasets that can be streamed: (title and what is there, name)."""
    rows = measuring.offered(places)
    return [(f"{DATASETS[r.name].title if r.name in DATASETS else r.name}: {r.sentence}", r.name) for r in rows]  # fmt: skip


class Fetch:
    """The fold. ``dataset`` is the list that a fetched dataset is added to."""

    def __init__(self, desk: Desk, places: Places, dataset: gr.Dropdown) -> None:
        self.desk, self.places, self.dataset = desk, places, dataset
        with gr.Accordion(
            "Fetch a public dataset", open=False, elem_classes="fold", elem_id="fetch"
        ):
            gr.HTML(
                "<p class='quiet small'>It is downloaded once to the server’s data folder from its own "
                "site, checked and unpacked; a stopped download goes on where it was. Where CoOp’s split "
                "file is absent, half of every class is for training, a fifth for validation and the rest "
                "for testing, drawn with seed 0.</p>"
            )
            self.which = gr.Radio(
                missing(places), label="Dataset", show_label=False, elem_id="fetch-which"
            )
            with gr.Row(elem_classes="whatif-row"):
                self.go = gr.Button("Fetch it", size="sm", elem_id="fetch-go")
                self.halt = gr.Button("Stop", size="sm", visible=False, elem_id="fetch-stop")
            self.state = gr.HTML(elem_id="fetch-state")
        self.parts = [self.which, self.halt, self.state, dataset]

    def wire(self) -> None:
        """Connect the events."""
        hidden = {self.state: "", self.halt: gr.update(visible=False)}
        safe = notice.guarded(self.desk.notice, lambda: hidden)
        outputs = [self.desk.notice, *self.parts]
        visitor = self.desk.visitor
        self.go.click(safe(self.fetch), [visitor, self.which], outputs, **FETCH_QUEUE)
        self.halt.click(safe(self.stopped), visitor, outputs, **AT_ONCE)

    def fetch(self, visitor: Any, name: Any) -> Iterator[Updates]:
        """Fetch the chosen dataset, saying how far it is."""
        view = self.desk.sessions.get(visitor).stream
        archive = download.ARCHIVES.get(name) if isinstance(name, str) else None
        if archive is None:
            raise DataError("No dataset is chosen.", "Choose one to fetch.")
        view.stopping, begin, said = False, time.perf_counter(), 0.0
        yield {self.halt: gr.update(visible=True), self.desk.notice: ""}
        with closing(download.fetching(archive, self.places.data)) as steps:
            for at in steps:
                if view.stopping:
                    kept = f"Stopped after {at.done / 1e6:.1f} MB. “Fetch it” goes on from there."
                    yield {self.state: notice.done(kept), self.halt: gr.update(visible=False)}
                    return
                spent = time.perf_counter() - begin
                if spent - said > OFTEN or at.done == at.total:
                    self.desk.sessions.get(visitor)  # a page that was closed fetches no more
                    said, share = spent, at.done / max(at.total, 1)
                    yield {self.state: notice.progress(at.sentence, share, spent)}
        yield {
            self.state: notice.done(f"{DATASETS[archive.dataset].title} is here: choose it above."),
            self.halt: gr.update(visible=False),
            self.which: gr.update(choices=missing(self.places), value=None),
            self.dataset: gr.update(choices=choices(self.places), value=archive.dataset),
        }

    def stopped(self, visitor: Any) -> Updates:
        """Stop at the next piece; what has come stays."""
        self.desk.sessions.get(visitor).stream.stopping = True
        return {}
