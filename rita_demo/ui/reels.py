"""What is kept of the picture on screen under another strength of the attack, ready to be shown."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rita_demo import film as filming
from rita_demo import retelling
from rita_demo.records import Story
from rita_demo.ui.pictures import pictures_value
from rita_demo.ui.sessions import Reel, Session, measured

FILM_BYTES = 64 << 20  # what the steps between may hold of the server's memory, per visitor


def reeling(engine: Any, story: Story, budget: int) -> Generator[object, None, Reel]:
    """The picture of ``story`` attacked with ``budget``/255, its kept steps, and its pictures and views as the
    screen wants them first; yields after every step of the work."""
    other = yield from retelling.at_strength(engine, story, budget)
    most = steps_that_fit(measured(other.attacked), 0)
    film = []
    for frame in filming.film(engine, other, most):
        film.append(frame)
        yield frame
    crops = {"attacked": engine.view_pixels(other.attacked.picture, other.settings)}
    shown = Session(story=other)
    pictures_value(shown)
    return Reel(other, tuple(film), crops, shown.shown)


def steps_that_fit(record: int, crops: int) -> int:
    """How many steps a visitor's film may keep, the two ends (which are there anyway) among them.

    Args:
        record: bytes of one side's record. crops: bytes of its views for the screen.
    """
    return min(filming.MOST, 2 + FILM_BYTES // max(record + crops, 1))
