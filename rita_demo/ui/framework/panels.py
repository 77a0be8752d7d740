"""What is on the page and which changes each piece depends on.

A *panel* is a component and a pure function from the visitor's session to its value. An event names the topics that
it changed ("run", "class", "view", ...). The registry then draws the panels that depend on them: those in the
visible tab and those outside every tab. Other tabs with such panels become stale and are drawn when they are opened.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeVar

import gradio as gr
from gradio.blocks import Block
from gradio.components import Component

from rita_demo.plots.figure import Figure
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.session import Session

#: What an event can change. "run": the whole run; "attack_steps": the stored attack steps; "checks": what
#: the Story asks of the run's pictures; "inside": a what-if;
#: "what_if_settings": its settings, other than by their own controls; "crops": the views of *Inside RITA* are another
#: picture's; "figures", "cloud", "arena": the measurements, the feature cloud, the arena.
TOPICS: tuple[str, ...] = ("run", "attack_steps", "checks", "class", "view", "step", "side")
TOPICS += ("memory", "inside", "what_if_settings", "crops", "figures", "cloud", "arena")

Updates = dict[Component, Any]
Inputs = (
    Component | Sequence[Component] | AbstractSet[Component]
)  # what an event reads; as a set they come as a mapping
#: What a component takes as its value: also what ``gr.update`` returns.
PanelValue = Figure | JsonValue
Parts = dict[str, Any]  # components by name; Gradio makes their events at runtime
FormValues = Mapping[Component, Any]  # as Gradio hands them over
C = TypeVar("C", bound=Component)


@dataclass(frozen=True)
class Panel:
    """``draw`` makes the component's value (or a Gradio update); ``tab`` is the id of the tab it is in, None outside
    every tab; ``immediate``: drawn in the first of the two stages of an update."""

    component: Component
    draw: Callable[[Session], PanelValue]
    topics: frozenset[str]
    tab: str | None
    immediate: bool

    def depends_on(self, changed: Iterable[str], tab: str | None, immediate: bool | None) -> bool:
        """Whether a change of these topics is drawn here while ``tab`` is visible (None: any tab); ``immediate``
        selects one of the two stages (None: both)."""
        here = tab is None or self.tab in (tab, None)
        return here and immediate in (None, self.immediate) and not self.topics.isdisjoint(changed)


class PanelRegistry:
    """All panels of the page."""

    def __init__(self) -> None:
        self._panels: list[Panel] = []
        self._before_draw_hooks: dict[str, Callable[[Session], object]] = {}
        self._on_open_hooks: dict[str, Callable[[Session], Updates | None]] = {}

    def add(self, component: C, draw: Callable[[Session], PanelValue], *topics: str, immediate: bool = False) -> C:
        """Draw ``component``, which is returned, again whenever one of ``topics`` changes; a new run always does. It may
        be added more than once with draws that return ``gr.update`` of different properties: only what depends on a change is
        sent to the browser."""
        unknown = set(topics) - set(TOPICS)
        if unknown:
            raise ValueError(f"a panel depends on {', '.join(TOPICS)}; got {sorted(unknown)}")
        self._panels.append(Panel(component, draw, frozenset(topics) | {"run"}, _tab_of(component), immediate))
        initial = draw(Session())
        if isinstance(initial, str):
            component.value = initial  # shown until there is a run
        return component

    def before_draw(self, tab: str, hook: Callable[[Session], object]) -> None:
        """Call ``hook`` before the panels of ``tab`` are drawn for a new run while it is visible: it computes what they
        show."""
        self._before_draw_hooks[tab] = hook

    def on_open(self, tab: str, hook: Callable[[Session], Updates | None]) -> None:
        """Call ``hook`` when ``tab`` is opened, before its panels are drawn; it may give updates of other
        components."""
        self._on_open_hooks[tab] = hook

    @property
    def components(self) -> list[Component]:
        """Every component that any event may redraw."""
        return list(dict.fromkeys(panel.component for panel in self._panels))

    def depending_on(self, *changed: str, tab: str | None = None, immediate: bool | None = None) -> list[Component]:
        """The components that :meth:`redraw` with the same arguments may give values for (None: in any tab)."""
        return list(dict.fromkeys(p.component for p in self._panels if p.depends_on(changed, tab, immediate)))

    def redraw(self, session: Session, *changed: str, tab: str | None = None, immediate: bool | None = None) -> Updates:
        """The new values of the visible panels that depend on what changed; with ``immediate``, of one stage. ``tab``:
        the tab of the event, which counts as visible; by default the tab that the visitor sees."""
        visible = tab or session.visible_tab
        stale = {p.tab for p in self._panels if p.tab and p.depends_on(changed, None, None)}
        with session.lock:
            session.stale_tabs |= stale - {visible}
        if "run" in changed and visible in self._before_draw_hooks:
            self._before_draw_hooks[visible](session)
        return self._draw(session, [p for p in self._panels if p.depends_on(changed, visible, immediate)])

    def open_tab(self, session: Session, tab: str) -> Updates:
        """Make ``tab`` the visible one; the values of its panels if something changed since they were drawn."""
        session.visible_tab = tab
        updates = (self._on_open_hooks[tab](session) if tab in self._on_open_hooks else None) or {}
        with session.lock:
            stale = tab in session.stale_tabs
            session.stale_tabs.discard(tab)
        return updates | self._draw(session, [p for p in self._panels if stale and p.tab == tab])

    def of_tab(self, tab: str) -> list[Component]:
        return list(dict.fromkeys(p.component for p in self._panels if p.tab == tab))

    def draw_only(self, session: Session, components: Iterable[Component]) -> Updates:
        """The new values of a few panels, whatever they depend on."""
        wanted = {id(c) for c in components}
        return self._draw(session, [p for p in self._panels if id(p.component) in wanted])

    def draw_initially(self, session: Session, component: Component, name: str) -> None:
        """Make the property ``name`` of a component that is drawn with ``gr.update`` part of the page: it is shown before
        the page asks for anything."""
        setattr(component, name, self.draw_only(session, [component])[component][name])

    def _draw(self, session: Session, panels: list[Panel]) -> Updates:
        updates: Updates = {}
        with session.lock:
            for panel in panels:
                value = panel.draw(session)
                earlier = updates.get(panel.component)
                if isinstance(value, dict) and isinstance(earlier, dict):
                    value = {**earlier, **value}
                updates[panel.component] = value
        return updates


def _tab_of(component: Component) -> str | None:
    block: Block | None = component
    while block is not None:
        if isinstance(block, gr.Tab):
            return str(block.id)
        block = block.parent
    return None
