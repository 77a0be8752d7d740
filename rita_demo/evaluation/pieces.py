"""Work as values: a piece goes to any process that has the model, its result comes back, nothing is shared.

A piece carries the pictures' files, what is already known about them, and the memory that is to be
decided from; a result carries rows and whatever was made on the way. A piece done twice gives the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rita_demo.evaluation.answering import Answering, Asked
from rita_demo.evaluation.cells import Book
from rita_demo.evaluation.kept import Kept, Tray
from rita_demo.evaluation.looks import AttackStore, LookStore
from rita_demo.evaluation.plan import Cell
from rita_demo.evaluation.tuned import TuningStore, kept_shape
from rita_demo.records import CacheState

Line = tuple[int, dict[str, Any], bytes]  # number in the stream, row, features that entered


@dataclass(frozen=True)
class Things:
    """What is made once per picture: its look, its attacked square, and prompts by tuning key."""

    look: Kept | None
    attack: Kept | None
    tuned: dict[Any, Kept | None]


@dataclass(frozen=True)
class Stop:
    """A picture of a piece: number ``index`` of the stream. ``known``: what is there; ``tuned`` has a key for
    every prompt update that is needed and worth keeping. ``due``: which of the piece's cells answer."""

    index: int
    asked: Asked
    known: Things
    due: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """Pictures in order, for cells that look at the same views.

    ``home`` tells the schedule where it came from. ``columns`` and ``memories`` belong to ``cells``;
    ``tuners`` are cells by the tuning key they need. ``knows_memory``: the attack depends on the memory.
    """

    home: tuple[int, int]
    cells: tuple[Cell, ...]
    columns: tuple[dict[str, Any], ...]
    memories: tuple[CacheState | None, ...]
    tuners: dict[Any, Cell]
    stops: tuple[Stop, ...]
    knows_memory: bool = False


@dataclass(frozen=True)
class Result:
    """``made``, per stop, is what was not known before; ``lines`` and ``memories`` (after the last of them)
    belong to the piece's cells."""

    made: tuple[Things, ...]
    lines: tuple[tuple[Line, ...], ...]
    memories: tuple[CacheState | None, ...]


@dataclass
class Tape(Book):
    """A cell's rows in memory, to be written by somebody else."""

    index: int = 0
    lines: list[Line] = field(default_factory=list)

    def add(self, line: dict[str, Any], vectors: bytes) -> None:
        self.lines.append((self.index, line, vectors))


def do(model: Answering, piece: Piece) -> Result:
    """Do a piece.

    Raises:
        DemoError: a picture that cannot be used, named.
    """
    tapes = [Tape(columns, memory) for columns, memory in zip(piece.columns, piece.memories)]
    made = tuple(_stop(model, piece, stop, tapes) for stop in piece.stops)
    lines = tuple(tuple(tape.lines) for tape in tapes)
    return Result(made, lines, tuple(tape.memory for tape in tapes))


def _stop(model: Answering, piece: Piece, stop: Stop, tapes: list[Tape]) -> Things:
    asked, known, width = stop.asked, stop.known, model.facts.info.width
    look_tray, attack_tray = Tray(known.look), Tray(known.attack)
    trays = {key: Tray(kept) for key, kept in known.tuned.items()}
    sought = asked.sight.asked
    looks = LookStore(look_tray, (sought.views, width), sought.view_scale)
    attacked = asked.sight.asked.attack != "none"
    tunings: dict[Any, TuningStore | None] = dict.fromkeys(piece.tuners)
    for key, tray in trays.items():
        shape = kept_shape(len(asked.names), width, piece.tuners[key].settings)
        assert shape is not None  # or its tray would not have come
        tunings[key] = TuningStore(tray, shape)
    memory = tapes[0].memory if piece.knows_memory and asked.hit else None
    look = model.look(asked, looks, AttackStore(attack_tray) if attacked else None, memory)
    for key, store in tunings.items():
        if store is not None:
            model.tune(asked, look, piece.tuners[key], store)
    for place in stop.due:
        tapes[place].index = stop.index
    model.answer(asked, look, [(piece.cells[n], tapes[n]) for n in stop.due], tunings)
    return Things(look_tray.made, attack_tray.made, {key: tray.made for key, tray in trays.items()})
