"""The picture that a stored view was cut from, to be run again."""

from rita_demo.data.samples import SAMPLES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_history import called, stream_picture_request


def stored_picture_request(session: Session, engine: Engine, folders: DataFolders) -> RunRequest:
    """The picture of the chosen stored view. One of a stored example comes from the stream's memory before it, which is in
    use from then on; any other from the memory on screen, among its class names and with the settings on
    screen, without an attack if it arrived so.

    Raises:
        DemoError: no view is chosen, another model, or the picture is not here.
    """
    row, run, example, memory = session.selected_item, session.run, session.memory.example, session.shown_history
    if row is None or run is None:
        raise DemoError("No stored view is chosen.", "Choose one first.")
    if example is not None:
        return stream_picture_request(session, engine, folders, example.recording, int(memory.born[row]) + 1)
    title, attacked = called(memory, row)
    sample = next((key for key, one in SAMPLES.items() if one.title == title), None)
    settings, names = run.settings if attacked else run.settings.replace(attack="none"), memory.names
    if _is_on_screen(session, run, row):
        picture = run.clean.picture
    elif sample is not None:
        picture = SAMPLES[sample].load(square=settings.square, side=engine.info.side)
    else:
        picture = evaluation_page.picture_called(folders, title, settings.square, engine.info.side)
    label = names.index(memory.truth[row]) if memory.truth[row] in names else None
    return RunRequest(picture, names, settings, label, None, title, sample, methods=run.methods)


def _is_on_screen(session: Session, run: Run, row: int) -> bool:
    """Whether a stored view is of the picture on screen."""
    moments = (one for one in session.history.moments if one.picture_key == run.clean.picture.key)
    return any(session.history.born[row] == one.pictures - 1 and row in one.held for one in moments)
