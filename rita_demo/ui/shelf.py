"""What the memory holds, as HTML: one card per class with thumbnails that can be chosen, and the log."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from rita_demo.analysis import strength
from rita_demo.ui import words
from rita_demo.ui.history import Entry, History, Item, Shelf
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.plotly_view import whole

MOST_ROWS = 60  # of the log on the page
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_EXPORT = """
element.addEventListener('click', (e) => {
  const chosen = e.target.closest('button[data-kind]');
  if (chosen) trigger('click', { kind: chosen.dataset.kind });
});
watch('value', () => {
  if (!props.value) return;
  const { name, address } = JSON.parse(props.value);
  const link = document.createElement('a');
  link.href = address; link.download = name; link.click();
});
"""
MEMORY_KINDS = {"safetensors": "Export", "json": "Export as JSON"}


class Contents(gr.HTML):
    """Cards with buttons; ``click`` reports class and slot (read it with :func:`chosen_item`)."""

    def __init__(self, **html: Any) -> None:
        super().__init__("", js_on_load=SCRIPT, apply_default_css=False, **html)

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


class Export(gr.HTML):
    """Buttons, one for each ``kind -> words``; ``click`` reports which (read it with :func:`export_kind`).
    The value, JSON made by :func:`as_file`, is saved as a file by the browser."""

    holds_file = True  # see handing.py

    def __init__(self, kinds: dict[str, str], **html: Any) -> None:
        self.kinds = kinds
        buttons = "".join(
            f"<button type='button' class='plain-button' data-kind='{kind}'>{escape(says)}</button>"
            for kind, says in kinds.items()
        )
        super().__init__(
            "", html_template=buttons, js_on_load=_EXPORT, apply_default_css=False, **html
        )

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


def export_kind(event: Any, kinds: Iterable[str] = MEMORY_KINDS) -> str:
    """One of ``kinds``, whatever a stranger wrote; the first where it is none."""
    raw, known = getattr(event, "_data", None), tuple(kinds)
    kind = raw.get("kind") if isinstance(raw, dict) else None
    return kind if isinstance(kind, str) and kind in known else known[0]


def as_file(name: str, data: bytes, number: int) -> str:
    """The value of :class:`Export` that saves ``data``; another ``number`` each time, or the browser
    would see no change."""
    code = base64.b64encode(data).decode()
    address = f"data:application/octet-stream;n={number};base64,{code}"
    return json.dumps({"name": name, "address": address})


def chosen_item(event: Any, shelf: Shelf) -> tuple[int, int] | None:
    """Class and slot named by an event that a stranger may have written; None if nothing lies there."""
    raw = getattr(event, "_data", None)
    if not isinstance(raw, dict):
        return None
    k = whole(raw.get("k"), 0, len(shelf.names))
    slot = whole(raw.get("slot"), 0, shelf.slots)
    if k is None or slot is None or shelf.item(k, slot) is None:
        return None
    return k, slot


def contents(entry: Entry, chosen: tuple[int, int] | None, k: int | None) -> str:
    """Every class that holds something, most views first; what just entered is marked."""
    shelf, held = entry.shelf, entry.shelf.held
    if not held:
        return (
            "<p class='empty'>The memory is empty at this moment. Views whose entropy is under the "
            "limit enter it when a picture is decided.</p>"
        )
    new = {(e.label, e.slot) for e in entry.events}
    order = sorted(held, key=lambda c: (-len(held[c]), shelf.names[c]))
    if chosen is None or shelf.item(*chosen) is None:
        chosen, focus = None, (order[0], 0)
    else:
        focus = chosen
    cards = "".join(_card(shelf, c, held[c], new, chosen, focus, c == k) for c in order)
    rest = len(shelf.names) - len(held)
    others = "1 other class holds" if rest == 1 else f"{rest} other classes hold"
    return (
        f"<div class='shelf{' picked' if chosen else ''}' role='group' "
        f"aria-label='What the memory holds, by pseudo-label'>{cards}</div>"
        f"<p class='quiet small'>{others} nothing. Up to {shelf.slots} views per class (J). Under each "
        f"view: its {words.term('entropy')} in nats and its age in pictures. Arrow keys walk through "
        "them, Enter chooses.</p>"
    )


def _card(
    shelf: Shelf, k: int, items: tuple[Item, ...], new: set[tuple[int, int]],
    chosen: tuple[int, int] | None, focus: tuple[int, int], looked_at: bool,
) -> str:  # fmt: skip
    r = strength(np.stack([i.feature for i in items]))
    buttons = "".join(
        _button(shelf, k, slot, item, (k, slot) in new, (k, slot) == chosen, (k, slot) == focus)
        for slot, item in enumerate(items)
    )
    return (
        f"<section class='card{' here' if looked_at else ''}'><h3>{escape(shelf.names[k])}</h3>"
        f"<p class='quiet small'>{len(items)} of {shelf.slots} places, {words.term('agreement')} "
        f"r<sub>k</sub> = {r:.3f}</p><div class='items'>{buttons}</div></section>"
    )


def age(shelf: Shelf, item: Item) -> str:
    """How many pictures ago it came."""
    ago = shelf.pictures - 1 - item.born
    return "this picture" if ago <= 0 else "1 picture ago" if ago == 1 else f"{ago} pictures ago"


def _button(
    shelf: Shelf, k: int, slot: int, item: Item, new: bool, pressed: bool, focus: bool
) -> str:
    shown = (
        "<span class='blank'>?</span>"
        if item.thumb is None
        else f'<img src="{jpeg_uri(item.thumb)}" alt="" width="48" height="48">'
    )
    old = age(shelf, item)
    mark = "<em>new</em>" if new else old.replace("pictures ", "").replace("picture ", "")
    label = escape(
        f"Pseudo-label {shelf.names[k]}, slot {slot}: entropy {item.entropy:.3f} nats, {old}"
    )
    return (
        f'<button type="button" data-k="{k}" data-slot="{slot}" aria-pressed="{str(pressed).lower()}" '
        f'tabindex="{0 if focus else -1}" aria-label="{label}" title="{label}">{shown}'
        f"<small>{item.entropy:.2f} nats</small><small>{mark}</small></button>"
    )


def detail(entry: Entry, chosen: tuple[int, int] | None) -> str:
    """The chosen item in words."""
    item = entry.shelf.item(*chosen) if chosen else None
    if chosen is None or item is None:
        return "<p class='empty'>Choose a remembered view to see where it came from.</p>"
    picture = (
        ""
        if item.thumb is None
        else f'<img src="{jpeg_uri(item.thumb, quality=92)}" alt="" width="96" height="96">'
    )
    name = escape(entry.shelf.names[chosen[0]])
    return (
        f"<div class='touched'>{picture}<div><h3>{name}, slot {chosen[1]}</h3><p>View {item.view} of "
        f"picture {item.born + 1}, which came {age(entry.shelf, item).replace('this', 'with this')}. It "
        f"answered {name} (its {words.term('pseudo-label')}) with an {words.term('entropy')} of {item.entropy:.3f} nats; only a surer view "
        "of this class can replace it once the class is full.</p></div></div>"
    )


def log(history: History, at: int) -> str:
    """What entered and what it replaced, newest first; the moment looked at is marked."""
    if not history.entries:
        return "<p class='empty'>Nothing has happened yet.</p>"
    numbered = list(enumerate(history.entries))[::-1]
    rows = "".join(_row(number, entry, number == at) for number, entry in numbered[:MOST_ROWS])
    more = len(numbered) - MOST_ROWS
    rest = f"<p class='quiet small'>{more} earlier moments: use the slider.</p>" if more > 0 else ""
    return (
        "<table class='verdicts log'><thead><tr><th scope='col'>moment</th><th scope='col'>what</th>"
        "<th scope='col'>entered</th><th scope='col'>held then</th></tr></thead><tbody>"
        f"{rows}</tbody></table>{rest}"
    )


def _row(number: int, entry: Entry, here: bool) -> str:
    entered = "; ".join(_event(entry.shelf, e) for e in entry.events[:6])
    if len(entry.events) > 6:
        entered += f"; and {len(entry.events) - 6} more"
    current = " class='here' aria-current='true'" if here else ""
    return (
        f"<tr{current}><th scope='row'>{number}</th><td>{escape(entry.title)}</td>"
        f"<td>{entered or '–'}</td><td>{entry.shelf.count}</td></tr>"
    )


def _event(shelf: Shelf, event: Any) -> str:
    name = escape(shelf.names[event.label])
    said = f"view {event.view} as <b>{name}</b> ({event.entropy:.2f} nats)"
    if event.replaced_entropy is not None:
        said += (
            f", instead of one of picture {event.replaced_born + 1} ({event.replaced_entropy:.2f})"
        )
    return said
