"""The picture that a stored view was cut from: to be seen, and to be run again."""

from functools import lru_cache

import numpy as np

from rita_demo.data.samples import SAMPLES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import Run
from rita_demo.records.errors import DataError, DemoError
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_history import called, stream_picture_request


def stored_picture_request(session: Session, engine: Engine, folders: DataFolders) -> RunRequest:
    """The picture of the chosen stored view. One of a stream comes from the stream's memory before it, which is in
    use from then on; any other from the memory on screen, among its class names and with the settings on
    screen, without an attack if it arrived so.

    Raises:
        DemoError: no view is chosen, another model, or the picture is not here.
    """
    row, run, stream, memory = session.selected_item, session.run, session.stream.recording, session.shown_history
    if row is None or run is None:
        raise DemoError("No stored view is chosen.", "Choose one first.")
    if stream is not None:
        return stream_picture_request(session, engine, folders, stream, int(memory.born[row]) + 1)
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


def stored_pixels(session: Session, folders: DataFolders, row: int) -> np.ndarray | None:
    """(H, H, 3) uint8, the square that a stored view was cut from: the one on screen as it arrived, any other without its
    attack; None where it is not here."""
    run, stream, memory = session.run, session.stream.recording, session.shown_history
    title, attacked = called(memory, row)
    try:
        if stream is not None:
            return evaluation_page.picture_of(folders, stream, memory.file[row]).pixels
        if run is not None and _is_on_screen(session, run, row):
            return (run.attacked if attacked else run.clean).picture.pixels
        return _kept_pixels(folders, title)
    except DemoError:
        return None


@lru_cache(maxsize=64)
def _kept_pixels(folders: DataFolders, title: str) -> np.ndarray:
    """The square of a sample, by its title, or of a picture of a dataset, by its id, which has a folder."""
    sample = next((one for one in SAMPLES.values() if one.title == title), None)
    if sample is not None:
        return sample.load().pixels
    if "/" not in title:
        raise DataError("This picture is not kept.")
    return evaluation_page.picture_called(folders, title, "picture", 224).pixels


def _is_on_screen(session: Session, run: Run, row: int) -> bool:
    """Whether a stored view is of the picture on screen."""
    moments = (one for one in session.history.moments if one.picture_key == run.clean.picture.key)
    return any(session.history.born[row] == one.pictures - 1 and row in one.held for one in moments)
