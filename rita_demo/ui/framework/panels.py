"""What is on the page and which changes each piece depends on.

A *panel* is a component and a pure function from the visitor's session to its value. An event names the topics that
it changed ("run", "class", "view", ...). A panel is stale where one of its topics changed after it was drawn. Only the room in
sight is drawn; another one when it comes to sight.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeVar

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component

from rita_demo.figures.figure import Figure
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.session import Session

#: What an event can change. "run": the whole run; "attack_steps": the stored attack steps; "checks": what
#: the Story asks of the run's pictures; "inside": a what-if;
#: "what_if_settings": its settings, other than by their own controls; "crops": the views of *Inside* are another
#: picture's; "form": what the form asks for, other than by its own fields; "drawer": the settings of the methods,
#: other than by their own controls; "memory": what *Memory* shows;
#: "figures", "printed", "cloud", "arena": the measurements, the paper's numbers beside them, the feature cloud, the arena.
TOPICS: tuple[str, ...] = ("run", "attack_steps", "checks", "class", "view", "step", "form", "drawer", "story")
TOPICS += ("memory", "inside", "what_if_settings", "crops", "figures", "printed", "cloud", "arena")
#: What a new run does not change.
OF_NO_RUN = frozenset({"form", "drawer"})

Updates = dict[Block, Any]
Inputs = (
    Component | Sequence[Component] | AbstractSet[Component]
)  # what an event reads; as a set they come as a mapping
#: What a component takes as its value: also what ``gr.update`` returns.
PanelValue = Figure | JsonValue
Parts = dict[str, Any]  # components by name; Gradio makes their events at runtime
FormValues = Mapping[Component, Any]  # as Gradio hands them over
C = TypeVar("C", bound=Block)


@dataclass(frozen=True)
class Panel:
    """``draw`` makes the component's value (or a Gradio update); ``room`` is the id of the tab it is in, None outside
    every tab; ``first``: drawn in the answer of an event, before the rest of its room."""

    component: Block
    draw: Callable[[Session], PanelValue]
    topics: frozenset[str]
    room: str | None
    first: bool
    number: int

    def is_stale(self, session: Session) -> bool:
        """Whether something that it shows changed after it was drawn."""
        drawn = session.drawn_at.get(self.number, 0)
        return any(session.changed_at.get(topic, 0) > drawn for topic in self.topics)


class PanelRegistry:
    """All panels of the page."""

    def __init__(self) -> None:
        self._panels: list[Panel] = []
        self._prepare: dict[str, Callable[[Session], object]] = {}
        self._opened: dict[str, list[Callable[[Session], Updates | None]]] = {}

    def add(self, component: C, draw: Callable[[Session], PanelValue], *topics: str, first: bool = False) -> C:
        """Draw ``component``, which is returned, again whenever one of ``topics`` changes; a new run always does, but what
        depends on ``OF_NO_RUN`` alone. It may be added more than once with draws that return ``gr.update`` of different
        properties: only what depends on a change is sent to the browser."""
        unknown = set(topics) - set(TOPICS)
        if unknown:
            raise ValueError(f"a panel depends on {', '.join(TOPICS)}; got {sorted(unknown)}")
        every = frozenset(topics) if OF_NO_RUN.intersection(topics) else frozenset(topics) | {"run"}
        self._panels.append(Panel(component, draw, every, _room_of(component), first, len(self._panels)))
        initial = draw(Session())
        if isinstance(initial, str) and isinstance(component, Component):
            component.value = initial  # shown until there is a run
        return component

    def prepare(self, room: str, hook: Callable[[Session], object]) -> None:
        """Call ``hook`` before panels of ``room`` are drawn: it computes what they show, unless that is there."""
        self._prepare[room] = hook

    def on_open(self, room: str, hook: Callable[[Session], Updates | None]) -> None:
        """Call ``hook`` when ``room`` comes to sight, before it is drawn; it may give updates of other components."""
        self._opened.setdefault(room, []).append(hook)

    def components(self, room: str, *topics: str) -> list[Block]:
        """What :meth:`answer` may give values for; without ``topics``: what :meth:`draw` may."""
        panels = self._answering(room, topics) if topics else self._of(room)
        return list(dict.fromkeys(panel.component for panel in panels))

    def answer(self, session: Session, room: str, *topics: str) -> Updates:
        """The values of the room's first panels that depend on ``topics``, or of all of them where none is a first one."""
        return self._draw(session, room, self._answering(room, topics))

    def draw(self, session: Session, room: str) -> Updates:
        """The values of all panels of the room that are stale."""
        return self._draw(session, room, self._of(room))

    def open(self, session: Session, room: str) -> Updates:
        """``room`` came to sight: the values of all its panels that are stale."""
        session.room, updates = room, Updates()
        for hook in self._opened.get(room, ()):
            updates |= hook(session) or {}
        return updates | self.draw(session, room)

    def is_stale(self, session: Session, room: str) -> bool:
        """Whether the room has something to draw."""
        return any(panel.is_stale(session) for panel in self._of(room))

    def draw_only(self, session: Session, components: Iterable[Block]) -> Updates:
        """The new values of a few panels, stale or not."""
        wanted = {id(c) for c in components}
        return self._values(session, [p for p in self._panels if id(p.component) in wanted])

    def leave(self, session: Session, components: Iterable[Block], *topics: str) -> None:
        """Take these as drawn: the visitor is using them, and they show the change themselves. ``topics``: only what depends on
        one of them."""
        wanted = {id(c) for c in components}
        left = [
            p.number for p in self._panels if id(p.component) in wanted and p.topics.intersection(topics or p.topics)
        ]
        session.drawn_at |= dict.fromkeys(left, session.changes)

    def _of(self, room: str) -> list[Panel]:
        return [panel for panel in self._panels if panel.room in (room, None)]

    def _answering(self, room: str, topics: Iterable[str]) -> list[Panel]:
        here = [panel for panel in self._of(room) if not panel.topics.isdisjoint(topics)]
        split = any(panel.first for panel in self._panels if panel.room == room)
        return [panel for panel in here if panel.first or not split]

    def _draw(self, session: Session, room: str, panels: list[Panel]) -> Updates:
        if room in self._prepare and any(panel.is_stale(session) for panel in panels):
            self._prepare[room](session)
        with session.lock:
            # another event may have drawn some meanwhile
            panels = [panel for panel in panels if panel.is_stale(session)]
            values = self._values(session, panels)  # where one fails, they stay stale
            session.drawn_at |= dict.fromkeys((panel.number for panel in panels), session.changes)
            return values

    def _values(self, session: Session, panels: list[Panel]) -> Updates:
        updates: Updates = {}
        with session.lock:
            for panel in panels:
                value = panel.draw(session)
                earlier = updates.get(panel.component)
                if isinstance(value, dict) and isinstance(earlier, dict):
                    value = {**earlier, **value}
                updates[panel.component] = value
        return updates


def _room_of(block: Block | None) -> str | None:
    while block is not None and not isinstance(block, gr.Tab):
        block = block.parent
    return None if block is None else str(block.id)
