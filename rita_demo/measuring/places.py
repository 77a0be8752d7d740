"""Where the server's owner keeps datasets and runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.datasets import Presence, present


@dataclass(frozen=True)
class Places:
    """Where the server's owner keeps things: the folder of the datasets, and the folder of run folders."""

    data: Path = Path("data")
    runs: Path = Path("runs")

    @property
    def root(self) -> Path | None:
        """The folder of the datasets, if it is there."""
        return self.data if self.data.is_dir() else None


def offered(places: Places) -> tuple[Presence, ...]:
    """The datasets that can be streamed here and now."""
    return tuple(row for row in present(places.root) if row.usable)
