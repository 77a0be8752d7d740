"""One selection in every room: what a mark of a figure, a button, a menu or a slider may name, and what that selects."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from rita_demo.data.memory import MemoryTable
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.session import FIGURES, Session, selected_class
from rita_demo.ui.widgets.plotly_view import parse_int

#: What another step changes.
STEP_TOPICS = ("step", "inside", "crops")
#: What a selection may change.
SELECTION_TOPICS = ("class", "view", *STEP_TOPICS, "memory", "cloud", "figures")


@dataclass(frozen=True)
class Mark:
    """What an event names, each number one that the session has; None: not named."""

    view: int | None = None  # of the run; alone it is toggled, with a class or a prompt it is selected
    atom: int | None = None  # a prompt of the selected class, -1 for none
    k: int | None = None  # a class of the run
    step: int | None = None  # of the attack, stored or not
    slot: int | None = None  # with its class, a stored view of the memory on screen; with a moment, of the one in use
    memory_k: int | None = None  # its class, as the memory numbers it
    moment: int | None = None  # of the memory; alone, one of the memory on screen
    picture: int | None = None  # of the stream on screen, from 1
    point: int | None = None  # of the feature cloud
    cloud_k: int | None = None  # a class, as the cloud numbers it
    chip: int | None = None  # the same, by its button: the selected one is deselected
    figure: int | None = None  # of the wall

    @classmethod
    def read(cls, named: Mapping[str, JsonValue], session: Session) -> "Mark":
        """The mark that an untrusted event names; an empty one if it names anything that the session does not have."""
        known = _ranges(session, session.history if "slot" in named else session.shown_history)
        read = {name: parse_int(named[name], *known.get(name, (0, 0))) for name in NUMBERS if name in named}
        mark = cls(**read)
        return cls() if None in read.values() or ("slot" in named and _held(session, mark) is None) else mark


NUMBERS = tuple(one.name for one in fields(Mark))


def _ranges(session: Session, history: MemoryTable) -> dict[str, tuple[int, int]]:
    """The first number of each name, and the one after the last."""
    run, cloud, stream, k = session.run, session.figures.placed_cloud, session.stream, session.selection.k
    first = int(history is stream.history)  # of a stream the moments after a picture
    known = {"moment": (first, len(history.moments)), "picture": (1, stream.decided + 1), "figure": (0, len(FIGURES))}
    known |= dict.fromkeys(("slot", "memory_k"), (0, 10**6))  # _held looks for them
    if run is not None:
        sentences = run.class_prompts.prompts
        known |= {"view": (0, len(run.attacked.encoded_views.features)), "k": (0, len(sentences))}
        known |= {
            "atom": (-1, 0 if k is None else len(sentences[k])),
            "step": (0, last_step(run) + 1 if run.attack else 0),
        }
    if cloud is not None:
        known |= dict.fromkeys(("cloud_k", "chip"), (0, len(cloud.cloud.names))) | {
            "point": (0, len(cloud.points.kind))
        }
    return known


def _held(session: Session, mark: Mark) -> tuple[MemoryTable, int] | None:
    """The named view as a row of its memory, or None."""
    memory, t = session.shown_history, session.selected_moment
    if mark.moment is not None:
        memory, t = session.history, mark.moment
    place: Any = mark.memory_k, mark.slot
    row = memory.row(place, t) if memory.moments else None
    return None if row is None else (memory, row)


def select(session: Session, mark: Mark) -> tuple[str, ...]:
    """Select what the mark names, in every room that has it. The topics that changed, () for an empty mark."""
    at, cloud = session.selection, session.figures.placed_cloud
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
        case Mark(slot=int()):
            return _select_stored_view(session, mark)
        case Mark(moment=int(t)) | Mark(picture=int(t)):
            shown = session.shown_history
            newest = t == len(shown.moments) - 1  # it follows what comes
            came = [(event.label, event.slot) for event in shown.moments[t].events]
            kept = shown.place(session.selected_item, t)
            # a picture chooses the view that came with it, and so does a moment without the chosen view
            place = next(iter(came), kept) if mark.picture is not None else kept or next(iter(came), None)
            return _selected(session, "memory", moment=None if newest else t, item=place)
        case Mark(point=int(i)) if cloud is not None:
            picture = int(cloud.points.picture[i])
            if picture < 0:
                return _select_in_cloud(session, int(cloud.points.label[i]), None)
            return _select_in_cloud(session, int(cloud.cloud.label[picture]), picture, i)
        case Mark(chip=int(k)) if k == selected_class(session) and session.figures.picture is None:
            session.figures = replace(session.figures, k=None, picture=None, point=None, released_class=at.k)
            return ("cloud",)
        case Mark(figure=int(n)):
            session.figures = replace(session.figures, shown=FIGURES[n])
            return ("cloud", "figures")
        case Mark(chip=int(k)):
            return _select_in_cloud(session, k, None)
        case Mark(cloud_k=int(k)):
            return _select_in_cloud(session, k, session.figures.picture, session.figures.point)
    return ()


def _selected(session: Session, *topics: str, **changes: Any) -> tuple[str, ...]:
    session.select(**changes)
    return topics


def _select_stored_view(session: Session, mark: Mark) -> tuple[str, ...]:
    """Select a stored view; its class, if the run has the memory's names; and the view itself, if the run's picture stored it."""
    run, held, place = session.run, _held(session, mark), cast("tuple[int, int]", (mark.memory_k, mark.slot))
    assert held is not None
    memory, row = held
    changes: dict[str, Any] = {"item": place}
    if mark.moment is not None:
        session.stream.close()  # it is of the memory in use
        changes["moment"] = None if mark.moment == len(session.history.moments) - 1 else mark.moment
    if run is None or memory.key != run.class_prompts.key:
        return _selected(session, "memory", **changes)
    k, born, view, here = place[0], int(memory.born[row]), int(memory.view[row]), run.cache_after
    changes |= {"k": k} | ({"atom": None} if k != session.selection.k else {})
    if born == here.pictures - 1 and ((here.born[k] == born) & (here.view[k] == view)).any():
        changes |= {"view": view}
    return _selected(session, "memory", "class", "view", **changes)


def _select_in_cloud(session: Session, k: int, picture: int | None, point: int | None = None) -> tuple[str, ...]:
    """Select a class of the cloud, one of its pictures and of that a point; the class in every room, if the run has it."""
    cloud, known = session.figures.placed_cloud, session.run.class_prompts.names if session.run else ()
    assert cloud is not None
    name, figures = cloud.cloud.names[k], replace(session.figures, k=k, picture=picture, point=point)
    if name not in known:
        session.figures = replace(figures, released_class=session.selection.k)
        return ("cloud",)
    session.figures = replace(figures, released_class=None)
    return _selected(session, "class", "cloud", k=known.index(name), atom=None)
