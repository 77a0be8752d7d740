"""What comes with this project for *Memory* and *Figures*: measured once, shown before anything is computed.

A stored stream is the ``rows.sqlite`` of a run folder, without the artifacts that ``evaluate`` keeps to resume: numbers, boxes
and names of files. A stored cloud has thumbnails of drawn textures alone. ``python -m tools.story.lab`` makes both.
"""

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from rita_demo.data import record_file
from rita_demo.data.pictures import open_picture
from rita_demo.evaluation.page.feature_cloud import thumbnail
from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.pictures import find_picture
from rita_demo.evaluation.streams import StreamRun, find_stream_run, stream_runs
from rita_demo.figures import analysis
from rita_demo.process.assets import ASSETS, reading_asset
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.measurement import PlacedCloud

STREAMS, CLOUDS = ASSETS / "lab" / "streams", ASSETS / "lab" / "clouds"
#: The datasets of both, in the order of the menus.
EXAMPLES = ("textures", "dtd", "caltech101")
PREFIX = "/"  # of a stored stream's name; a run folder's is a relative path


def shipped_streams() -> tuple[StreamRun, ...]:
    """The streams that come with this project."""
    by_dataset = {one.columns["dataset"]: one for one in stream_runs(STREAMS)}
    return tuple(
        replace(by_dataset[name], name=PREFIX + by_dataset[name].name, stored=True)
        for name in EXAMPLES
        if name in by_dataset
    )


def known_streams(folders: DataFolders) -> tuple[StreamRun, ...]:
    """The streams of the server's run folders, newest first, then those that come with this project."""
    return (*stream_runs(folders.runs), *shipped_streams())


def find_stream(folders: DataFolders, name: str) -> StreamRun:
    """The stream of that name among :func:`known_streams`. Raises DataError: there is none."""
    if not name.startswith(PREFIX):
        return find_stream_run(folders.runs, name)
    for one in shipped_streams():
        if one.name == name:
            return one
    raise DataError("There is no stored example of that name.", "Choose one from the list.")


def pack_cloud(placed: PlacedCloud) -> bytes:
    """The bytes of a cloud; its points are made again."""
    return record_file.pack(
        (placed.cloud, placed.coordinates, placed.captions, placed.kl_to_one_hot, placed.separability)
    )


def cloud_path(dataset: str) -> Path:
    return CLOUDS / f"{dataset}.zip"


@lru_cache(maxsize=8)
def shipped_cloud(folders: DataFolders, dataset: str) -> PlacedCloud:
    """The cloud of one of ``EXAMPLES`` (user input), with thumbnails where the data folder has all of its pictures. Raises
    DataError: there is none, or its file is missing or damaged."""
    if dataset not in EXAMPLES:
        raise DataError("There is no stored example of that name.", "Choose one from the list.")
    with reading_asset("The stored cloud", f"lab/clouds/{dataset}.zip"):
        cloud, coordinates, captions, kl, separability = record_file.unpack(cloud_path(dataset).read_bytes())
    if cloud.thumbs is None:
        with suppress(DemoError):
            sources = [find_picture(cloud.dataset, name, folders.root) for name in cloud.ids]
            squares = [open_picture(source) for source in sources]
            cloud = replace(cloud, thumbs=np.stack([thumbnail(square.pixels) for square in squares]))
    return PlacedCloud(cloud, analysis.to_points(cloud), coordinates, captions, kl, separability, stored=True)
