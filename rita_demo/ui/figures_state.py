"""What one visitor's *Figures of the paper* show, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rita_demo.records import Bracket, Story
from rita_demo.surveys import Cloud, Marks, MeasuredPoint, OneHot, Separation

if TYPE_CHECKING:
    from rita_demo.ui.sessions import Session


@dataclass(frozen=True)
class Gathered:
    """A cloud with everything that is worked out from it once. ``places`` maps "PCA" and, when it is
    ready, "UMAP" to (P, 2); ``said`` maps the same to what is to be said about the placing."""

    cloud: Cloud
    marks: Marks
    places: dict[str, np.ndarray]
    said: dict[str, str]
    one_hot: OneHot
    separations: tuple[Separation, ...] = ()


@dataclass(frozen=True)
class Figures:
    """``open``: the tab is in sight, and drawn. ``how`` the points are placed; ``k`` a class of the cloud,
    ``picture`` one of its pictures, ``lassoed`` marks; ``ignored``: the class of the common selection
    that was released here. ``brackets``: Theorem 1 on a story; ``points`` the measurements of ``run``
    ("": those that came with this copy);
    ``filters`` of the printed table by name, those not named at their first value.
    """

    open: bool = False
    gathered: Gathered | None = None
    how: str = "PCA"
    k: int | None = None
    picture: int | None = None
    lassoed: tuple[int, ...] = ()
    ignored: int | None = None
    brackets: tuple[Story, dict[str, Bracket]] | None = None
    run: str = ""
    points: tuple[MeasuredPoint, ...] = ()
    knob: str = "transported_mass"
    filters: dict[str, str] = field(default_factory=dict)


def looked_at(session: Session) -> int | None:
    """The class of the cloud that is highlighted: the common selection where the cloud has that class,
    else the one chosen here."""
    figures, story, k = session.figures, session.story, session.selection.k
    if figures.gathered is None:
        return None
    names = figures.gathered.cloud.bank.names
    if (
        story is not None
        and k is not None
        and k != figures.ignored
        and story.bank.names[k] in names
    ):
        return names.index(story.bank.names[k])
    return figures.k
