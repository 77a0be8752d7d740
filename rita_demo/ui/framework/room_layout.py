"""How every room of the Lab is laid out: pills on the rooms' line, a headline with a number, one figure, beside it the details
of what is chosen, and at most four folds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import gradio as gr

from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.session.session import Session


@dataclass(frozen=True)
class RoomLayout:
    """The places of a room; enter each with ``with``. ``pills``: two to four controls of the whole room, the drawer last."""

    pills: gr.Row
    figure: gr.Column
    details: gr.Column
    folds: gr.Row


def build_room(panels: PanelRegistry, room: str, headline: Callable[[Session], str], *topics: str) -> RoomLayout:
    """The places of ``room``; build it inside its ``gr.Tab``. ``headline``: HTML of at most 20 words with a number, in which
    ``<b class='truth'>`` is a right answer and ``<b class='wrong'>`` a wrong one; redrawn by ``topics``."""
    with gr.Row(elem_classes="pills") as pills:
        pass
    shown = gr.HTML(elem_id=f"{room}-headline", elem_classes="headline")
    panels.add(shown, lambda session: f"<h2>{headline(session)}</h2>", *topics, first=True)
    with gr.Row(elem_classes="room"):
        figure = gr.Column(elem_classes="figure")
        details = gr.Column(elem_classes="details")
    with gr.Row(elem_classes="folds") as folds:
        pass
    return RoomLayout(pills, figure, details, folds)


@contextmanager
def build_drawer(room: str, name: str = "Change") -> Iterator[gr.Accordion]:
    """The drawer of a room, a pill that opens it over the details; its content is built inside ``with``. Escape closes it
    (``page.js``)."""
    with gr.Accordion(name, open=False, elem_classes="drawer", elem_id=f"{room}-drawer") as drawer:
        yield drawer
