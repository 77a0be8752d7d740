"""The executor ``local``: picture by picture in this process, all cells that share its views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from rita_demo.engine import Engine
from rita_demo.evaluation.ahead import TOGETHER, look_ahead
from rita_demo.evaluation.answering import Answering
from rita_demo.evaluation.collection import Collection
from rita_demo.evaluation.executor import Say
from rita_demo.evaluation.groups import Group, RunFolder, Step, tasks_of
from rita_demo.evaluation.request import Request


def measure(request: Request, collections: Mapping[str, Collection], say: Say) -> int:
    """An :data:`rita_demo.evaluation.executor.Executor`."""
    model = Answering(Engine(request.backbone))
    run, new = RunFolder(request, collections, model.facts), 0
    for task in tasks_of(request):
        for step in chain.from_iterable(steps(model, group) for group in run.groups(task)):
            say(step.sentence)
            new += step.new
    return new


def steps(model: Answering, group: Group, together: int | None = None) -> Iterator[Step]:
    """What the cells of a group still lack, one picture at a time.

    ``together``: pictures attacked and looked at in one batch; None: what suits the device.
    """
    together = TOGETHER.get(model.engine.info.device, 1) if together is None else together
    for index in range(group.start, len(group.stream)):
        both = zip(group.cells, group.files)
        due = [(cell, file) for cell, file in both if file.count == index]
        asked = group.asked(index)
        hit = asked.hit
        # a cell whose attacker knows its memory shares its views with no other cell
        memory = group.files[0].memory if hit and group.cells[0].knows_memory else None
        look_ahead(model, group, index, together)
        look = model.look(asked, group.looks[hit], group.attacks[hit], memory)
        model.answer(asked, look, due, group.tunings[hit])
        yield group.step(index, len(due))
