"""What the panels of the memory's tab show, each drawn from the session; nothing before it is opened."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from rita_demo import plots
from rita_demo.analysis import plane, text_mean
from rita_demo.plots.names import safe
from rita_demo.records import Plane, Story, Trace
from rita_demo.ui import shelf, words
from rita_demo.ui.history import Entry, Item
from rita_demo.ui.sessions import Session

WAITING = "Drawn once a picture was decided with the model in use."


def when_open(draw: Callable[[Session], Any]) -> Callable[[Session], Any]:
    """Draw only while the tab is in sight: the others pay nothing for this one."""
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


def removing(session: Session) -> Any:
    """The button that takes the chosen item out: only of what the memory holds now."""
    one, item = entry(session), session.selection.item
    there = one is not None and item is not None and one.shelf.item(*item) is not None
    now = moment(session) == len(session.history.entries) - 1
    return gr.update(interactive=bool(there and now))


def log(session: Session) -> str:
    """All that happened."""
    return shelf.log(session.history, moment(session))


def compared(session: Session) -> str:
    """Both verdicts in words."""
    found = _both(session)
    if found is None:
        return f"<p class='empty'>{WAITING}</p>"
    story, full, empty = found
    if story.settings.protocol == "off":
        return "<p class='lead'>The memory is switched off in the settings.</p>"
    with_, without = full.verdict, empty.verdict
    names = story.bank.names
    does = "does not change" if with_.label == without.label else "changes"
    last = moment(session) == len(session.history.entries) - 1
    when = "now" if last else f"at moment {moment(session)}"
    return (
        f"<p class='lead'>The memory {does} RITA's answer on this picture. With what it holds {when}, apart "
        f"from the picture’s own views: <b>{escape(names[with_.label])}</b> ({escape(words.margin(with_))}). "
        f"With an empty one: <b>{escape(names[without.label])}</b> ({escape(words.margin(without))}). "
        f"{_largest(story, full, empty)}</p>"
    )


def _both(session: Session) -> tuple[Story, Trace, Trace] | None:
    """The picture on screen decided from the memory of the moment looked at, and from an empty one."""
    story, bare, full = session.story, session.bare, session.recalled
    if (
        story is None
        or bare is None
        or full is None
        or bare[0] is not story
        or full[0] is not story
    ):
        return None
    return story, full[2], bare[1]


def _largest(story: Story, full: Trace, empty: Trace) -> str:
    change = np.asarray(full.cache_distance) - np.asarray(empty.cache_distance)
    k = int(np.abs(change).argmax())
    if abs(float(change[k])) < 5e-5:
        single = story.settings.empty_class == "text_mean" and np.max(full.cache.count) == 1
        why = ": a class that holds one view costs exactly what an empty one does" if single else ""
        return f"No class's cost moves{why}."
    return (
        f"The largest change of a d<sub>cOT</sub>: {escape(story.bank.names[k])}, by "
        f"{words.signed(float(change[k]))} cosine distance."
    )


def distances(session: Session) -> Any:
    """d_cOT of every class with and without the memory."""
    found = _both(session)
    if found is None or found[0].settings.protocol == "off":
        return None
    story, full, empty = found
    return plots.cache_distances(story, empty, session.selection.k, full=full)


def _plane(session: Session) -> tuple[str, Plane | None, int]:
    """Name of the class looked at, its views in the plane at the moment looked at, how many they are."""
    story, one, k = session.story, entry(session), session.selection.k
    if story is None or one is None or k is None or one.shelf.key != story.bank.key:
        return "", None, 0
    items = one.shelf.held.get(k, ())
    known = session.turned
    same = known is not None and known[0] is story and known[1] is items and known[2] == k
    if known is None or not same:  # the SVD takes a while: once per class
        known = session.turned = (story, items, k, _turned(story, k, items))
    return story.bank.names[k], known[3], len(items)


def _turned(story: Story, k: int, items: tuple[Item, ...]) -> Plane | None:
    if not items:
        return None
    tuned = story.settings.cache_text == "tuned"
    prompts = story.attacked.trace.prompt_features if tuned else story.bank.features
    zbar = text_mean(prompts[k], story.bank.weight[k])
    return plane(np.stack([i.feature for i in items]), zbar)


def plane_figure(session: Session) -> Any:
    """The chosen class's views before and after Procrustes."""
    name, one, count = _plane(session)
    if one is None:
        if not name:
            return None
        why = "Its views cancel out" if count else "The memory holds nothing"
        return plots.empty(f"{why} for {safe(name)} at this moment: nothing is turned.")
    item = session.selection.item
    chosen = item[1] if item is not None and item[0] == session.selection.k else None
    return plots.procrustes_plane(one, name, chosen if chosen is None or chosen < count else None)


def plane_words(session: Session) -> str:
    """What the figure shows, with its numbers."""
    name, one, _ = _plane(session)
    if one is None:
        return "<p class='empty'>Choose a remembered view to see how its class is turned.</p>"
    return (
        f"<p class='lead'>Procrustes turns the remembered views of {escape(name)} by "
        f"{np.degrees(one.angle):.0f}°, so that their mean points where the class’s prompts point. "
        f"{_solutions(one)}</p><p class='quiet small'>The plane holds both mean directions. It shows this "
        f"share of the views’ variance about the origin: {_shares(one.share.sum(1))}.{_spread(one)}</p>"
    )


def _solutions(one: Plane) -> str:
    if len(one.before) == 1:
        return "With a single view both solutions put it on the prompts’ direction: nothing else is left of it."
    return (
        "Both solutions do that: the smallest rotation leaves everything outside this plane alone (moved by "
        f"{float(one.moved_smallest.max()):.2f}), the SVD of the formula fills the rest with whatever comes "
        f"(moved by up to {float(one.moved_svd.max()):.2f}, where 2 is the most)."
    )


def _spread(one: Plane) -> str:
    if len(one.before) == 1:
        return ""
    return f" Of their variance about their own mean: {_shares(one.spread)}."


def _shares(shares: np.ndarray) -> str:
    stages = ("before", "after the smallest rotation", "after the SVD’s")
    return ", ".join(f"{words.percent(round(float(v), 6))} {s}" for s, v in zip(stages, shares))


def lesson(session: Session) -> str:
    """What the last filling changed."""
    return session.lesson or "<p class='empty'>What a filling changes will stand here.</p>"
