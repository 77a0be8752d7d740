"""The cache that the picture was decided from, shown in *Inside*.

The selection names an item by its class and slot at the moment selected in the tab *Memory*. In the cache that this
picture was decided from, the same item may be in another slot or missing: it is found by its content.
"""

from html import escape

import numpy as np

from rita_demo.data.memory import MemoryTable
from rita_demo.records import CacheState
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import thumbnail_html

ClassAndSlot = tuple[int, int]


def selected_slot(session: Session) -> ClassAndSlot | None:
    """Class and slot of the selected item in the cache this picture was decided from; None if it is missing."""
    memory, run, row = session.shown_history, session.run, session.selected_item
    if run is None or row is None or memory.key != run.class_prompts.key:
        return None
    assert session.selection.item is not None
    k = session.selection.item[0]
    slots = range(int(run.cache_before.count[k]))
    return next(((k, slot) for slot in slots if _is_row(run.cache_before, (k, slot), memory, row)), None)


def _is_row(cache: CacheState, place: ClassAndSlot, memory: MemoryTable, row: int) -> bool:
    mine, theirs = (cache.born, cache.view, cache.entropy), (memory.born, memory.view, memory.entropy)
    same = all(one[place] == other[row] for one, other in zip(mine, theirs))
    return same and np.array_equal(cache.features[place], memory.feature[row])


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
    """A stored view; its ``data-`` attributes name it at the latest moment of the history that held it."""
    assert session.run is not None
    cache, (k, slot), memory = session.run.cache_before, place, session.history
    thumbnail, mark = thumbnail_html(None), "disabled"
    rows = np.flatnonzero(memory.label == k).tolist() if memory.key == session.run.class_prompts.key else []
    same, times = [row for row in rows if _is_row(cache, place, memory, row)], range(len(memory.moments))
    latest = max(((t, row) for row in same for t in times if memory.place(row, t) is not None), default=None)
    if latest is not None:
        moment, row = latest
        held_as, at = memory.place(row, moment) or place
        thumbnail = thumbnail_html(memory.crop(row), memory.file[row])
        mark = f'data-memory_k="{held_as}" data-slot="{at}" data-moment="{moment}"'
    out, pressed = place in session.inside.what_if.exclusions.cache_items, place == selected_slot(session)
    entropy = float(cache.entropy[place])
    label = escape(
        f"{session.run.class_prompts.names[k]}, slot {slot}: view {int(cache.view[place])} of picture "
        f"{int(cache.born[place]) + 1}, entropy {entropy:.3f} nats{', left out' if out else ''}"
        f"{'' if latest else ', no longer in the memory’s history'}"
    )
    return (
        f'<button type="button" class="{"out" if out else ""}" {mark} '
        f'aria-pressed="{str(pressed).lower()}" aria-label="{label}" title="{label}">'
        f"{thumbnail}<small>{entropy:.2f}{'<em>left out</em>' if out else ''}</small></button>"
    )
