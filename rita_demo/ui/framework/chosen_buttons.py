"""What can be done with pictures that a visitor has chosen: keep their names as a file, or stream them. One press each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from rita_demo.evaluation.page import ChosenPictures
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, immediate_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.html_buttons import DownloadButtons, download_value

StartStream = Callable[[Any, Callable[[Session], ChosenPictures]], None]


@dataclass(frozen=True)
class Choice:
    """Where the pictures come from. ``name``: of the buttons' element ids. ``find`` gives them (a DataError where there are
    none), ``is_there`` whether there are any; ``table``: a CSV file of them, by its name, and the text of its button."""

    name: str
    find: Callable[[Session], ChosenPictures]
    is_there: Callable[[Session], bool]
    table: Callable[[Session], bytes]
    table_name: str
    table_text: str


class ChosenButtons:
    """The buttons, built where it is made. ``topics``: what changes whether there are pictures."""

    def __init__(self, context: AppContext, choice: Choice, *topics: str) -> None:
        self.context, self.choice, self.export_count = context, choice, 0
        with gr.Row(elem_classes="chosen-row", elem_id=f"{choice.name}-chosen"):
            self.table = DownloadButtons({"csv": choice.table_text}, visible=False, elem_id=f"{choice.name}-export")
            self.stream = gr.Button(
                "Make them the next stream", size="sm", visible=False, elem_id=f"{choice.name}-stream"
            )
        for button in self.components:
            context.panels.add(button, lambda session: gr.update(visible=choice.is_there(session)), *topics)

    @property
    def components(self) -> tuple[Any, ...]:
        """What :meth:`draw` gives updates for."""
        return self.table, self.stream

    def draw(self, session: Session) -> Updates:
        """The pictures are others now: the buttons where there are some."""
        return self.context.panels.draw_only(session, self.components)

    def bind_events(self, start_stream: StartStream) -> None:
        """Connect the events. ``start_stream`` connects a press that makes pictures the next stream."""
        context, safe = self.context, notice.handle_errors(self.context.error_banner)
        outputs = [context.error_banner, context.status, self.table]
        self.table.click(safe(self.save_table), context.visitor, outputs, **immediate_event(self.save_table))
        start_stream(self.stream.click, self.choice.find)

    def save_table(self, visitor: str) -> Updates:
        """What is chosen as a CSV file."""
        session, name = self.context.sessions.get(visitor), self.choice.table_name
        self.choice.find(session)  # an error where there are none
        said = f"Saved {name}: “evaluate --pictures {name}” measures these pictures in the terminal."
        with self.context.downloads:
            self.export_count += 1
            return {
                self.table: download_value(name, self.choice.table(session), self.export_count)
            } | self.context.done(said)
