"""The arena of the worked example that comes with this project: shown before a model is loaded."""

from functools import cache
from typing import Any

from rita_demo.data import record_file
from rita_demo.pipeline import example
from rita_demo.pipeline.arena import ArenaTable, TowerTable
from rita_demo.process.assets import ASSETS, reading_asset
from rita_demo.records import BackboneInfo, CacheState

#: Written by ``python -m tools.story.lab arena``.
STORED = ASSETS / "lab" / "arena.zip"


def pack(table: ArenaTable) -> bytes:
    """The bytes of a table without its run."""
    towers = {
        name: (tower.backbone, tower.label, tower.cache, {" ".join(at): cell for at, cell in tower.cells.items()})
        for name, tower in table.towers.items()
    }
    return record_file.pack({"methods": table.methods, "towers": towers})


@cache
def stored() -> ArenaTable:
    """The table of :data:`STORED`. Raises DataError: the file, or the worked example, is missing or another."""
    _, run = example.stored()
    with reading_asset("The stored arena", "lab/arena.zip"):
        table = record_file.unpack(STORED.read_bytes())
        towers = {name: _tower(*parts) for name, parts in table["towers"].items()}
        return ArenaTable(run, table["methods"], towers, stored=True)


def _tower(backbone: BackboneInfo, label: int, memory: CacheState, cells: dict[str, Any]) -> TowerTable:
    """A model's cells; their keys are "defence column"."""
    by_cell = dict[tuple[str, str], Any]()
    for at, cell in cells.items():
        name, _, column = at.partition(" ")
        by_cell[name, column] = cell
    return TowerTable(backbone, label, memory, by_cell)
