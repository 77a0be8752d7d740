"""The server's folders of datasets and runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.datasets import DatasetStatus, dataset_status


@dataclass(frozen=True)
class DataFolders:
    """The folder of the datasets, and the folder of run folders; the server's owner chooses them."""

    data: Path = Path("data")
    runs: Path = Path("runs")

    @property
    def root(self) -> Path | None:
        """The folder of the datasets, if it exists."""
        return self.data if self.data.is_dir() else None


def available(folders: DataFolders) -> tuple[DatasetStatus, ...]:
    """The datasets that can be streamed."""
    return tuple(row for row in dataset_status(folders.root) if row.usable)
