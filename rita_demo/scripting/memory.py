"""``save_memory``: RITA's memory after a measured stream, as the file that a run or a measurement begins with."""

from pathlib import Path

from rita_demo.data import memory_file
from rita_demo.evaluation.page import DataFolders
from rita_demo.evaluation.rows import run_folders
from rita_demo.evaluation.stored_views import streams_of
from rita_demo.evaluation.stream_trajectory import trajectory_of
from rita_demo.process.environment import data_folder
from rita_demo.process.output_file import write_output
from rita_demo.records.errors import DataError


def save_memory(file: str | Path, *folders: str | Path, stream: int | None = None) -> str:
    """Write RITA's memory after the last picture of a stream: ``rita rows RUNS --memory FILE`` in Python. The file is the one
    that the page exports: ``run(memory=FILE)``, ``evaluate(memory=FILE)`` and ``stored_views(FILE)`` read it.

    Args:
        file: is written. folders: as :func:`rita_demo.stored_views` takes them. stream: its number from 1, where they hold several.

    Returns:
        What was streamed, in one line.

    Raises:
        DataError: no stream, or several and no number; one that began with a memory, which is not in its rows; the file
            cannot be written, or would be too large to be read.
    """
    from rita_demo.ui.session.stream_history import stream_history  # loads Gradio

    streams = streams_of(run_folders(map(Path, folders)))
    if not streams:
        raise DataError(
            "There is no stream of RITA's memory in these folders.", "Measure one with evaluate --protocols stream."
        )
    numbers = range(1, len(streams) + 1)
    if stream not in numbers and (stream is not None or len(streams) > 1):
        listed = "; ".join(f"{number}: {choice.title}" for number, choice in zip(numbers, streams))
        raise DataError(f"The folders hold {len(streams)} streams: {listed}.", "Choose one with --stream NUMBER.")
    choice = streams[(stream or 1) - 1]
    course, here = trajectory_of(choice), DataFolders(data_folder() or Path("data"), choice.folder)
    table = stream_history(here, choice, course, len(course.pictures))
    data = memory_file.pack(table, str(choice.columns["backbone"]), choice.header.requested_clean)
    if len(data) > memory_file.MAX_FILE_BYTES:
        raise DataError(
            f"The memory of this stream is larger than what can be read again ({memory_file.MAX_FILE_BYTES >> 20} MB).",
            "Measure with fewer classes, or fewer slots.",
        )
    write_output(Path(file), data)
    return choice.title
