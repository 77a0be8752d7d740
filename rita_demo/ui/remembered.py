"""The memory that the picture was decided from, inside *Inside RITA*; its items are the third tab's items.

The selection names an item by class and slot of the moment looked at on the third tab.  The same item
may lie elsewhere, or not at all, in the memory this picture was decided from: it is found by what it is.
"""

from __future__ import annotations

from html import escape

import numpy as np

from rita_demo.records import CacheState
from rita_demo.ui import recall, words
from rita_demo.ui.history import Item
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.plotly_view import whole
from rita_demo.ui.sessions import Session

Place = tuple[int, int]  # class and slot


def read(event: object, session: Session) -> Place | None:
    """Class and slot of ``cache_before`` that a stranger's event names; None if nothing lies there."""
    raw = getattr(event, "_data", None)
    if session.story is None or not isinstance(raw, dict):
        return None
    cache = session.story.cache_before
    k = whole(raw.get("k"), 0, len(cache.count))
    slot = None if k is None else whole(raw.get("slot"), 0, int(cache.count[k]))
    return None if k is None or slot is None else (k, slot)


def selected(session: Session) -> Place | None:
    """Where the chosen item lies in the memory this picture was decided from; None if it does not."""
    entry, chosen, story = recall.entry(session), session.selection.item, session.story
    if entry is None or chosen is None or story is None or entry.shelf.key != story.bank.key:
        return None
    item, k = entry.shelf.item(*chosen), chosen[0]
    if item is None:
        return None
    slots = range(int(story.cache_before.count[k]))
    return next(((k, s) for s in slots if _same(story.cache_before, (k, s), item)), None)


def shown_at(session: Session, place: Place) -> tuple[Place, int] | None:
    """The latest moment of the history that held the item at ``place``, and where; None if it is forgotten."""
    assert session.story is not None
    cache, k = session.story.cache_before, place[0]
    for moment in range(len(session.history.entries) - 1, -1, -1):
        shelf = session.history.entries[moment].shelf
        if shelf.key == session.story.bank.key:
            for slot, item in enumerate(shelf.held.get(k, ())):
                if _same(cache, place, item):
                    return (k, slot), moment
    return None


def _same(cache: CacheState, place: Place, item: Item) -> bool:
    marks = (int(cache.born[place]), int(cache.view[place]), float(cache.entropy[place]))
    return marks == (item.born, item.view, item.entropy) and np.array_equal(
        cache.features[place], item.feature
    )


def shelf(session: Session) -> str:
    """HTML: what the memory of the chosen class held when this picture was decided, as buttons."""
    story, k = session.story, session.selection.k
    if story is None or k is None:
        return "<p class='empty'>Choose a class to see what was remembered of it.</p>"
    cache, name = story.cache_before, escape(story.bank.names[k])
    total = int(np.asarray(cache.count).sum())
    if story.settings.protocol != "stream":
        return "<p class='empty'>By the settings, no memory is kept from picture to picture.</p>"
    if not int(cache.count[k]):
        others = f"{words.views(total)} of other classes" if total else "nothing at all"
        return (
            f"<p class='empty'>Nothing was remembered of {name} when this picture was decided; the "
            f"memory held {others}.</p>"
        )
    buttons = "".join(_button(session, (k, slot)) for slot in range(int(cache.count[k])))
    return (
        f"<div class='shelf'><section class='card here'><h3>{name}</h3><p class='quiet small'>"
        f"{words.views(int(cache.count[k]))} of {words.views(total)} in the memory, before this picture"
        f"</p><div class='items'>{buttons}</div></section></div>"
    )


def _button(session: Session, place: Place) -> str:
    assert session.story is not None
    cache, (k, slot) = session.story.cache_before, place
    out, pressed = place in session.what_if.left_out.items, place == selected(session)
    said = (
        f"{session.story.bank.names[k]}, slot {slot}: view {int(cache.view[place])} of picture "
        f"{int(cache.born[place]) + 1}, entropy {float(cache.entropy[place]):.3f} nats"
        f"{', left out' if out else ''}"
    )
    mark = "<em>left out</em>" if out else ""
    return (
        f'<button type="button" class="{"out" if out else ""}" data-k="{k}" data-slot="{slot}" '
        f'aria-pressed="{str(pressed).lower()}" aria-label="{escape(said)}" title="{escape(said)}">'
        f"{_picture(session, place)}<small>{float(cache.entropy[place]):.2f}{mark}</small></button>"
    )


def _picture(session: Session, place: Place) -> str:
    found = shown_at(session, place)
    item = None if found is None else session.history.entries[found[1]].shelf.item(*found[0])
    if item is None or item.thumb is None:
        return "<span class='blank'>?</span>"
    return f'<img src="{jpeg_uri(item.thumb)}" alt="" width="48" height="48">'
