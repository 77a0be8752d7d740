"""The fold that downloads a public dataset: its size, progress, stop and resume."""

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import gradio as gr

from rita_demo.data import download
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.records.errors import DataError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, queued_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.widgets.blocks import build_fold

#: Not the engine's queue: a download of minutes must not block other visitors.
DOWNLOAD_QUEUE = queued_event("fetch", 2)
UPDATE_INTERVAL = 0.3  # seconds between two updates of the page


def missing_datasets(folders: DataFolders) -> list[tuple[str, str]]:
    """The datasets that can be downloaded and are missing: (title with its size, name)."""
    here = {row.name for row in evaluation_page.available(folders)}
    return [
        (f"{DATASETS[name].title}, about {one.megabytes} MB", name)
        for name, one in download.ARCHIVES.items()
        if name not in here
    ]


def dataset_choices(folders: DataFolders) -> list[tuple[str, str]]:
    """The datasets that can be streamed: (title and which pictures there are, name)."""
    rows = evaluation_page.available(folders)
    return [(f"{DATASETS[r.name].title if r.name in DATASETS else r.name}: {r.sentence}", r.name) for r in rows]


class DatasetDownload:
    """The fold. ``dataset`` is the menu that a downloaded dataset is added to."""

    def __init__(self, context: AppContext, folders: DataFolders, dataset: gr.Dropdown) -> None:
        self.context, self.folders, self.dataset = context, folders, dataset
        lead = (
            "It is downloaded once, from its own site to the server’s data folder, checked and unpacked; a stopped download "
            "can be resumed. Without CoOp’s split file, half of every class is for training, a fifth for validation and "
            "the rest for testing, drawn with seed 0."
        )
        with build_fold("Download a public dataset", lead, elem_id="fetch"):
            missing = missing_datasets(folders)
            self.dataset_menu = gr.Radio(missing, label="Dataset", show_label=False, elem_id="fetch-which")
            with gr.Row(elem_classes="whatif-row"):
                self.start_button = gr.Button("Download it", size="sm", elem_id="fetch-go")
                self.stop_button = gr.Button("Stop", size="sm", visible=False, elem_id="fetch-stop")
            self.status = gr.HTML(elem_id="fetch-state")

    def bind_events(self) -> None:
        hidden = {self.status: "", self.stop_button: gr.update(visible=False)}
        safe = notice.handle_errors(self.context.error_banner, lambda: hidden)
        outputs = [self.context.error_banner, self.dataset_menu, self.stop_button, self.status, self.dataset]
        visitor = self.context.visitor
        self.start_button.click(safe(self.on_download), [visitor, self.dataset_menu], outputs, **DOWNLOAD_QUEUE)
        self.stop_button.click(safe(self.on_stop), visitor, outputs, **IMMEDIATE_EVENT)

    def on_download(self, visitor: Any, name: Any) -> Iterator[Updates]:
        view = self.context.sessions.get(visitor).stream
        archive = download.ARCHIVES.get(name) if isinstance(name, str) else None
        if archive is None:
            raise DataError("No dataset is chosen.", "Choose one to download.")
        view.stop_download, begin, updated = False, time.perf_counter(), 0.0
        yield {self.stop_button: gr.update(visible=True), self.context.error_banner: ""}
        with closing(download.download_steps(archive, self.folders.data)) as steps:
            for at in steps:
                if view.stop_download:
                    text = f"Stopped after {at.done / 1e6:.1f} MB. “Download it” goes on from there."
                    yield {self.status: notice.done_html(text), self.stop_button: gr.update(visible=False)}
                    return
                spent = time.perf_counter() - begin
                if spent - updated > UPDATE_INTERVAL or at.done == at.total:
                    self.context.sessions.get(visitor)  # raises when the page was closed
                    updated, share = spent, at.done / max(at.total, 1)
                    yield {self.status: notice.progress_html(at.sentence, share, spent)}
        yield {
            self.status: notice.done_html(f"{DATASETS[archive.dataset].title} is here: choose it above."),
            self.stop_button: gr.update(visible=False),
            self.dataset_menu: gr.update(choices=missing_datasets(self.folders), value=None),
            self.dataset: gr.update(choices=dataset_choices(self.folders), value=archive.dataset),
        }

    def on_stop(self, visitor: Any) -> Updates:
        """Stop at the next chunk; what was downloaded stays."""
        self.context.sessions.get(visitor).stream.stop_download = True
        return {}
