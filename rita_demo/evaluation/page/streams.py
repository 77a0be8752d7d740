"""Streams of pictures on the page: the request of one, its steps of one picture each, its stored pictures, and the streams
that come with this project. These are the ``rows.sqlite`` of run folders, without the artifacts that ``evaluate`` keeps to
resume: numbers, boxes and names of files. ``python -m tools.story.lab`` makes them."""

import json
import shutil
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rita_demo.data.datasets import DatasetStatus, dataset_status, load_split
from rita_demo.data.pictures import open_picture
from rita_demo.defences.registry import DEFAULT_METHODS, with_defaults
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.measurement import Measurement, settings_text
from rita_demo.evaluation.pictures import find_picture
from rita_demo.evaluation.request import SEEDS, Request, Traffic
from rita_demo.evaluation.rows import COLUMNS, FILE, Row, digest
from rita_demo.evaluation.run import EvaluationStep, evaluate_steps
from rita_demo.evaluation.streams import StreamRun, find_stream_run, stream_runs
from rita_demo.process.assets import ASSETS
from rita_demo.records import Picture
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS, Settings

TRAFFIC = {"clean": 0, "mixed": 50, "attacked": 100}  # percent of the pictures that are attacked
MIN_PICTURES, MAX_PICTURES = 2, 500  # pictures of one stream
MAX_STREAMS = 16  # of the page on disk; the oldest is deleted
MAX_STREAM_BYTES = 2 << 30  # all of them together
AT_WORK = 600  # seconds since its last row in which a stream may still be written
FOLDER_PREFIX = "page-"  # of their folders' names
STREAMS = ASSETS / "lab" / "streams"
#: The datasets of the stored streams and clouds, in the order of the menus.
EXAMPLES = ("textures", "dtd", "caltech101")
PREFIX = "/"  # of a stored stream's name; a run folder's is a relative path


@dataclass(frozen=True)
class DataFolders:
    """The folder of the datasets, and the folder of run folders; the server's owner chooses them."""

    data: Path = Path("data")
    runs: Path = Path("runs")

    @property
    def root(self) -> Path | None:
        return self.data if self.data.is_dir() else None


def available(folders: DataFolders) -> tuple[DatasetStatus, ...]:
    """The datasets that can be streamed."""
    return tuple(row for row in dataset_status(folders.root) if row.usable)


def dataset_of(folders: DataFolders, name: JsonValue) -> str:
    """The name (user input) of one of them. Raises DataError: there is none."""
    for row in available(folders):
        if row.name == name:
            return row.name
    raise DataError("There is no such dataset here.", "Choose one from the list.")


@dataclass(frozen=True)
class MeasuredPicture:
    """A picture of a stream or of another measurement, with what repeats its row but for the memory. ``settings`` have the
    seeds of this picture; ``target``: the class that its attack moved towards."""

    picture: Picture
    names: tuple[str, ...]
    settings: Settings
    label: int
    target: int | None
    title: str


def request_for(
    folders: DataFolders,
    settings: Settings,
    backbone: str,
    *,
    dataset: JsonValue,
    traffic: JsonValue,
    seed: JsonValue,
    pictures: JsonValue,
    methods: Iterable[str] = DEFAULT_METHODS,
) -> Request:
    """The request of a visitor's stream, checked. Equal requests have the same run folder.

    Args:
        settings: of attack, views and method; the protocol becomes ``stream`` and the square the model's, so that
            the numbers compare with those of ``evaluate``.
        dataset: a name from :func:`available`. traffic: a key of ``TRAFFIC``.
        seed: 0 or more. pictures: ``MIN_PICTURES`` to ``MAX_PICTURES``.
        methods: beside CLIP, Ensemble, RITA and RITA without memory; another choice uses the same folder.

    Raises:
        SettingError, DataError: a value that is not allowed.
    """
    place = dataset_of(folders, dataset)
    if not isinstance(traffic, str) or traffic not in TRAFFIC:
        raise SettingError(f"The traffic is one of {', '.join(TRAFFIC)}.")
    number, split, share = SETTINGS["view_seed"].parse(seed), split_of(place, folders.root), TRAFFIC[traffic]
    count = None if isinstance(pictures, bool) or not isinstance(pictures, int | float) else pictures
    if count is None or not MIN_PICTURES <= count <= MAX_PICTURES or count != int(count):
        raise SettingError(f"The number of pictures is a whole number from {MIN_PICTURES} to {MAX_PICTURES}.")
    attack = "none" if not share else SETTINGS["attack"].default if settings.attack == "none" else settings.attack
    stored = settings.replace(protocol="stream", square="model", attack=attack)
    stored = stored.replace(**{name: SETTINGS[name].default for name in SEEDS})
    key = [place, traffic, number, int(count), backbone, stored.as_dict()]
    name = f"{FOLDER_PREFIX}{Path(place).name[:40].replace(':', '-')}-{traffic}-{digest(key)}"
    return Request(
        datasets=(place,),
        split=split,
        methods=with_defaults(methods),
        points=(stored, stored.replace(protocol="off")),
        out=folders.runs / name,
        data_root=folders.root,
        seeds=(number,),
        limit=int(count),
        allow_partial=True,
        backbone=backbone,
        traffic=Traffic(share or 100),
    )


def shipped_streams() -> tuple[StreamRun, ...]:
    """The streams that come with this project."""
    by_dataset = {stream.columns["dataset"]: stream for stream in stream_runs(STREAMS)}
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
    for stream in shipped_streams():
        if stream.name == name:
            return stream
    raise DataError("There is no stored example of that name.", "Choose one from the list.")


def stream_steps(engine: Engine, request: Request) -> Generator[EvaluationStep, None, object]:
    """Start or resume the stream, one step per picture; see :func:`rita_demo.evaluation.run.evaluate_steps`. Before a new one,
    the page's oldest streams beyond MAX_STREAMS or MAX_STREAM_BYTES are deleted; no other folders, and none that may be being
    written."""
    total, pages = 0, [] if request.out.exists() else request.out.parent.glob(f"{FOLDER_PREFIX}*/{FILE}")
    newest_first = sorted(((path.stat().st_mtime, path.parent) for path in pages), reverse=True)
    for place, (written, old) in enumerate(newest_first, 1):
        total += sum(path.stat().st_size for path in old.rglob("*") if path.is_file())
        if (place >= MAX_STREAMS or total > MAX_STREAM_BYTES) and written < time.time() - AT_WORK:
            shutil.rmtree(old, ignore_errors=True)
    return evaluate_steps(request, engine, together=True)


def stream_run_of(folders: DataFolders, request: Request) -> StreamRun | None:
    """The stored stream of a request, as far as it is written."""
    return next(iter(stream_runs(folders.runs, request.out)), None)


def picture_of(
    folders: DataFolders, stream: StreamRun, name: str, *, square: str = "picture", side: int | None = None
) -> Picture:
    """The clean square of a picture of a stream, by its id. Raises DataError, PictureError: it is not in the data
    folder, or it cannot be read."""
    source = find_picture(stream.place, name, folders.root)
    return open_picture(source, square=square, side=side)


def picture_called(folders: DataFolders, picture: str, square: str, side: int) -> Picture:
    """The clean square of a picture of any dataset here, by its id (untrusted). Raises DataError: there is none of that id;
    PictureError: it cannot be read."""
    for dataset in (row.name for row in available(folders)):
        with suppress(DataError):
            source = find_picture(dataset, picture, folders.root)
            return open_picture(source, square=square, side=side)
    raise DataError(
        f"The picture “{picture[:100]}” is not kept: the memory holds views, and no file of that name is in the data folder.",
        "Give it to the Story again.",
    )


def open_stream_picture(engine: Engine, folders: DataFolders, stream: StreamRun, t: int) -> MeasuredPicture:
    """Picture number ``t`` (from 1) of a stream; raises as :func:`open_row`."""
    row = stream.rows()[t - 1]
    return open_row(engine, folders, stream.header, row, f"Picture {t} of a stream: {row['picture']}")


def open_row(engine: Engine, folders: DataFolders, header: Measurement, row: Row, title: str) -> MeasuredPicture:
    """The picture of a row of a measurement. Raises SettingError: the engine has another model than the measurement.
    DataError, PictureError: the picture is missing."""
    check_model(engine, header)
    names, settings = header.names, header.settings_for(row)
    source = find_picture(header.place, row["picture"], folders.root)
    picture = open_picture(source, square=settings.square, side=engine.info.side)
    target = names.index(row["target"]) if row.get("target") else None
    return MeasuredPicture(picture, names, settings, names.index(row["label"]), target, title)


def check_model(engine: Engine, header: Measurement) -> None:
    """Raises :class:`SettingError` if the engine has another model than a measurement."""
    name, weights = header.key["backbone"], header.key["weights"]
    if (engine.info.name, engine.weights_key()) != (name, weights):
        raise SettingError(
            f"This was measured with the model {name!r} (weights {weights[:8]}), not with the one in use.",
            "Choose that model in the menu above.",
        )


def rows_text(stream: StreamRun) -> str:
    """All rows of a stream as JSON lines, method after method, with the columns of ``load_runs``."""
    lines = []
    for method, about in stream.cells.items():
        beside = {"weights": about.key["weights"], "non_default": settings_text(about.non_default)}
        for row in stream.rows(method):
            line = {name: (row | beside)[name] for name in COLUMNS}
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    return "".join(lines)


def split_of(dataset: str, root: Path | None) -> str:
    """The split to stream: the test split if there is one."""
    for split in ("test", "val", "all", "train"):
        with suppress(DataError):
            load_split(dataset, root, split, allow_partial=True)
            return split
    raise DataError("This dataset has no pictures here.", "Choose another one.")
