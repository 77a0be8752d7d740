"""What is kept of the picture on screen under another strength of the attack, ready to be shown."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rita_demo import film as filming
from rita_demo.records import Story
from rita_demo.ui.pictures import pictures_value
from rita_demo.ui.sessions import Reel, Session, measured

FILM_BYTES = 64 << 20  # what the steps between may hold of the server's memory, per visitor


def reeling(engine: Any, story: Story) -> Generator[None, None, Reel]:
    """The kept steps of a story, and its pictures and views as the screen wants them first."""
    most = steps_that_fit(measured(story.attacked), 0)
    film = []
    for frame in filming.film(engine, story, most):
        film.append(frame)
        yield
    crops = {"attacked": engine.view_pixels(story.attacked.picture, story.settings)}
    shown = Session(story=story)
    pictures_value(shown)
    return Reel(story, tuple(film), crops, shown.shown)


def steps_that_fit(record: int, crops: int) -> int:
    """How many steps a visitor's film may keep, the two ends (which are there anyway) among them.

    Args:
        record: bytes of one side's record. crops: bytes of its views for the screen.
    """
    return min(filming.MOST, 2 + FILM_BYTES // max(record + crops, 1))
