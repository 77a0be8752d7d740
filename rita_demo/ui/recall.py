"""What the panels of the memory's tab show, each drawn from the session; nothing before it is opened."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from rita_demo.ui import shelf, words
from rita_demo.ui.history import Entry
from rita_demo.ui.sessions import Session


def when_open(draw: Callable[[Session], Any]) -> Callable[[Session], Any]:
    """Draw only once the tab was opened: until then the first tab pays nothing for this one."""
    return lambda session: draw(session) if session.recalling else gr.skip()


def moment(session: Session) -> int:
    """Number of the moment looked at."""
    last, at = max(len(session.history.entries) - 1, 0), session.selection.moment
    return last if at is None else min(max(at, 0), last)


def entry(session: Session) -> Entry | None:
    """The moment looked at."""
    entries = session.history.entries
    return entries[moment(session)] if entries else None


def slider(session: Session) -> Any:
    """The time slider."""
    last = len(session.history.entries) - 1
    return gr.update(maximum=max(last, 1), value=moment(session), visible=last > 0)


def heading(session: Session) -> str:
    """Which moment is looked at."""
    one = entry(session)
    if one is None:
        return "<h3>Nothing has happened yet</h3>"
    count = words.views(one.shelf.count)
    return f"<h3>Moment {moment(session)}: {escape(one.title)}. It held {count}.</h3>"


def contents(session: Session) -> str:
    """The shelf at that moment."""
    one, at = entry(session), session.selection
    if one is None:
        return "<p class='empty'>What is remembered will stand here once a picture was decided.</p>"
    return shelf.contents(one, at.item, at.k)


def detail(session: Session) -> str:
    """The chosen item."""
    one = entry(session)
    return "" if one is None else shelf.detail(one, session.selection.item)


def log(session: Session) -> str:
    """All that happened."""
    return shelf.log(session.history, moment(session))


def compared(session: Session) -> str:
    """Both verdicts in words."""
    story, bare = session.story, session.bare
    if story is None or bare is None or bare[0] is not story:
        return ""
    if story.settings.protocol == "off":
        return "<p class='lead'>The memory is switched off in the settings.</p>"
    with_, without = story.attacked.verdicts["rita"], bare[1].verdict
    names = story.bank.names
    same = "The memory did not change" if with_.label == without.label else "The memory changed"
    return (
        f"<p class='lead'>{same} RITA's answer on this picture. With the memory it was decided from: "
        f"<b>{escape(names[with_.label])}</b> ({escape(words.margin(with_))}). With an empty one: "
        f"<b>{escape(names[without.label])}</b> ({escape(words.margin(without))}). "
        f"{_largest(session)}</p>"
    )


def _largest(session: Session) -> str:
    story, bare = session.story, session.bare
    assert story is not None
    assert bare is not None
    change = np.asarray(story.attacked.trace.cache_distance) - np.asarray(bare[1].cache_distance)
    k = int(np.abs(change).argmax())
    if abs(float(change[k])) < 5e-5:
        return "No class's cost moved: the memory held nothing when this picture was decided."
    return (
        f"The largest change: {escape(story.bank.names[k])}, by {words.signed(float(change[k]))}."
    )


def lesson(session: Session) -> str:
    """What the last filling changed."""
    return session.lesson or "<p class='empty'>What a filling changes will stand here.</p>"
