"""The cache that the picture was decided from, shown in *Inside*.

The selection names an item by its class and slot at the moment selected in the tab *Memory*. In the cache that this
picture was decided from, the same item may be in another slot or missing: it is found by its content.
"""

from html import escape

import numpy as np

from rita_demo.records import CacheState
from rita_demo.ui.session.cache_history import CacheItem
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import thumbnail_html

ClassAndSlot = tuple[int, int]


def selected_slot(session: Session) -> ClassAndSlot | None:
    """Class and slot of the selected item in the cache this picture was decided from; None if it is missing."""
    entry, run, item = session.selected_entry, session.run, session.selected_item
    if entry is None or run is None or item is None or entry.snapshot.key != run.class_prompts.key:
        return None
    assert session.selection.item is not None
    k = session.selection.item[0]
    slots = range(int(run.cache_before.count[k]))
    return next(((k, slot) for slot in slots if _is_item(run.cache_before, (k, slot), item)), None)


def find_in_history(session: Session, place: ClassAndSlot) -> tuple[ClassAndSlot, int] | None:
    """(class and slot, moment) of the item at ``place`` in the latest moment of the history that held it, or None."""
    assert session.run is not None
    cache, k = session.run.cache_before, place[0]
    for moment, entry in reversed(list(enumerate(session.history.entries))):
        if entry.snapshot.key == session.run.class_prompts.key:
            for slot, item in enumerate(entry.snapshot.items_by_class.get(k, ())):
                if _is_item(cache, place, item):
                    return (k, slot), moment
    return None


def _is_item(cache: CacheState, place: ClassAndSlot, item: CacheItem) -> bool:
    identity = (int(cache.born[place]), int(cache.view[place]), float(cache.entropy[place]))
    return identity == (item.born, item.view, item.entropy) and np.array_equal(cache.features[place], item.feature)


def class_cards(session: Session) -> str:
    """HTML: what the cache held of the selected class when this picture was decided, as buttons."""
    run, k = session.run, session.selection.k
    if run is None or k is None:
        return "<p class='empty'>Choose a class to see what the memory held of it.</p>"
    if run.settings.protocol != "stream":
        return "<p class='empty'>With these settings, no memory is kept from picture to picture.</p>"
    count, total = int(run.cache_before.count[k]), int(np.sum(run.cache_before.count))
    name, all_views = escape(run.class_prompts.names[k]), wording.view_count(total)
    if not count:
        return (
            f"<p class='empty'>It held nothing of {name}, and {all_views if total else 'nothing'} of other classes. "
            f"{wording.empty_class(run.settings)}</p>"
        )
    buttons = "".join(_button(session, (k, slot)) for slot in range(count))
    return (
        f"<div class='stored-views'><section class='card here'><h3>{name}</h3><p class='quiet small'>"
        f"{wording.view_count(count)} of {all_views} in the memory</p><div class='items'>{buttons}</div></section></div>"
    )


def _button(session: Session, place: ClassAndSlot) -> str:
    assert session.run is not None
    cache, (k, slot), found = session.run.cache_before, place, find_in_history(session, place)
    item, mark = None, "disabled"  # it is no longer in the memory's history
    if found is not None:
        (held_as, at), moment = found
        item = session.history.entries[moment].snapshot.item(held_as, at)
        mark = f'data-memory_k="{held_as}" data-slot="{at}" data-moment="{moment}"'
    out, pressed = place in session.inside.what_if.exclusions.cache_items, place == selected_slot(session)
    entropy = float(cache.entropy[place])
    label = escape(
        f"{session.run.class_prompts.names[k]}, slot {slot}: view {int(cache.view[place])} of picture "
        f"{int(cache.born[place]) + 1}, entropy {entropy:.3f} nats{', left out' if out else ''}"
        f"{'' if found else ', no longer in the memory’s history'}"
    )
    return (
        f'<button type="button" class="{"out" if out else ""}" {mark} '
        f'aria-pressed="{str(pressed).lower()}" aria-label="{label}" title="{label}">'
        f"{thumbnail_html(item.thumbnail, item.file) if item else thumbnail_html(None)}<small>{entropy:.2f}"
        f"{'<em>left out</em>' if out else ''}</small></button>"
    )
