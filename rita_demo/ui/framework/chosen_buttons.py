"""What can be done with pictures that a visitor has chosen: keep them as files, measure them, stream them. One press each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr
from gradio.components import Component

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import ChosenPictures, DataFolders
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import MeasuredCell
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, immediate_event, queued_event
from rita_demo.ui.framework.form import Form
from rita_demo.ui.framework.panels import FormValues, Updates
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.session.run_request import methods_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.html_buttons import DownloadButtons, download_value
from rita_demo.ui.widgets.setting_controls import settings_from

ZIP_NAME, ZIP_TEXT = "rita-pictures.zip", "Pictures as a folder (zip)"
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

    def __init__(self, context: AppContext, folders: DataFolders, choice: Choice, *topics: str) -> None:
        self.context, self.folders, self.choice, self.export_count = context, folders, choice, 0
        name = choice.name
        hidden: dict[str, Any] = {"size": "sm", "visible": False}
        with gr.Row(elem_classes="chosen-row", elem_id=f"{name}-chosen"):
            self.table = DownloadButtons({"csv": choice.table_text}, visible=False, elem_id=f"{name}-export")
            self.folder = DownloadButtons({"zip": ZIP_TEXT}, visible=False, elem_id=f"{name}-zip")
            self.measure = gr.Button("Measure these pictures", elem_id=f"{name}-measure", **hidden)
            self.stream = gr.Button("Make them the next stream", elem_id=f"{name}-stream", **hidden)
            self.stop = gr.Button("Stop", elem_id=f"{name}-stop", **hidden)
        self.measured = gr.HTML(elem_id=f"{name}-measured")
        for button in (self.table, self.folder, self.measure, self.stream):
            context.panels.add(button, lambda session: gr.update(visible=choice.is_there(session)), *topics)

    @property
    def components(self) -> tuple[Any, ...]:
        """What :meth:`draw` gives updates for."""
        return self.table, self.folder, self.measure, self.stream, self.measured

    def draw(self, session: Session) -> Updates:
        """The pictures are others now: the buttons where there are some, and no measurement yet."""
        return self.context.panels.draw_only(session, self.components[:4]) | {self.measured: ""}

    def bind_events(
        self, form: Form, start_stream: StartStream, lists: Sequence[Component], refresh: Callable[[Session], Updates]
    ) -> None:
        """Connect the events. ``form``: has the settings; ``start_stream`` connects a press
        that makes pictures the next stream; ``refresh`` gives updates of ``lists``, which name the runs of the server."""
        context, visitor = self.context, self.context.visitor
        safe, said = notice.handle_errors(context.error_banner), [context.error_banner, context.status]
        for button, handler in ((self.table, self.save_table), (self.folder, self.save_folder)):
            button.click(safe(handler), visitor, [*said, button], **immediate_event(handler))
        stopped = context.done("Stopped. “Measure these pictures” goes on from there.")
        job = StoppableJob(context, self.stop, lambda _: stopped)
        outputs = context.outputs(self.stop, self.measured, *lists)
        self.form, self.refresh = form, refresh
        job.bind_event(
            self.measure.click,
            self.measure_chosen,
            {visitor, *form.fields.values()},
            outputs,
            **queued_event("figures"),
        )
        start_stream(self.stream.click, self.choice.find)

    def save_table(self, visitor: str) -> Updates:
        """What is chosen as a CSV file."""
        session, name = self.context.sessions.get(visitor), self.choice.table_name
        self.choice.find(session)  # an error where there are none
        said = f"Saved {name}: “evaluate --pictures {name}” measures these pictures in the terminal."
        with self.context.downloads:
            return self._saved(self.table, name, self.choice.table(session), said)

    def save_folder(self, visitor: str) -> Updates:
        """The pictures as a folder."""
        chosen = self.choice.find(self.context.sessions.get(visitor))
        with self.context.downloads:
            folder = evaluation_page.picture_folder(chosen, self.folders.root)
            data = folder.as_zip()
            said = f"Saved {ZIP_NAME}: {_count(chosen)}, {len(data) / 1e6:.1f} MB, a folder for --data-root. {folder.fault}"
            return self._saved(self.folder, ZIP_NAME, data, said.rstrip())

    def _saved(self, button: DownloadButtons, name: str, data: bytes, said: str) -> Updates:
        self.export_count += 1
        return {button: download_value(name, data, self.export_count)} | self.context.done(said)

    def measure_chosen(self, values: FormValues) -> Iterator[Updates]:
        """Measure the pictures with the form's settings and methods, into a run folder; one that is there goes on."""
        context, time_left = self.context, TimeLeft()
        session = context.sessions.get(str(values[context.visitor]))
        chosen, engine = self.choice.find(session), context.engine_of(session)
        form = self.form.read(session, values)
        request = evaluation_page.chosen_request(
            self.folders, settings_from(form), engine.info.name, chosen, methods_of(form)
        )
        yield context.progress("Measuring the chosen pictures", 0.02)
        faults: dict[str, None] = {}
        with closing(evaluation_page.stream_steps(engine, request)) as steps:
            for step in steps:
                faults |= dict.fromkeys(filter(None, [step.fault]))
                yield context.progress(step.sentence, step.done / step.total, time_left)
        cells = [point.cell for point in evaluation_page.measured_points(self.folders, request.out.name)]
        text = f"{_count(chosen)} {'is' if len(chosen.ids) == 1 else 'are'} measured."
        text += "".join(f" No answer to some: {fault.rstrip('.')}." for fault in faults)
        said = {self.measured: measured_html(chosen, cells, request.out.name)}
        yield Finished(context.done(text) | said | self.refresh(session))


def measured_html(chosen: ChosenPictures, cells: list[MeasuredCell], folder: str) -> str:
    """HTML: how many of the pictures every method has right, with and without an attack, and where the run is."""
    parts = []
    for attack in dict.fromkeys((cell.attack, cell.budget) for cell in cells):
        mine = [cell for cell in cells if (cell.attack, cell.budget) == attack]
        rights = (
            f"{DEFENCES[cell.method].title if cell.method in DEFENCES else cell.method} {round(cell.accuracy * cell.n / 100)}"
            + f" of {cell.n}" * (cell.n < len(chosen.ids))
            for cell in sorted(
                mine, key=lambda cell: list(DEFENCES).index(cell.method) if cell.method in DEFENCES else 99
            )
        )
        what = "Without an attack" if attack[0] == "none" else f"Under {_attack_words(*attack)}"
        parts.append(f"{what} the methods have right: {', '.join(rights)}")
    said = f"{_count(chosen)}, each by itself and without memory, among {len(chosen.names)} class names. {'. '.join(parts)}."
    return (
        f"<p class='says'>{escape(said)}</p><p class='quiet small'>Chosen pictures do not stand for their dataset. The run is "
        f"{escape(folder)}, in the menus of runs below.</p>"
    )


def _attack_words(attack: str, budget: int) -> str:
    name = attack.partition(":")[0]
    return f"{get_attack(name).column_title} {budget}/255" if budget else get_attack(name).column_title


def _count(chosen: ChosenPictures) -> str:
    return "1 chosen picture" if len(chosen.ids) == 1 else f"{len(chosen.ids)} chosen pictures"
