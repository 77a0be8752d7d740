"""What is on the page and what each piece depends on.

A *panel* is a component and a pure function from the visitor's session to its value.  Tabs put
their panels on one board; an event says what it changed ("story", "class", "view", ...) and the
board redraws exactly the panels that depend on it, in every tab: that is how one selection is
shared by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from rita_demo.ui.sessions import Session

#: What an event can change. "story" means everything; "strength": of the attack looked at; "inside": a what-if, or that tab was
#: opened; "crops": the views to be seen are another picture's, or that tab was opened; "figures", "cloud": the tab of the paper's
#: figures was opened, or its pictures are others.
ASPECTS = (
    "story", "film", "strength", "draws", "class", "view", "step", "side", "memory", "inside", "crops", "figures",
    "cloud",
)  # fmt: skip

#: The first tab: drawn again when it comes back to sight, like every other.
HOME = "attack-defend"
#: The tab whose panels follow at once, in sight or not: nothing is redrawn when it is opened.
ALWAYS = "learn-tab"

Updates = dict[Component, Any]


@dataclass(frozen=True)
class Panel:
    """``draw`` makes the component's value (or a Gradio update) from the session; ``tab`` is the id of the tab it
    stands in, None for one that is always in sight; ``soon``: it is among what a touch is waited for."""

    component: Component
    draw: Callable[[Session], Any]
    needs: frozenset[str]
    tab: str | None
    soon: bool

    def follows(self, changed: Iterable[str], tab: str | None, soon: bool | None) -> bool:
        """Whether such a change is seen here while ``tab`` is in sight; None asks for every tab. With ``soon``:
        among the first, or among the others."""
        here = tab is None or self.tab in (tab, None, ALWAYS)
        return here and soon in (None, self.soon) and not self.needs.isdisjoint(changed)


class Board:
    """All panels of the page."""

    def __init__(self) -> None:
        self._panels: list[Panel] = []
        self._first: list[Callable[[Session], None]] = []

    def add(
        self,
        component: Component,
        draw: Callable[[Session], Any],
        *needs: str,
        soon: bool = False,
    ) -> None:
        """Draw ``component`` again whenever one of ``needs`` changes; a new story always does.

        A component may be added more than once with draws that return ``gr.update`` of different
        properties: then only what depends on a change is sent to the browser.
        """
        unknown = set(needs) - set(ASPECTS)
        if unknown:
            raise ValueError(f"a panel depends on {', '.join(ASPECTS)}; got {sorted(unknown)}")
        self._panels.append(
            Panel(component, draw, frozenset(needs) | {"story"}, _tab_of(component), soon)
        )
        before = draw(Session())
        if isinstance(before, str):
            component.value = before  # what stands there until there is a story

    def prepare(self, work: Callable[[Session], None]) -> None:
        """Call ``work`` before the panels of a new story are drawn: it computes what a panel only shows.

        Whoever opens a tab while a picture is on its way finds it finished there as well.
        """
        self._first.append(work)

    @property
    def components(self) -> list[Component]:
        """Every component that any event may redraw."""
        return list(dict.fromkeys(panel.component for panel in self._panels))

    def depending(
        self, *changed: str, tab: str | None = None, soon: bool | None = None
    ) -> list[Component]:
        """The components that :meth:`redraw` with the same arguments gives values for."""
        found = (p.component for p in self._panels if p.follows(changed, tab, soon))
        return list(dict.fromkeys(found))

    def redraw(
        self, session: Session, *changed: str, tab: str | None = None, soon: bool | None = None
    ) -> Updates:
        """The new values of the panels that depend on what changed: of all, or of those in sight with ``tab``, and
        of these the first ones, or the others, with ``soon``."""
        for work in self._first if "story" in changed else ():
            work(session)
        return self._drawn(session, [p for p in self._panels if p.follows(changed, tab, soon)])

    def of_tab(self, tab: str) -> list[Component]:
        """The components in a tab."""
        return list(dict.fromkeys(p.component for p in self._panels if p.tab == tab))

    def only(self, session: Session, components: Iterable[Component]) -> Updates:
        """The new values of a few panels, whatever they depend on."""
        wanted = {id(c) for c in components}
        return self._drawn(session, [p for p in self._panels if id(p.component) in wanted])

    def _drawn(self, session: Session, panels: list[Panel]) -> Updates:
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
    block: Any = component
    while block is not None:
        if isinstance(block, gr.Tab):
            return str(block.id)
        block = block.parent
    return None
