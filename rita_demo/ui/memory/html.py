"""The cache as HTML: one card per class with thumbnails to choose from, and the log."""

from html import escape

from markupsafe import Markup

from rita_demo.analysis import resultant_length
from rita_demo.data.memory import MemoryTable
from rita_demo.records import CacheEvent
from rita_demo.records.grouping import group_by
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.data_uri import jpeg_uri, thumbnail_html

MAX_ROWS = 60  # of the log on the page
MAX_EVENTS = 6  # views that entered, in a row of the log


def contents(session: Session) -> str:
    """Every class that holds something at the selected moment, most views first; new views are marked."""
    entry = session.selected_entry
    if entry is None:
        return "<p class='empty'>The stored views appear here once a picture was decided.</p>"
    memory, t = session.shown_history, session.selected_moment
    held = {k: [row for *_, row in same] for k, same in group_by(memory.held(t), lambda at: at[0]).items()}
    if not held:
        return (
            "<p class='empty'>The memory is empty at this moment. Confident views enter when a picture is decided.</p>"
        )
    order = sorted(held, key=lambda c: (-len(held[c]), memory.names[c]))
    selected = None if session.selected_item is None else session.selection.item
    focus = selected or (order[0], 0)
    cards = "".join(_card(memory, t, c, held[c], selected, focus, c == session.selection.k) for c in order)
    rest = len(memory.names) - len(held)
    unknown = "?: true class unknown. " if any(not memory.truth[row] for row in entry.held) else ""
    others = "1 other class holds" if rest == 1 else f"{rest} other classes hold"
    return (
        f"<div class='stored-views{' picked' if selected else ''}' role='group' "
        f"aria-label='What the memory holds, by pseudo-label'>{cards}</div>"
        f"<p class='quiet small'>{unknown}{others} nothing. A class has {entry.slots} places. Under each view: its "
        f"{wording.term_html('entropy')} and its age in pictures. <span class='keys'>Arrow keys move between them, "
        "Enter chooses.</span></p>"
    )


def _card(
    memory: MemoryTable,
    t: int,
    k: int,
    rows: list[int],
    selected: tuple[int, int] | None,
    focus: tuple[int, int],
    is_selected: bool,
) -> str:
    moment, name, buttons = memory.moments[t], memory.names[k], ""
    new = {event.slot for event in moment.events if event.label == k}
    for slot, row in enumerate(rows):
        old, entropy, truth = age(memory, t, row), memory.entropy[row], memory.truth[row]
        short = old.removeprefix("with the ").replace(" pictures", "").replace(" picture", "")
        right = "? " if not truth else "✓ " if truth == name else "<b class='wrong'>✗</b> "
        mark = "<em>new</em>" if slot in new else short
        about = f", of {memory.picture[row]}" if memory.picture[row] else ""
        about += f", true class {truth or 'unknown'}"
        label = escape(f"Pseudo-label {name}, slot {slot}: entropy {entropy:.3f} nats, {old}{about}")
        buttons += (
            f'<button type="button" data-memory_k="{k}" data-slot="{slot}" aria-pressed="{str((k, slot) == selected).lower()}" '
            f'tabindex="{0 if (k, slot) == focus else -1}" aria-label="{label}" title="{label}">'
            f"{thumbnail_html(memory.crop(row), memory.file[row])}<small>{entropy:.2f}</small>"
            f"<small>{right}{mark}</small></button>"
        )
    return (
        f"<section class='card{' here' if is_selected else ''}'><h3>{escape(name)}</h3>"
        f"<p class='quiet small'>{len(rows)} of {moment.slots} places, {wording.term_html('agreement')} "
        f"{resultant_length(memory.feature[rows]):.3f}</p><div class='items'>{buttons}</div></section>"
    )


def age(memory: MemoryTable, t: int, row: int) -> str:
    """When a view was inserted, counted from the last picture that the memory has seen at moment ``t``."""
    before = memory.moments[t].pictures - 1 - memory.born[row]
    return "with the last picture" if before <= 0 else f"{before} picture{'s' if before > 1 else ''} earlier"


def detail(session: Session) -> str:
    """The selected item in words."""
    memory, selected, row = session.shown_history, session.selection.item, session.selected_item
    if not memory.moments:
        return ""
    if selected is None or row is None:
        return "<p class='empty'>Choose a stored view to see where it came from.</p>"
    picture, truth = "", "; its true class is unknown"
    crop, true_class = memory.crop(row), memory.truth[row]
    if crop is not None:
        picture = f'<img src="{jpeg_uri(crop, quality=92)}" alt="" width="96" height="96">'
    if true_class:
        right = true_class == memory.names[selected[0]]
        truth = "; that is its true class ✓" if right else f"; its true class is {escape(true_class)} ✗"
    name = escape(memory.names[selected[0]])
    return (
        f"<div class='touched'>{picture}<div><h3>{name}, slot {selected[1]}</h3><p>View {memory.view[row]} of "
        f"{picture_name(memory, row)}, which came {age(memory, session.selected_moment, row)}. It "
        f"answered {name} (its {wording.term_html('pseudo-label')}) with an {wording.term_html('entropy')} of "
        f"{memory.entropy[row]:.3f}{truth}. Once the class is full, only a view of lower entropy replaces it.</p></div></div>"
    )


def picture_name(memory: MemoryTable, row: int) -> str:
    """HTML: the picture of a stored view as the visitor knows it; one of an imported file only by its number."""
    return f"“{escape(memory.picture[row])}”" if memory.picture[row] else f"picture {memory.born[row] + 1}"


def log(session: Session) -> str:
    """What was inserted and what it replaced, newest first; the selected moment is marked."""
    memory = session.shown_history
    numbered = list(enumerate(memory.moments))[::-1]
    if not numbered:
        return "<p class='empty'>Nothing has happened yet.</p>"
    rows, kinds = [], list[str]()
    for number, entry in numbered[:MAX_ROWS]:
        entered = "; ".join(_event(memory, max(number - 1, 0), e) for e in entry.events[:MAX_EVENTS])
        if len(entry.events) > MAX_EVENTS:
            entered += f"; and {len(entry.events) - MAX_EVENTS} more"
        here = number == session.selected_moment
        heading = Markup(f"<span aria-current='true'>{number}</span>") if here else number
        rows.append((heading, entry.title, Markup(entered or "–"), len(entry.held)))
        kinds.append("here" if here else "")
    more = len(numbered) - MAX_ROWS
    rest = f"<p class='quiet small'>{more} earlier moments: use the slider.</p>" if more > 0 else ""
    return table(("moment", "what", "entered", "held"), rows, "log", kinds=kinds) + Markup(rest)


def _event(memory: MemoryTable, t: int, event: CacheEvent) -> str:
    """A view that entered after moment ``t``, and the one that left for it."""
    text = f"view {event.view} as <b>{escape(memory.names[event.label])}</b> (entropy {event.entropy:.2f})"
    if event.replaced_entropy is None or event.replaced_born is None:
        return text
    gone, who = (
        memory.find(t, event.label, event.replaced_born, event.replaced_entropy),
        f"one of picture {event.replaced_born + 1}",
    )
    if gone is not None:
        who = f"view {memory.view[gone]} of {picture_name(memory, gone)}"
    return f"{text}, {event.replaced_entropy - event.entropy:.3f} lower than {who}, which left"
