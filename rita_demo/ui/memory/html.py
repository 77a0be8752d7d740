"""The cache as HTML: one card per class with thumbnails to choose from, and the log."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from rita_demo.analysis import resultant_length
from rita_demo.ui.session.cache_history import CacheItem, CacheSnapshot, HistoryEntry
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table
from rita_demo.ui.widgets.data_uri import jpeg_uri, thumbnail_html
from rita_demo.ui.widgets.plotly_view import event_data, parse_int

MAX_ROWS = 60  # of the log on the page
CACHE_FORMATS = {"safetensors": "Export", "json": "Export as JSON"}


def clicked_item(event: Any, snapshot: CacheSnapshot) -> tuple[int, int] | None:
    """Class and slot that an untrusted event names; None if that slot is empty."""
    raw = event_data(event)
    k = parse_int(raw.get("k"), 0, len(snapshot.names))
    slot = parse_int(raw.get("slot"), 0, snapshot.slots)
    return None if k is None or slot is None or snapshot.item(k, slot) is None else (k, slot)


def contents(session: Session) -> str:
    """Every class that holds something at the selected moment, most views first; new views are marked."""
    entry, selected = session.selected_entry, session.selection.item
    if entry is None:
        return "<p class='empty'>The stored views appear here once a picture was decided.</p>"
    snapshot, held = entry.snapshot, entry.snapshot.items_by_class
    if not held:
        return (
            "<p class='empty'>The memory is empty at this moment. Views whose entropy is under the "
            "limit enter it when a picture is decided.</p>"
        )
    order = sorted(held, key=lambda c: (-len(held[c]), snapshot.names[c]))
    if session.selected_item is None:
        selected = None
    cards = "".join(_card(entry, c, selected, selected or (order[0], 0), c == session.selection.k) for c in order)
    rest = len(snapshot.names) - len(held)
    others = "1 other class holds" if rest == 1 else f"{rest} other classes hold"
    return (
        f"<div class='stored-views{' picked' if selected else ''}' role='group' "
        f"aria-label='What the memory holds, by pseudo-label'>{cards}</div>"
        f"<p class='quiet small'>{others} nothing. Up to {snapshot.slots} views per class (J). Under each "
        f"view: its {wording.term_html('entropy')} in nats and its age in pictures. Arrow keys move between "
        "them, Enter chooses.</p>"
    )


def _card(
    entry: HistoryEntry, k: int, selected: tuple[int, int] | None, focus: tuple[int, int], is_selected: bool
) -> str:
    snapshot, items = entry.snapshot, entry.snapshot.items_by_class[k]
    new = {event.slot for event in entry.events if event.label == k}
    r = resultant_length(np.stack([i.feature for i in items]))
    buttons = ""
    for slot, item in enumerate(items):
        old = age(snapshot, item)
        mark = "<em>new</em>" if slot in new else old.replace("pictures ", "").replace("picture ", "")
        label = escape(f"Pseudo-label {snapshot.names[k]}, slot {slot}: entropy {item.entropy:.3f} nats, {old}")
        buttons += (
            f'<button type="button" data-k="{k}" data-slot="{slot}" aria-pressed="{str((k, slot) == selected).lower()}" '
            f'tabindex="{0 if (k, slot) == focus else -1}" aria-label="{label}" title="{label}">'
            f"{thumbnail_html(item.thumbnail)}<small>{item.entropy:.2f} nats</small><small>{mark}</small></button>"
        )
    return (
        f"<section class='card{' here' if is_selected else ''}'><h3>{escape(snapshot.names[k])}</h3>"
        f"<p class='quiet small'>{len(items)} of {snapshot.slots} places, {wording.term_html('agreement')} "
        f"r<sub>k</sub> = {r:.3f}</p><div class='items'>{buttons}</div></section>"
    )


def age(snapshot: CacheSnapshot, item: CacheItem) -> str:
    """How many pictures ago the item was inserted."""
    ago = snapshot.pictures - 1 - item.born
    return "this picture" if ago <= 0 else "1 picture ago" if ago == 1 else f"{ago} pictures ago"


def detail(session: Session) -> str:
    """The selected item in words."""
    entry, selected, item = session.selected_entry, session.selection.item, session.selected_item
    if entry is None:
        return ""
    if selected is None or item is None:
        return "<p class='empty'>Choose a stored view to see where it came from.</p>"
    picture = ""
    if item.thumbnail is not None:
        picture = f'<img src="{jpeg_uri(item.thumbnail, quality=92)}" alt="" width="96" height="96">'
    name = escape(entry.snapshot.names[selected[0]])
    return (
        f"<div class='touched'>{picture}<div><h3>{name}, slot {selected[1]}</h3><p>View {item.view} of "
        f"picture {item.born + 1}, which came {age(entry.snapshot, item).replace('this', 'with this')}. It "
        f"answered {name} (its {wording.term_html('pseudo-label')}) with an {wording.term_html('entropy')} of "
        f"{item.entropy:.3f} nats. Once the class is full, only a view of lower entropy can replace it.</p></div></div>"
    )


def log(session: Session) -> str:
    """What was inserted and what it replaced, newest first; the selected moment is marked."""
    numbered = list(enumerate(session.history.entries))[::-1]
    if not numbered:
        return "<p class='empty'>Nothing has happened yet.</p>"
    rows = []
    for number, entry in numbered[:MAX_ROWS]:
        entered = "; ".join(_event(entry.snapshot, e) for e in entry.events[:6])
        if len(entry.events) > 6:
            entered += f"; and {len(entry.events) - 6} more"
        current = " class='here' aria-current='true'" if number == session.selected_moment else ""
        rows.append(
            f"<tr{current}><th scope='row'>{number}</th><td>{escape(entry.title)}</td>"
            f"<td>{entered or '–'}</td><td>{entry.snapshot.count}</td></tr>"
        )
    more = len(numbered) - MAX_ROWS
    rest = f"<p class='quiet small'>{more} earlier moments: use the slider.</p>" if more > 0 else ""
    return html_table(("moment", "what", "entered", "held then"), rows, "log") + rest


def _event(snapshot: CacheSnapshot, event: Any) -> str:
    name = escape(snapshot.names[event.label])
    text = f"view {event.view} as <b>{name}</b> ({event.entropy:.2f} nats)"
    if event.replaced_entropy is not None:
        text += f", instead of one of picture {event.replaced_born + 1} ({event.replaced_entropy:.2f})"
    return text
