"""Run folders read for the figures: measured points, and the features of a stream.

Nothing here writes, because another process may be writing to the run folder.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from rita_demo.data import shipped_results
from rita_demo.data.datasets import load_split
from rita_demo.data.folders import read_folder
from rita_demo.data.pictures import open_picture
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.artifacts import features_of, read_artifacts
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.page.feature_cloud import (
    MAX_PICTURES,
    TEXTURES,
    VIEWS_SHOWN,
    attack_text,
    cloud_set,
    thumbnail,
    views_text,
)
from rita_demo.evaluation.page.streams import DataFolders, available, check_model, picture_of, split_of
from rita_demo.evaluation.pictures import PictureSet, find_picture
from rita_demo.evaluation.planned_cells import ModelIdentity
from rita_demo.evaluation.report.cells import cells, points_of, read_points, records_of, run_times
from rita_demo.evaluation.rows import FILE
from rita_demo.evaluation.streams import StreamRun, find_stream_run, stream_runs
from rita_demo.records import MeasuredCell, Picture
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import AblationPoint, FeatureCloud, RunTime

SHIPPED = ""  # the name that stands for the measurements shipped with this copy


def run_names(folders: DataFolders) -> tuple[str, ...]:
    """Names of the run folders, newest first."""
    try:
        places = [folders.runs / name for name in read_folder(folders.runs).folders]
        places = [place for place in places if (place / FILE).is_file()]
        places.sort(key=lambda place: -(place / FILE).stat().st_mtime)
    except OSError:  # missing, or not readable
        return ()
    return tuple(place.name for place in places)


def measured_points(folders: DataFolders, run: str) -> tuple[tuple[AblationPoint, ...], tuple[RunTime, ...]]:
    """The measured points of a run folder and the times of its methods, or with ``run`` = ``SHIPPED`` the points shipped with
    this copy, which have no times.

    Raises:
        DataError: ``run`` is not one of :func:`run_names` (it is user input), or is damaged.
    """
    if run == SHIPPED:
        try:
            return read_points(shipped_results.ABLATIONS), ()
        except DataError:  # the tab opens in spite of a damaged file
            return (), ()
    table = cells(_run_folder(folders, run))
    return points_of(table), run_times(table)


def arena_cells(folders: DataFolders, run: str) -> tuple[MeasuredCell, ...]:
    """The finished cells of a run folder under the recommended settings and without memory, or with ``run`` = ``SHIPPED``
    those shipped with this copy.

    Raises:
        DataError: as :func:`measured_points`.
    """
    if run == SHIPPED:
        try:
            return shipped_results.read(shipped_results.ARENA)
        except DataError:
            return ()
    table = cells(_run_folder(folders, run))
    return records_of(table[table["finished"] & (table["special"] == "") & (table["protocol"] == "off")])


def _run_folder(folders: DataFolders, run: str) -> Path:
    if run not in run_names(folders):
        raise DataError(f"There is no run {str(run)[:60]!r}.", "Choose one from the list.")
    return folders.runs / run


def class_counts(folders: DataFolders, source: str) -> dict[str, int]:
    """Class name -> its pictures in the split that a cloud is of, in the order of the names. None of a source that is not here
    (untrusted)."""
    if source not in {row.name for row in available(folders)}:
        return {}
    split = "val" if source == TEXTURES else split_of(source, folders.root)
    items = load_split(source, folders.root, split, allow_partial=True)
    return dict(sorted(Counter(name for _, _, name in items).items()))


def live_set(folders: DataFolders, source: str, classes: int | Sequence[str], per_class: int) -> PictureSet:
    """The pictures of a cloud that is collected now, of a dataset of :func:`available`; ``classes`` by their number or names.

    Raises:
        SettingError, VocabularyError, DataError: a value that is not allowed.
    """
    if source not in {row.name for row in available(folders)}:
        raise DataError("There is no such dataset here.", "Choose one from the list.")
    return cloud_set(source, folders.root, split_of(source, folders.root), classes, per_class)


def cloud_picture(folders: DataFolders, cloud: FeatureCloud, n: int, side: int) -> Picture:
    """The clean square of picture ``n`` of a cloud. Raises DataError, PictureError: it is not there any more."""
    source = find_picture(cloud.dataset, cloud.ids[n], folders.root)
    return open_picture(source, square=cloud.settings.square, side=side)


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


def stored_streams(folders: DataFolders) -> tuple[StreamRun, ...]:
    """The stored streams that :func:`load_cloud_steps` can show: all but those whose attack uses the cache, since
    their stored views are found only by the whole list of pictures."""
    return tuple(one for one in stream_runs(folders.runs) if not one.attack_uses_cache)


def load_cloud_steps(folders: DataFolders, name: str, engine: Engine) -> Generator[tuple[int, int], None, FeatureCloud]:
    """A stored stream as a feature cloud: at most its first ``MAX_PICTURES`` pictures, and the cache after them.

    Yields (pictures done, pictures) while clean pictures are encoded that the run did not store.

    Raises:
        DataError: no such stream, no stored features, or a missing clean picture.
        SettingError: the engine has another model than the stream.
    """
    one = find_stream_run(folders.runs, name)
    check_model(engine, one.header)
    rows, cell, names = one.rows()[:MAX_PICTURES], one.header.cell, one.names
    pictures = PictureSet(one.columns["dataset"], "", names, (), 0, 0)
    model = ModelIdentity(one.header.key["backbone"], one.header.key["weights"])
    shape = (cell.requested.views, engine.info.width)
    clean, attacked = (
        {
            picture: features_of(data, shape)
            for picture, data in read_artifacts(one.folder, f"views/{planned_cells.views_key(part, pictures, model)}")
        }
        for part in (cell.clean, cell)
    )
    delivered = [attacked if row["attacked"] else clean for row in rows]
    ids = [row["picture"] for row in rows]
    if not rows or any(i not in features for i, features in zip(ids, delivered)):
        raise DataError(
            "The features of this stream are not all stored.", "Run the same evaluate again into this folder."
        )

    hits = sum(features is attacked for features in delivered)
    delivered_text = f"pictures, {hits} of {len(rows)} attacked" if hits else "clean pictures"
    clean_square = partial(picture_of, folders, one, square=cell.requested.square, side=engine.info.side)
    for done, row in enumerate(rows):
        if row["picture"] not in clean:
            yield done, len(rows)
            own = one.header.settings_for(row).replace(views=1)
            clean[row["picture"]] = engine.encode_views(clean_square(row["picture"]), own).features
    class_prompts = engine.encode_classes(names, cell.requested)
    views = np.stack([features[i] for i, features in zip(ids, delivered)])
    cache = cache_after(engine.empty_cache(class_prompts, cell.settings), rows)
    return FeatureCloud(
        title=f"{len(ids)} pictures of {pictures.dataset}, {attack_text(cell.requested)}, {engine.info.title}; "
        f"{views_text(views.shape[1], cache)}",
        class_prompts=class_prompts,
        ids=tuple(ids),
        label=np.array([names.index(row["label"]) for row in rows]),
        clean=np.stack([clean[i][0] for i in ids]),
        attacked=views[:, 0],
        views=views[:, 1 : 1 + VIEWS_SHOWN],
        cache=cache,
        thumbs=_thumbs(one, planned_cells.attack_key(cell, pictures, model), ids, clean_square),
        dataset=one.place,
        settings=cell.requested,
        seeds=tuple(row["picture_seed"] for row in rows),
        pictures_name="attacked pictures" if hits == len(rows) else delivered_text,
    )


def _thumbs(one: StreamRun, key: str, ids: list[str], clean_square: Callable[[str], Picture]) -> np.ndarray | None:
    """(n, s, s, 3) uint8 of the stored attacked squares, else of the clean ones; None when a picture is missing."""
    stored = dict(read_artifacts(one.folder, f"attacked/{key}"))
    try:
        squares = [open_picture(stored[name]) if name in stored else clean_square(name) for name in ids]
    except DataError:
        return None
    return np.stack([thumbnail(square.pixels) for square in squares])
