"""One selection in every room: what a mark of a figure, a button, a menu or a slider may name, and what that selects."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.cache_history import HistoryEntry
from rita_demo.ui.session.figures_state import selected_class
from rita_demo.ui.session.session import SIDES, Session
from rita_demo.ui.widgets.plotly_view import parse_int

#: What another step changes.
STEP_TOPICS = ("step", "inside", "crops")
#: What a selection may change.
SELECTION_TOPICS = ("class", "view", *STEP_TOPICS, "side", "memory", "stream", "cloud")
NUMBERS = ("view", "atom", "k", "step", "slot", "memory_k", "moment", "picture", "stream_k", "point", "cloud_k", "chip")


@dataclass(frozen=True)
class Mark:
    """What an event names, each number one that the session has; None: not named.

    Args:
        view: a view of the run. Alone it is toggled, with a class or a prompt it is selected.
        atom: a prompt of the selected class, -1 for none.
        k: a class of the run.
        step: a step of the attack, stored or not.
        side: one of ``SIDES``.
        slot: with ``memory_k``, a stored view: of the memory in use at ``moment``, or without one, of the memory on screen at
            the selected moment.
        memory_k: its class, as the memory numbers it.
        moment: alone, one of the memory on screen.
        picture: one of the stream, from 1.
        stream_k: a class, as the stream numbers it.
        point: one of the feature cloud.
        cloud_k: a class, as the cloud numbers it.
        chip: the same, by its button: the selected one is deselected.
    """

    view: int | None = None
    atom: int | None = None
    k: int | None = None
    step: int | None = None
    side: str | None = None
    slot: int | None = None
    memory_k: int | None = None
    moment: int | None = None
    picture: int | None = None
    stream_k: int | None = None
    point: int | None = None
    cloud_k: int | None = None
    chip: int | None = None

    @classmethod
    def read(cls, named: Mapping[str, JsonValue], session: Session) -> "Mark":
        """The mark that an untrusted event names; an empty one if it names anything that the session does not have."""
        known = _numbers(session, in_use="slot" in named)
        read = {name: parse_int(named[name], *known.get(name, (0, 0))) for name in NUMBERS if name in named}
        side: Any = named.get("side")
        if None in read.values() or side not in (None, *SIDES):
            return cls()
        mark = cls(**read, side=side)
        if mark.slot is not None and (mark.memory_k is None or _held(session, mark) is None):
            return cls()
        return mark


def _numbers(session: Session, in_use: bool) -> dict[str, tuple[int, int]]:
    """The range of every number that a mark may name. ``in_use``: moments are those of the memory in use."""
    run, cloud, stream, k = session.run, session.figures.placed_cloud, session.stream, session.selection.k
    history = session.history if in_use else session.shown_history
    known = {"moment": (0, len(history.entries)), "picture": (1, stream.decided + 1)}
    known |= dict.fromkeys(("slot", "memory_k"), (0, 10**6))  # _held looks for them
    if run is not None:
        sentences = run.class_prompts.prompts
        known |= {"view": (0, len(run.attacked.encoded_views.features)), "k": (0, len(sentences))}
        known |= {"atom": (-1, 0 if k is None else len(sentences[k]))}
        known |= {"step": (0, 0 if run.attack is None else last_step(run) + 1)}
    if stream.trajectory is not None:
        known["stream_k"] = (0, len(stream.trajectory.names))
    if cloud is not None:
        known |= dict.fromkeys(("cloud_k", "chip"), (0, len(cloud.cloud.names))) | {
            "point": (0, len(cloud.points.kind))
        }
    return known


def _held(session: Session, mark: Mark) -> HistoryEntry | None:
    """The moment that holds the named view, or None."""
    entry = session.selected_entry if mark.moment is None else session.history.entries[mark.moment]
    place: Any = mark.memory_k, mark.slot
    return entry if entry is not None and entry.snapshot.item(*place) is not None else None


def select(session: Session, mark: Mark) -> tuple[str, ...]:
    """Select what the mark names, in every room that has it. The topics that changed, () for an empty mark."""
    at, run, stream, cloud = session.selection, session.run, session.stream, session.figures.placed_cloud
    match mark:
        case Mark(view=int(n), k=int(k)):
            return _selected(session, "view", "class", view=n, k=k, atom=None)
        case Mark(view=int(n), atom=int(m)):
            return _selected(session, "view", view=n, atom=None if m < 0 else m)
        case Mark(view=int(n)):
            return _selected(session, "view", view=None if n == at.view else n, atom=None)
        case Mark(atom=int(m)):
            return _selected(session, "view", atom=None if m < 0 else m)
        case Mark(k=int(k)):
            return _selected(session, "class", k=k, atom=None)
        case Mark(step=int(step)):
            return _selected(session, *STEP_TOPICS, step=step)
        case Mark(side=str(side)):
            return _selected(session, "side", side=side)
        case Mark(slot=int()):
            return _select_stored_view(session, mark)
        case Mark(moment=int(t)):
            place = session.shown_history.entries[t].snapshot.find(session.selected_item)
            return _selected(session, "memory", moment=t, item=place)
        case Mark(picture=int(t)):
            stream.selected = None if t == stream.decided else t  # the newest one follows the stream
            return ("stream",)
        case Mark(stream_k=int(k)) if stream.trajectory is not None and run is not None:
            name, known = stream.trajectory.names[k], run.class_prompts.names
            return _selected(session, "class", k=known.index(name), atom=None) if name in known else ()
        case Mark(point=int(i)) if cloud is not None:
            picture = int(cloud.points.picture[i])
            if picture < 0:
                return _select_in_cloud(session, int(cloud.points.label[i]), None)
            return _select_in_cloud(session, int(cloud.cloud.label[picture]), picture)
        case Mark(chip=int(k)) if k == selected_class(session):
            session.figures = replace(session.figures, k=None, picture=None, released_class=at.k)
            return ("cloud",)
        case Mark(chip=int(k)):
            return _select_in_cloud(session, k, None)
        case Mark(cloud_k=int(k)):
            return _select_in_cloud(session, k, session.figures.picture)
    return ()


def _selected(session: Session, *topics: str, **changes: Any) -> tuple[str, ...]:
    session.select(**changes)
    return topics


def _select_stored_view(session: Session, mark: Mark) -> tuple[str, ...]:
    """Select a stored view; its class, if the run has the memory's names; and the view itself, if the run's picture stored it."""
    entry, run, k, slot = _held(session, mark), session.run, mark.memory_k, mark.slot
    assert entry is not None
    assert k is not None
    assert slot is not None
    item, changes = entry.snapshot.item(k, slot), dict[str, Any](item=(k, slot))
    assert item is not None
    if mark.moment is not None:
        session.memory.example = None  # it is of the memory in use
        changes["moment"] = None if mark.moment == len(session.history.entries) - 1 else mark.moment
    if run is None or entry.snapshot.key != run.class_prompts.key:
        return _selected(session, "memory", **changes)
    changes |= {"k": k} | ({"atom": None} if k != session.selection.k else {})
    here = run.cache_after
    if item.born == here.pictures - 1 and ((here.born[k] == item.born) & (here.view[k] == item.view)).any():
        changes |= {"view": item.view, "side": "attacked"}
    return _selected(session, "memory", "class", "view", "side", **changes)


def _select_in_cloud(session: Session, k: int, picture: int | None) -> tuple[str, ...]:
    """Select a class of the cloud, and one of its pictures; the class in every room, if the run has it."""
    cloud, known = session.figures.placed_cloud, session.run.class_prompts.names if session.run else ()
    assert cloud is not None
    name, figures = cloud.cloud.names[k], replace(session.figures, k=k, picture=picture)
    if name not in known:
        session.figures = replace(figures, released_class=session.selection.k)
        return ("cloud",)
    session.figures = replace(figures, released_class=None)
    return _selected(session, "class", "cloud", k=known.index(name), atom=None)
