"""The cache as HTML: one card per class with thumbnails to choose from, and the log."""

from html import escape

import numpy as np

from rita_demo.analysis import resultant_length
from rita_demo.records import CacheEvent
from rita_demo.ui.session.cache_history import CacheItem, CacheSnapshot, HistoryEntry
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table
from rita_demo.ui.widgets.data_uri import jpeg_uri, thumbnail_html

MAX_ROWS = 60  # of the log on the page
MAX_EVENTS = 6  # views that entered, in a row of the log


def contents(session: Session) -> str:
    """Every class that holds something at the selected moment, most views first; new views are marked."""
    entry = session.selected_entry
    if entry is None:
        return "<p class='empty'>The stored views appear here once a picture was decided.</p>"
    snapshot, held = entry.snapshot, entry.snapshot.items_by_class
    if not held:
        return (
            "<p class='empty'>The memory is empty at this moment. Confident views enter when a picture is decided.</p>"
        )
    order = sorted(held, key=lambda c: (-len(held[c]), snapshot.names[c]))
    selected = session.selection.item if session.selected_item else None
    cards = "".join(_card(entry, c, selected, selected or (order[0], 0), c == session.selection.k) for c in order)
    rest = len(snapshot.names) - len(held)
    unknown = "?: true class unknown. " if any(not i.truth for items in held.values() for i in items) else ""
    others = "1 other class holds" if rest == 1 else f"{rest} other classes hold"
    return (
        f"<div class='stored-views{' picked' if selected else ''}' role='group' "
        f"aria-label='What the memory holds, by pseudo-label'>{cards}</div>"
        f"<p class='quiet small'>{unknown}{others} nothing. A class has {snapshot.slots} places. Under each view: its "
        f"{wording.term_html('entropy')} and its age in pictures. <span class='keys'>Arrow keys move between them, "
        "Enter chooses.</span></p>"
    )


def _card(
    entry: HistoryEntry, k: int, selected: tuple[int, int] | None, focus: tuple[int, int], is_selected: bool
) -> str:
    snapshot, items = entry.snapshot, entry.snapshot.items_by_class[k]
    new = {event.slot for event in entry.events if event.label == k}
    r, name, buttons = resultant_length(np.stack([i.feature for i in items])), snapshot.names[k], ""
    for slot, item in enumerate(items):
        old = age(snapshot, item)
        short = old.removeprefix("with the ").replace(" pictures", "").replace(" picture", "")
        mark = "<em>new</em>" if slot in new else short
        about = f", of {item.picture}" if item.picture else ""
        about += f", true class {item.truth or 'unknown'}"
        label = escape(f"Pseudo-label {name}, slot {slot}: entropy {item.entropy:.3f} nats, {old}{about}")
        buttons += (
            f'<button type="button" data-memory_k="{k}" data-slot="{slot}" aria-pressed="{str((k, slot) == selected).lower()}" '
            f'tabindex="{0 if (k, slot) == focus else -1}" aria-label="{label}" title="{label}">'
            f"{thumbnail_html(item.thumbnail, item.file)}<small>{item.entropy:.2f}</small>"
            f"<small>{_truth_mark(name, item)}{mark}</small></button>"
        )
    return (
        f"<section class='card{' here' if is_selected else ''}'><h3>{escape(name)}</h3>"
        f"<p class='quiet small'>{len(items)} of {snapshot.slots} places, {wording.term_html('agreement')} "
        f"{r:.3f}</p><div class='items'>{buttons}</div></section>"
    )


def _truth_mark(name: str, item: CacheItem) -> str:
    """HTML: whether a view that is stored under a class name shows that class; "?" if its true class is not known."""
    return "? " if not item.truth else "✓ " if item.truth == name else "<b class='wrong'>✗</b> "


def age(snapshot: CacheSnapshot, item: CacheItem) -> str:
    """When the item was inserted, counted from the last picture that the memory has seen."""
    before = snapshot.pictures - 1 - item.born
    return "with the last picture" if before <= 0 else f"{before} picture{'s' if before > 1 else ''} earlier"


def detail(session: Session) -> str:
    """The selected item in words."""
    entry, selected, item = session.selected_entry, session.selection.item, session.selected_item
    if entry is None:
        return ""
    if selected is None or item is None:
        return "<p class='empty'>Choose a stored view to see where it came from.</p>"
    picture, truth = "", "; its true class is unknown"
    if item.thumbnail is not None:
        picture = f'<img src="{jpeg_uri(item.thumbnail, quality=92)}" alt="" width="96" height="96">'
    if item.truth:
        right = item.truth == entry.snapshot.names[selected[0]]
        truth = "; that is its true class ✓" if right else f"; its true class is {escape(item.truth)} ✗"
    name = escape(entry.snapshot.names[selected[0]])
    return (
        f"<div class='touched'>{picture}<div><h3>{name}, slot {selected[1]}</h3><p>View {item.view} of "
        f"{picture_name(item)}, which came {age(entry.snapshot, item)}. It "
        f"answered {name} (its {wording.term_html('pseudo-label')}) with an {wording.term_html('entropy')} of "
        f"{item.entropy:.3f}{truth}. Once the class is full, only a view of lower entropy replaces it.</p></div></div>"
    )


def picture_name(item: CacheItem) -> str:
    """HTML: the picture of a stored view as the visitor knows it; one of an imported file only by its number."""
    return f"“{escape(item.picture)}”" if item.picture else f"picture {item.born + 1}"


def log(session: Session) -> str:
    """What was inserted and what it replaced, newest first; the selected moment is marked."""
    entries = session.shown_history.entries
    numbered = list(enumerate(entries))[::-1]
    if not numbered:
        return "<p class='empty'>Nothing has happened yet.</p>"
    rows = []
    for number, entry in numbered[:MAX_ROWS]:
        before = entries[number - 1].snapshot if number else entry.snapshot
        entered = "; ".join(_event(before, e) for e in entry.events[:MAX_EVENTS])
        if len(entry.events) > MAX_EVENTS:
            entered += f"; and {len(entry.events) - MAX_EVENTS} more"
        current = " class='here' aria-current='true'" if number == session.selected_moment else ""
        rows.append(
            f"<tr{current}><th scope='row'>{number}</th><td>{escape(entry.title)}</td>"
            f"<td>{entered or '–'}</td><td>{entry.snapshot.count}</td></tr>"
        )
    more = len(numbered) - MAX_ROWS
    rest = f"<p class='quiet small'>{more} earlier moments: use the slider.</p>" if more > 0 else ""
    return html_table(("moment", "what", "entered", "held"), rows, "log") + rest


def _event(before: CacheSnapshot, event: CacheEvent) -> str:
    """A view that entered, and the one of ``before`` that left for it."""
    text = f"view {event.view} as <b>{escape(before.names[event.label])}</b> (entropy {event.entropy:.2f})"
    if event.replaced_entropy is None or event.replaced_born is None:
        return text
    gone = (event.replaced_born, np.float32(event.replaced_entropy))
    items = before.items_by_class.get(event.label, ())
    found = next((item for item in items if (item.born, np.float32(item.entropy)) == gone), None)
    who = f"view {found.view} of {picture_name(found)}" if found else f"one of picture {event.replaced_born + 1}"
    return f"{text}, {event.replaced_entropy - event.entropy:.3f} lower than {who}, which left"
