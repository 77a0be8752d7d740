"""An event answered in two stages: first what the visitor waits for, then the other panels that show it.

Gradio sends the outputs of an event one by one, and the browser draws every visible figure before it shows any: a
dozen figures at once would delay the one that was clicked.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradio.components import Component

from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, immediate_event
from rita_demo.ui.framework.panels import TOPICS, Updates
from rita_demo.ui.session.session import Session


class TwoStageUpdate:
    """The events of one tab, by its id. The panels of the first stage are added with ``immediate=True``."""

    def __init__(self, context: AppContext, tab: str) -> None:
        self._context, self.tab = context, tab

    def immediate(self, session: Session, *changed: str) -> Updates:
        """What a handler returns; the other panels that depend on ``changed`` follow in the second stage."""
        with session.lock:
            session.pending_topics |= {*changed}
        return self._context.panels.redraw(session, *changed, tab=self.tab, immediate=True)

    def deferred(self, session: Session, topics: Iterable[str] = TOPICS) -> Updates:
        """The second stage of an event that changes at most ``topics``: drawn once, even if several such events wait for
        it. What other events changed is left to them: this one may not have their outputs."""
        with session.lock:
            pending = session.pending_topics & {*topics}
            session.pending_topics -= pending
        return self._context.panels.redraw(session, *pending, tab=self.tab, immediate=False)

    def bind_event(
        self,
        event: Any,
        handler: Callable[..., Updates],
        inputs: Sequence[Any],
        *topics: str,
        active: Sequence[Component] = (),
    ) -> None:
        """Connect an event that changes at most ``topics``. Components in ``active`` are not
        redrawn: the visitor is using them, and they show the change themselves."""
        context, panels = self._context, self._context.panels
        safe = notice.handle_errors(context.error_banner)
        active_ids = {id(c) for c in active}

        def second_stage(visitor: str) -> Updates:
            updates = self.deferred(context.sessions.get(visitor), topics)
            return {c: value for c, value in updates.items() if id(c) not in active_ids}

        first, rest = (panels.depending_on(*topics, tab=self.tab, immediate=stage) for stage in (True, False))
        answered = event(safe(handler), inputs, [context.error_banner, *first], **immediate_event(handler))
        answered.then(safe(second_stage), context.visitor, [context.error_banner, *rest], **IMMEDIATE_EVENT)
