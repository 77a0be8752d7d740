"""The one event of a room that selects. Whatever is clicked or chosen in it is a :class:`Mark`."""

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.mark import SELECTION_TOPICS, Mark, select
from rita_demo.ui.widgets.html_buttons import HtmlWidget, event_data, is_of


def choose(
    context: AppContext, room: str, visitor: str, named: Mapping[str, JsonValue], used: Component | None = None
) -> Updates:
    """Select what an untrusted event in ``room`` names, and draw what the visitor waits for. ``used``: the component that was
    used, where it shows the change itself; it is not redrawn."""
    session = context.sessions.get(visitor)
    topics = select(session, Mark.read(named, session))
    updates = context.answer(session, room, *topics) if topics else {}
    if used is not None:
        context.panels.leave(session, [used])
    return {component: value for component, value in updates.items() if component is not used}


def bind_selection(context: AppContext, room: str, controls: Mapping[str, Any] | None = None) -> None:
    """Connect what selects in ``room``, once its panels are registered: panels that are clicked (:attr:`HtmlWidget.selects`), and
    sliders and menus by what their values are. A slider's event is its own: of many moves only the last is answered."""
    panels = [one for one in context.panels.components(room) if isinstance(one, HtmlWidget)]
    sliders, menus = dict[str, Any](), dict[str, Any]()
    for name, control in (controls or {}).items():
        (sliders if isinstance(control, gr.Slider) else menus)[name] = control

    def on_selection(visitor: str, event: gr.EventData, *values: JsonValue) -> Updates:
        chosen = {name: value for name, value in zip(menus, values, strict=True) if is_of(event, menus[name])}
        return choose(context, room, visitor, chosen or event_data(event))

    def slider_event(name: str) -> Callable[[str, JsonValue], Updates]:
        def on_slider(visitor: str, value: JsonValue) -> Updates:
            return choose(context, room, visitor, {name: value}, sliders[name])

        return on_slider

    events = [getattr(one, kind) for one in panels for kind in one.selects] + [menu.input for menu in menus.values()]
    inputs, topics = [context.visitor, *menus.values()], SELECTION_TOPICS
    context.bind_quick(room, lambda *to, **how: gr.on(events, *to, **how), on_selection, inputs, *topics)
    for name, slider in sliders.items():
        context.bind_quick(room, slider.input, slider_event(name), [context.visitor, slider], *topics)
