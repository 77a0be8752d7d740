"""One picture measured with one loaded model: looked at once, answered by every cell that is due.

Nothing here knows where results are kept, nor which machine this is: stores and books come as arguments.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.engine import Engine
from rita_demo.errors import DataError, DemoError
from rita_demo.evaluation import plan
from rita_demo.evaluation.cells import Book, Row
from rita_demo.evaluation.collection import Entry
from rita_demo.evaluation.looks import AttackStore, Look, LookStore, look_at
from rita_demo.evaluation.plan import Cell, Model
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.tuned import TuningStore
from rita_demo.methods import METHODS
from rita_demo.records import BackboneInfo, CacheState, TextBank, Trace, Tuning, Verdict
from rita_demo.settings import Settings

Tunings = Mapping[Any, TuningStore | None]  # by tuning key; None: not kept


@dataclass(frozen=True)
class Facts:
    """What the keeper of results has to know of a model: who it is, and a hash of its weights."""

    info: BackboneInfo
    weights: str

    @property
    def model(self) -> Model:
        """Whose answers they are."""
        return Model(self.info.name, self.weights)


@dataclass(frozen=True)
class Asked:
    """One picture of a run: ``names`` the K classes, ``seed`` the picture's own, ``hit`` whether it arrives
    attacked, ``sight`` the cell whose attack and views are made (all that are due share them)."""

    names: tuple[str, ...]
    entry: Entry
    seed: int
    hit: bool
    sight: Cell

    @property
    def target(self) -> int | None:
        """The class that this picture's attack moves towards, if any."""
        return self.sight.aim(self.entry.label, self.names) if self.hit else None


class Answering:
    """Answers with one loaded model."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.facts = Facts(engine.info, engine.weights_key())

    def bank(self, names: tuple[str, ...], cell: Cell) -> TextBank:
        """The class names as this cell's prompts; the engine remembers the last few."""
        return self.engine.classes(names, cell.asked)

    def look(
        self,
        asked: Asked,
        looks: LookStore,
        attacks: AttackStore | None,
        memory: CacheState | None = None,
    ) -> Look:
        """The look at a picture, read or made; see :func:`rita_demo.evaluation.looks.look_at`.

        Raises:
            DataError: the picture cannot be used; it is named.
        """
        cell, entry = asked.sight, asked.entry
        own = self.own_settings(asked)
        bank = self.bank(asked.names, cell)
        try:
            return look_at(self.engine, entry, bank, own, looks, attacks, memory, asked.target)
        except DemoError as error:
            raise about(entry, error) from error

    def own_settings(self, asked: Asked) -> Settings:
        """The settings a picture is attacked and looked at with: those of the run with the picture's own seeds."""
        cell = asked.sight
        return cell.attacked.but(**{name: asked.seed for name in SEEDS if name not in cell.fixed})

    def tune(self, asked: Asked, look: Look, cell: Cell, store: TuningStore) -> None:
        """Make and keep the prompt update that a cell needs, where it is not kept yet."""
        store.tuned(self.engine, asked.entry, look, self.bank(asked.names, cell), cell.settings)

    def answer(
        self, asked: Asked, look: Look, due: Sequence[tuple[Cell, Book]], tunings: Tunings
    ) -> None:
        """Every due cell's answer on one picture; prompts tuned alike are tuned once."""
        tuned: dict[Any, tuple[Tuning, float]] = {}
        for cell, book in due:
            bank = self.bank(asked.names, cell)
            begin = time.perf_counter()
            method = METHODS[cell.method]
            if not method.baseline:
                key = plan.tuning_key(cell)
                if key not in tuned and (store := tunings[key]) is not None:
                    tuned[key] = store.tuned(self.engine, asked.entry, look, bank, cell.settings)
                trace, after = self._decide(look, bank, book.memory, cell, tuned)
                seconds = sum(trace.seconds.values())
                verdict = trace.memory_verdict if method.memory_alone else trace.verdict
                assert verdict is not None  # a memory that is off is never measured alone
                book.append(_row(asked, cell, book, look, verdict, seconds), trace.change, after)
            else:
                named = self.engine.compare(look.glance, bank, cell.settings, (method.name,))
                verdict, seconds = named[method.name], time.perf_counter() - begin
                book.append(_row(asked, cell, book, look, verdict, seconds), None, None)

    def _decide(
        self,
        look: Look,
        bank: TextBank,
        memory: CacheState | None,
        cell: Cell,
        tuned: dict[Any, tuple[Tuning, float]],
    ) -> tuple[Trace, CacheState]:
        """RITA's trace; its time counts the tuning also where another cell has already done it."""
        key = plan.tuning_key(cell)
        tuning, seconds = tuned.get(key, (None, 0.0))
        trace, after = self.engine.decide(look.glance, bank, memory, cell.settings, tuning)
        if tuning is None:
            tuned[key] = (trace.tuning, trace.seconds["tuning"])
        else:
            trace = replace(trace, seconds=trace.seconds | {"tuning": seconds})
        return trace, after


def about(entry: Entry, error: DemoError) -> DataError:
    """The same error, with the picture's name before it."""
    return DataError(f"The picture {entry.id[:120]!r}: {error.message}", error.hint)


def _row(asked: Asked, cell: Cell, book: Book, look: Look, verdict: Verdict, seconds: float) -> Row:
    columns = book.columns | {"attack": cell.settings.attack}
    if not asked.hit:  # the clean part of mixed traffic
        columns |= {"attack": "none", "budget": 0, "steps": 0}
    names, entry = asked.names, asked.entry
    return Row(
        picture=entry.id,
        method=cell.method,
        attack=columns["attack"],
        budget=columns["budget"],
        steps=columns["steps"],
        protocol=columns["protocol"],
        seed=cell.seed,
        settings=columns["settings"],
        label=names[entry.label],
        answer=names[verdict.label],
        right=verdict.label == entry.label,
        probability=float(verdict.probability[verdict.label]),
        margin=float(verdict.margin),
        linf=float(look.attacked.linf),
        l2=float(look.attacked.l2),
        already_wrong=look.attacked.already_wrong,
        picture_seed=asked.seed,
        target="" if asked.target is None else names[asked.target],
        seconds={
            "attack": look.attacked.seconds,
            "views": round(look.seconds, 4),
            "method": round(seconds, 4),
        },
    )
