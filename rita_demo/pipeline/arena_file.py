"""The arena of the worked example that comes with this project: shown before a model is loaded."""

from functools import cache

from rita_demo.data import record_file
from rita_demo.pipeline import example
from rita_demo.pipeline.arena import ArenaTable, TowerTable
from rita_demo.process.assets import ASSETS, reading_asset

#: Written by ``python -m tools.story.lab arena``.
STORED = ASSETS / "lab" / "arena.zip"


def pack(table: ArenaTable) -> bytes:
    """The bytes of a table without its run."""
    return record_file.pack((table.methods, table.towers))


@cache
def stored() -> ArenaTable:
    """The table of :data:`STORED`. Raises DataError: the file, or the worked example, is missing or another."""
    _, run = example.stored()
    with reading_asset("The stored arena", "lab/arena.zip"):
        methods, towers = record_file.unpack(STORED.read_bytes(), kinds=(*record_file.KINDS, TowerTable))
        return ArenaTable(run, methods, towers, stored=True)
