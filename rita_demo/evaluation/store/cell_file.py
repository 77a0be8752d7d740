"""The stored measurements as the reports of before take them; goes with those."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.evaluation import rows as store
from rita_demo.evaluation.measurement import Measurement
from rita_demo.evaluation.rows import Row, digest, run_folders
from rita_demo.records.grouping import group_by

__all__ = ["CellHeader", "Row", "SeedGroup", "run_folders", "seed_groups"]


class CellHeader(Measurement):
    """A measurement under the names of before."""

    @property
    def pool(self) -> str:
        return digest(self.columns)

    def __getattr__(self, name: str) -> Any:
        key, facts = self.__dict__["key"], self.__dict__["facts"]
        return {
            "settings": facts["requested"],
            "threat_model": {"sentences": facts["threat"]},
            "classes": len(self.names),
            "weights": key["weights"],
            "target": key["target"],
            **facts,
        }[name]


@dataclass(frozen=True)
class SeedGroup:
    """The stored cells that differ in the seed alone: the header and the rows of each, and the number of pictures that have
    none, because a file of the user's own failed."""

    headers: tuple[CellHeader, ...]
    rows_by_seed: tuple[list[Row], ...]
    failed: tuple[int, ...] = ()

    @property
    def header(self) -> CellHeader:
        return self.headers[0]

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.rows_by_seed for row in rows]


def rows_of(folder: Path, header: Measurement) -> list[Row]:
    """The rows of a measurement as they stood in rows.jsonl."""
    found = []
    for row in store.read_stream(folder, header.id):
        if row["fault"] is None:
            seconds = {stage: row[f"seconds_{stage}"] for stage in ("attack", "views", "method")}
            hit = {} if row["attacked"] else {"attack": "none", "budget": 0, "steps": 0}
            found.append(header.columns | row | {"seconds": seconds} | hit)
    return found


def seed_groups(*folders: Path) -> list[SeedGroup]:
    """The cells that have rows. Raises DataError: as :func:`rita_demo.evaluation.rows.read`."""
    cells = [
        (CellHeader.of(one), rows_of(folder, CellHeader.of(one)), one["faults"])
        for folder, one in store._chosen(folders)
        if one["answers"]
    ]
    return [SeedGroup(*zip(*same)) for same in group_by(cells, lambda cell: cell[0].pool).values()]
