"""What a request still lacks, as ``reproduce`` takes it; goes with that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rita_demo.evaluation import rows as store
from rita_demo.evaluation.pace import Kind, Pace
from rita_demo.evaluation.planned_cells import Cell, key_of
from rita_demo.evaluation.run import Plan

__all__ = ["Kind", "Pace", "RunFolder", "StoredCell"]


@dataclass(frozen=True)
class StoredCell:
    """A cell of a dataset, of whose ``total`` pictures ``done`` are stored."""

    dataset: str
    cell: Cell
    done: int
    total: int


class RunFolder(Plan):
    def stored(self) -> Iterator[list[StoredCell]]:
        """For every group of cells, how much of each is stored."""
        out, counts = self.request.out, dict[str, int]()
        if (out / store.FILE).is_file():
            for one in store.stored_measurements(out):
                counts[store.digest([one[name] for name in store.KEY])] = one["answers"] + one["faults"]
        for group in self.groups:
            pictures = self.picture_sets[group.dataset]
            found = []
            for cell in group.cells:
                key = key_of(cell, pictures, self.facts)
                values = [store.text_of(key[n]) if n in store.SETTINGS_COLUMNS else key[n] for n in store.KEY]
                found.append(StoredCell(group.dataset, cell, counts.get(store.digest(values), 0), len(pictures.items)))
            yield found
