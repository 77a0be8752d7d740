"""The fold that downloads a public dataset: its size, progress, stop and resume."""

from collections.abc import Iterator
from contextlib import closing

import gradio as gr

from rita_demo.data import download
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework.context import AppContext, queued_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.widgets.blocks import build_fold

#: Not the engine's queue: a download of minutes must not block other visitors.
DOWNLOAD_QUEUE = queued_event("fetch", 2)


def missing_datasets(folders: DataFolders) -> list[tuple[str, str]]:
    """The datasets that can be downloaded and are missing: (title with its size, name)."""
    here = {row.name for row in evaluation_page.available(folders)}
    return [
        (f"{one.title}, about {one.archive.megabytes} MB", name)
        for name, one in DATASETS.items()
        if one.archive and name not in here
    ]


def dataset_choices(folders: DataFolders) -> list[tuple[str, str]]:
    """The datasets that can be streamed: (title, which pictures there are and what is skipped; name)."""
    rows = evaluation_page.available(folders)
    titles = [DATASETS[row.name].title if row.name in DATASETS else row.name for row in rows]
    return [(f"{title}: {row.sentence} {row.skipped}".rstrip(), row.name) for title, row in zip(titles, rows)]


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

    def bind_events(self) -> None:
        """Connect the events."""
        stopped = self.context.done("Stopped. “Download it” goes on from there.")
        job = StoppableJob(self.context, self.stop_button, lambda _: stopped)
        shown = [self.context.error_banner, self.context.status, self.dataset_menu, self.dataset, self.stop_button]
        asked = [self.context.visitor, self.dataset_menu]
        job.bind_event(self.start_button.click, self.download_chosen, asked, shown, **DOWNLOAD_QUEUE)

    def download_chosen(self, visitor: str, name: JsonValue) -> Iterator[Updates]:
        """Download a dataset. It can be stopped at every update; what was downloaded stays."""
        dataset, context = DATASETS.get(name) if isinstance(name, str) else None, self.context
        if dataset is None or dataset.archive is None:
            raise DataError("No dataset is chosen.", "Choose one to download.")
        time_left = TimeLeft()
        with closing(download.download_steps(dataset, self.folders.data)) as steps:
            for at in steps:
                context.sessions.get(visitor)  # raises when the page was closed
                yield context.progress(at.sentence, at.done / max(at.total, 1), time_left)
        choices: Updates = {
            self.dataset_menu: gr.update(choices=missing_datasets(self.folders), value=None),
            self.dataset: gr.update(choices=dataset_choices(self.folders), value=dataset.name),
        }
        yield Finished(context.done(f"{dataset.title} is here: choose it above.") | choices)
