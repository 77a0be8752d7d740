"""The cache as HTML: one card per class with thumbnails to choose from, and the log."""

from html import escape

import gradio as gr
import numpy as np

from rita_demo.analysis import resultant_length
from rita_demo.plots.labels import reference_class
from rita_demo.plots.memory.cache import MIN_CHANGE
from rita_demo.records import CacheEvent, ViewContribution
from rita_demo.ui.session.cache_history import CacheItem, CacheSnapshot, HistoryEntry
from rita_demo.ui.session.session import Contributions, Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table, table_row
from rita_demo.ui.widgets.data_uri import jpeg_uri, thumbnail_html
from rita_demo.ui.widgets.plotly_view import event_data, parse_int

MAX_ROWS = 60  # of the log on the page
MAX_EVENTS = 6  # views that entered, in a row of the log
CACHE_FORMATS = {"safetensors": "Export", "json": "Export as JSON (cannot be imported)"}
MAX_CONTRIBUTIONS = 12  # rows


def clicked_item(event: gr.EventData, snapshot: CacheSnapshot) -> tuple[int, int] | None:
    """Class and slot that an untrusted event names; None if that slot is empty."""
    raw = event_data(event)
    k = parse_int(raw.get("k"), 0, len(snapshot.names))
    slot = parse_int(raw.get("slot"), 0, snapshot.slots)
    return None if k is None or slot is None or snapshot.item(k, slot) is None else (k, slot)


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
            f'<button type="button" data-k="{k}" data-slot="{slot}" aria-pressed="{str((k, slot) == selected).lower()}" '
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
    name, known = escape(entry.snapshot.names[selected[0]]), _contributions(session)
    found = known.by_item.get(id(item)) if known else None
    share = "" if found is None else f" {_contribution_text(session, found)}"
    return (
        f"<div class='touched'>{picture}<div><h3>{name}, slot {selected[1]}</h3><p>View {item.view} of "
        f"{picture_name(item)}, which came {age(entry.snapshot, item)}. It "
        f"answered {name} (its {wording.term_html('pseudo-label')}) with an {wording.term_html('entropy')} of "
        f"{item.entropy:.3f}{truth}. Once the class is full, only a view of lower entropy replaces it.{share}</p></div></div>"
    )


def picture_name(item: CacheItem) -> str:
    """HTML: the picture of a stored view as the visitor knows it; one of an imported file only by its number."""
    return f"“{escape(item.picture)}”" if item.picture else f"picture {item.born + 1}"


def _contributions(session: Session) -> Contributions | None:
    """Those of the picture on screen and the selected moment."""
    known = session.memory.contributions
    same = known is not None and known.run is session.run and known.entry is session.selected_entry
    return known if same else None


def _contribution_text(session: Session, found: ViewContribution) -> str:
    if session.run is None:
        return ""
    if found.label_without != found.label:
        name = escape(session.run.class_prompts.names[found.label_without])
        return f"<b>Without it RITA answers {name} here.</b>"
    if abs(found.lead) < MIN_CHANGE:
        return f"It does not move {reference_class(session.run)} on the picture on screen."
    return f"It moves {reference_class(session.run)} by {wording.signed(found.lead)} on the picture on screen."


def contributions(session: Session) -> str:
    """Every stored view by what it contributes to the decision on screen, the largest first."""
    known = _contributions(session)
    if known is None:
        return ""
    names = known.run.class_prompts.names
    order = sorted(
        ((known.snapshot.item(c.k, c.slot), c) for c in known.by_item.values()),
        key=lambda pair: (pair[1].label == pair[1].label_without, -abs(pair[1].lead), -abs(pair[1].distance)),
    )
    rows = []
    for item, one in order[:MAX_CONTRIBUTIONS]:
        if item is None or max(abs(one.lead), abs(one.distance)) < MIN_CHANGE:
            break
        answer = "the same" if one.label == one.label_without else f"<b>{escape(names[one.label_without])}</b>"
        about = f"<b>{escape(names[one.k])}</b><small>{picture_name(item)}, view {item.view}</small>"
        cells = (wording.signed(one.lead), wording.signed(one.distance), answer)
        rows.append(
            table_row(thumbnail_html(item.thumbnail, item.file), _truth_mark(names[one.k], item) + about, *cells)
        )
    flips = sum(one.label != one.label_without for _, one in order)
    moving = sum(abs(one.lead) >= MIN_CHANGE for _, one in order)
    moves = f"{moving} change" if moving > 1 else "one changes" if moving else "none changes"
    lead = (
        f"<p class='lead'>Each of the {wording.view_count(len(order))} was left out once. RITA’s answer needs {flips or 'none'} "
        f"of them; {moves} the lead of {reference_class(known.run)}. Below: the cost with the view minus the cost without it, in cosine "
        "distance.</p>"
    )
    columns = ("", "stored as", f"lead of {reference_class(known.run)}", "cost in the memory", "answer without it")
    return lead + (html_table(columns, rows, "log", "What each stored view contributes") if rows else "")


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
