"""Drawn textures attacked, looked at and remembered one after another: a cloud for the paper's figures."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from rita_demo.attacks import attack_row
from rita_demo.data import textures
from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.engine import Engine
from rita_demo.errors import SettingError
from rita_demo.evaluation.collection import Collection, Entry, picture_seed
from rita_demo.records import Picture
from rita_demo.settings import Settings
from rita_demo.surveys import Cloud

VIEWS_SHOWN = 16  # of every picture's crops; the memory sees all of them
THUMB = 56  # pixels
MOST = 400  # pictures of one cloud


def drawn(classes: int, per_class: int, split: str = "val") -> Collection:
    """Procedural textures: ``classes`` of the 47 words, spread over the alphabet, as a collection."""
    everything = textures.CLASSES
    if not 2 <= classes <= len(everything) or per_class < 1 or classes * per_class > MOST:
        raise SettingError(
            f"A cloud has 2 to {len(everything)} classes and at most {MOST} pictures; got {classes} "
            f"classes with {per_class} pictures each."
        )
    names = tuple(everything[i * len(everything) // classes] for i in range(classes))
    entries = tuple(
        Entry(f"{name}/{seed}", label, 0, drawing=(name, seed))
        for seed in textures.seeds(split)[:per_class]
        for label, name in enumerate(names)
    )
    return Collection("textures", split, names, entries, len(entries), classes)


def gathering(
    engine: Engine, collection: Collection, settings: Settings, seed: int = 0
) -> Generator[tuple[int, int], None, Cloud]:
    """Attack every picture of a collection in the order of a stream, remember its views, keep the features.

    Yields (pictures done, pictures) after every step of the attacker, so that cancelling acts at once.
    The prompts are not tuned: the memory does not depend on it (``cache_text`` is ``initial``).
    """
    still = settings.but(tuning_steps=0, cache_text="initial", protocol="stream")
    bank = engine.classes(collection.names, still)
    memory = engine.empty_cache(bank, still)
    entries = collection.stream(seed)
    clean, attacked, views, thumbs = [], [], [], []
    for number, entry in enumerate(entries):
        yield number, len(entries)
        mine = picture_seed(seed, entry)
        own = still.but(view_seed=mine, attack_seed=mine)
        before = open_picture(entry.source(), square=own.square, side=engine.info.side)
        after = before
        if own.attack != "none":
            steps = engine.attacking(before, bank, own, entry.label, cache=memory)
            after = yield from _attacked(steps, number, len(entries))
        glance = engine.look(after, own)
        _, memory = engine.decide(glance, bank, memory, own)
        clean.append(engine.look(before, own.but(views=1)).features[0])
        attacked.append(glance.features[0])
        views.append(glance.features[1 : 1 + VIEWS_SHOWN])
        thumbs.append(thumbnail(after.pixels))
    return Cloud(
        title=_title(engine, collection, settings),
        bank=bank,
        ids=tuple(entry.id for entry in entries),
        label=np.array([entry.label for entry in entries]),
        clean=np.stack(clean),
        attacked=np.stack(attacked),
        views=np.stack(views),
        memory=memory,
        thumbs=np.stack(thumbs),
    )


def _attacked(
    steps: Generator[tuple[int, int], None, object], done: int, total: int
) -> Generator[tuple[int, int], None, Picture]:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return picture_of(end.value.pixels)
        yield done, total


def thumbnail(pixels: np.ndarray) -> np.ndarray:
    """At most (THUMB, THUMB, 3) uint8 by means of blocks: good enough to recognise, no more."""
    side = pixels.shape[0]
    edges = np.linspace(0, side, min(THUMB, side) + 1).astype(int)[:-1]
    sums = np.add.reduceat(np.add.reduceat(pixels.astype(np.float32), edges, 0), edges, 1)
    widths = np.diff([*edges, side])
    return (sums / (widths[:, None, None] * widths[None, :, None])).round().astype(np.uint8)


def _title(engine: Engine, collection: Collection, settings: Settings) -> str:
    n, k = len(collection.entries), len(collection.names)
    return f"{n} drawn textures, {k} classes, {attack_words(settings)}, {engine.info.title}"


def attack_words(settings: Settings) -> str:
    """The attack in a few words: "PGD 4/255, 7 steps"."""
    row = attack_row(settings.attack)
    if row.name == "none":
        return "not attacked"
    strength = f" {settings.budget}/255" if row.bounded else ""
    steps = f", {row.steps(settings.steps)} steps" if row.iterative else ""
    return f"{row.title}{strength}{steps}"
