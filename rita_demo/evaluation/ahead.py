"""Looks made for several pictures at once, where the device gains by it: one batch of attacks, one of views.

The looks are stored as always and read when their turn comes, so that answers and memories stay in order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rita_demo.attacks import looks_through
from rita_demo.data.pictures import open_picture
from rita_demo.errors import DemoError
from rita_demo.evaluation.answering import Answering, Asked
from rita_demo.evaluation.groups import Group
from rita_demo.evaluation.looks import Attacked, AttackStore, LookStore
from rita_demo.records import Picture
from rita_demo.settings import Settings

#: Pictures per batch. On a CPU one keeps all cores busy.
TOGETHER = {"cuda": 16}


@dataclass(frozen=True)
class Waiting:
    """A picture whose look is still to be made: its own settings, and its clean square."""

    asked: Asked
    settings: Settings
    picture: Picture


def look_ahead(model: Answering, group: Group, index: int, together: int) -> None:
    """Make the look of picture ``index``, and with it those of the next ones that lack theirs.

    Nothing is made where the look is there already, where the attacker knows the memory (which is not there yet),
    or where the picture cannot be opened (its own turn says so).
    """
    first = group.asked(index)
    looks, attacks = group.looks[first.hit], group.attacks[first.hit]
    if together < 2 or first.entry in looks.place or (first.hit and group.cells[0].knows_memory):
        return
    waiting = list(_waiting(model, group, index, together, looks))
    for alike in _of_one_size(waiting):
        shown, attacked = _delivered(model, alike, attacks)
        begin = time.perf_counter()
        seeds = [one.settings.view_seed for one in alike]
        glances = model.engine.look_together(shown, alike[0].settings, seeds)
        seconds = (time.perf_counter() - begin) / len(alike)
        for one, glance, how in zip(alike, glances, attacked, strict=True):
            entry, seed = one.asked.entry, one.settings.view_seed
            looks.add(entry, glance.features, seed, how, seconds)


def _waiting(
    model: Answering, group: Group, index: int, together: int, looks: LookStore
) -> Iterator[Waiting]:
    hit, found = group.asked(index).hit, 0
    for later in range(index, len(group.stream)):
        asked = group.asked(later)
        if asked.hit != hit or asked.entry in looks.place:
            continue
        settings = model.own_settings(asked)
        try:
            side = model.engine.info.side
            picture = open_picture(asked.entry.source(), square=settings.square, side=side)
        except DemoError:
            continue
        yield Waiting(asked, settings, picture)
        found += 1
        if found == together:
            return


def _of_one_size(waiting: Sequence[Waiting]) -> list[list[Waiting]]:
    sizes: dict[int, list[Waiting]] = {}
    for one in waiting:
        sizes.setdefault(one.picture.pixels.shape[0], []).append(one)
    return list(sizes.values())


def _delivered(
    model: Answering, alike: Sequence[Waiting], attacks: AttackStore | None
) -> tuple[list[Picture], list[Attacked]]:
    """What arrives: the clean squares, or the attacked ones, read or made in one batch where that is the same."""
    if attacks is None:
        return [one.picture for one in alike], [Attacked()] * len(alike)
    bank = model.bank(alike[0].asked.names, alike[0].asked.sight)
    missing = [one for one in alike if one.asked.entry not in attacks.place]
    if missing and looks_through(alike[0].settings) in ("", "diversity"):
        traces = model.engine.attack_together(
            [one.picture for one in missing],
            bank,
            missing[0].settings,
            [one.asked.entry.label for one in missing],
            [one.settings.attack_seed for one in missing],
            [one.asked.target for one in missing],
        )
        for one, trace in zip(missing, traces, strict=True):
            attacks.keep(one.asked.entry, trace)
    delivered = [
        attacks.picture(
            model.engine, one.asked.entry, one.picture, bank, one.settings, None, one.asked.target
        )
        for one in alike
    ]
    return [picture for picture, _ in delivered], [how for _, how in delivered]
