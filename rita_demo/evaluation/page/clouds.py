"""Feature clouds for the paper's figures: of pictures that are attacked, encoded and cached one after another, of a stored
stream, and those that come with this project, which have thumbnails of drawn textures alone.

Nothing here writes into a run folder, because another process may be writing to it.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from rita_demo.attacks import get_attack
from rita_demo.data import record_file
from rita_demo.data.datasets import load_split
from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.data.vocabularies import index_of
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.artifacts import features_of, read_artifacts
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.page import streams
from rita_demo.evaluation.page.streams import EXAMPLES, DataFolders
from rita_demo.evaluation.pictures import (
    DatasetItem,
    PictureSet,
    choose_usable,
    find_picture,
    list_pictures,
    picture_seed,
)
from rita_demo.evaluation.planned_cells import Cell, ModelIdentity, attack_key, views_key
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.streams import StreamRun, find_stream_run, stream_runs
from rita_demo.figures import analysis
from rita_demo.process.assets import ASSETS, reading_asset
from rita_demo.process.generators import Steps
from rita_demo.records import CacheState, Picture
from rita_demo.records.errors import DataError, DemoError, SettingError
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import CloudPoints, FeatureCloud, PlacedCloud
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.settings import Settings

CLOUDS = ASSETS / "lab" / "clouds"
VIEWS_SHOWN = 16  # crops per picture; the cache gets all of them
THUMBNAIL_SIDE = 56  # pixels
TEXTURES = "textures"
MAX_PICTURES = 400  # pictures of one cloud
POINT_COLUMNS = ("file", "true_class", "kind", "stored_as", "view")


def class_counts(folders: DataFolders, source: str) -> dict[str, int]:
    """Class name -> its pictures in the split that a cloud is of, in the order of the names. None of a source that is not here
    (untrusted)."""
    if source not in {row.name for row in streams.available(folders)}:
        return {}
    split = "val" if source == TEXTURES else streams.split_of(source, folders.root)
    items = load_split(source, folders.root, split, allow_partial=True)
    return dict(sorted(Counter(name for _, _, name in items).items()))


def live_set(folders: DataFolders, source: str, classes: int | Sequence[str], per_class: int) -> PictureSet:
    """The pictures of a cloud that is collected now, of a dataset of :func:`available`; ``classes`` by their number or
    names. Raises SettingError, VocabularyError, DataError: a value that is not allowed."""
    dataset = streams.dataset_of(folders, source)
    return cloud_set(dataset, folders.root, streams.split_of(dataset, folders.root), classes, per_class)


def cloud_set(dataset: str, root: Path | None, split: str, classes: int | Sequence[str], per_class: int) -> PictureSet:
    """Classes of a dataset with ``per_class`` pictures each, in the order of their names: those with the names
    ``classes``, or so many of them: those with most pictures there, of the drawn ``textures`` (always ``val``) words
    spread over the alphabet. They are the K classes of the prompts. Raises SettingError: too few or too many of them.
    VocabularyError: no such class. DataError: too few pictures."""
    drawn = dataset == TEXTURES
    split = "val" if drawn else split
    whole = list_pictures(dataset, root, split, allow_partial=True)
    names = whole.names
    named = () if isinstance(classes, int) else sorted({index_of(names, name) for name in classes})
    count = classes if isinstance(classes, int) else len(named)
    if not 2 <= count <= len(names) or per_class < 1 or count * per_class > MAX_PICTURES:
        raise SettingError(
            f"A cloud has 2 to {len(names)} classes and at most {MAX_PICTURES} pictures; got {count} classes with "
            f"{per_class} pictures each."
        )

    def fullest(items: Sequence[DatasetItem]) -> list[DatasetItem]:
        by_class = group_by(items, lambda item: item.label)
        full = [k for k in named or by_class if len(by_class.get(k, ())) >= per_class]
        if len(full) < count:
            raise DataError(
                f"Only {len(full)} classes of {dataset} ({split}) have {per_class} pictures here; {count} were asked for"
                + (f": {', '.join(names[k] for k in named if k not in full)}" if named else "")
                + (" have fewer." if named else "."),
                "Choose fewer classes, or fewer pictures of each.",
            )
        most = sorted(full, key=lambda k: (-len(by_class[k]), k))[:count]
        if drawn:
            most = [full[i * len(full) // count] for i in range(count)]
        return [item for k in sorted(most) for item in by_class[k][:per_class]]

    taken, unusable = choose_usable(whole.items, fullest)
    chosen = sorted({item.label for item in taken})
    items = [replace(item, label=chosen.index(item.label)) for item in taken]
    chosen_names = tuple(names[k] for k in chosen)
    return PictureSet(dataset, split, chosen_names, tuple(items), len(items), count, unusable)


def collect_steps(
    engine: Engine, picture_set: PictureSet, settings: Settings, seed: int = 0
) -> Generator[tuple[int, int], None, FeatureCloud]:
    """Attack every picture in the order of a stream, add its views to the cache, and collect the features. Yields (pictures
    done, pictures) after every attack step, so that cancelling acts at once. The prompts are not tuned: the cache does not
    depend on them (``cache_text`` is ``initial``)."""
    untuned = settings.replace(tuning_steps=0, cache_text="initial", protocol="stream")
    class_prompts = engine.encode_classes(picture_set.names, untuned)
    cache = engine.empty_cache(class_prompts, untuned)
    items = picture_set.stream(seed)
    clean, attacked, views, thumbs = [], [], [], []
    for number, item in enumerate(items):
        yield number, len(items)
        own = untuned.replace(**dict.fromkeys(SEEDS, picture_seed(seed, item)))
        before = open_picture(item.source, square=own.square, side=engine.info.side)
        after = before
        if own.attack != "none":
            steps = Steps(engine.attack_steps(before, class_prompts, own, item.label, cache=cache))
            for _ in steps:
                yield number, len(items)
            after = picture_of(steps.value.pixels)
        encoded_views = engine.encode_views(after, own)
        _, cache = engine.decide(encoded_views, class_prompts, cache, own)
        clean.append(engine.encode_views(before, own.replace(views=1)).features[0])
        attacked.append(encoded_views.features[0])
        views.append(encoded_views.features[1 : 1 + VIEWS_SHOWN])
        thumbs.append(thumbnail(after.pixels))
    drawn = picture_set.dataset == TEXTURES
    pictures = "drawn textures" if drawn else f"pictures of {picture_set.dataset} ({picture_set.split})"
    if picture_set.unusable:
        pictures += f" without {len(picture_set.unusable)} that cannot be opened"
    return FeatureCloud(
        title=f"{len(items)} {pictures}, {len(picture_set.names)} classes, {attack_text(settings)}, "
        f"{engine.info.title}; {views_text(settings.views, cache)}",
        dataset=picture_set.dataset,
        settings=settings,
        seeds=tuple(picture_seed(seed, item) for item in items),
        class_prompts=class_prompts,
        ids=tuple(item.id for item in items),
        label=np.array([item.label for item in items]),
        clean=np.stack(clean),
        attacked=np.stack(attacked),
        views=np.stack(views),
        cache=cache,
        thumbs=np.stack(thumbs),
        pictures_name="clean pictures" if settings.attack == "none" else "attacked pictures",
    )


def views_text(views: int, cache: CacheState) -> str:
    """How many of a picture's views are drawn, and how many views the memory holds of all that were offered."""
    drawn, held = min(VIEWS_SHOWN, views - 1), int(np.sum(cache.count))
    return f"{drawn} of {views} views of each are drawn; all {views} are offered to the memory, it holds {held}"


def thumbnail(pixels: np.ndarray) -> np.ndarray:
    """The picture as means of blocks, at most (THUMBNAIL_SIDE, THUMBNAIL_SIDE, 3) uint8."""
    side = pixels.shape[0]
    edges = np.linspace(0, side, min(THUMBNAIL_SIDE, side) + 1).astype(int)[:-1]
    sums = np.add.reduceat(np.add.reduceat(pixels.astype(np.float32), edges, 0), edges, 1)
    widths = np.diff([*edges, side])
    return (sums / (widths[:, None, None] * widths[None, :, None])).round().astype(np.uint8)


def thumbnails(squares: Iterable[Picture]) -> np.ndarray:
    """(n, s, s, 3) uint8 of pictures of one size."""
    return np.stack([thumbnail(square.pixels) for square in squares])


def attack_text(settings: Settings) -> str:
    """The attack in a few words: "PGD 4/255, 7 steps"."""
    row = get_attack(settings.attack)
    if row.name == "none":
        return "not attacked"
    budget = f" {settings.budget}/255" if row.bounded else ""
    steps = f", {row.step_count(settings)} steps" if row.iterative else ""
    return f"{row.title}{budget}{steps}"


def cloud_picture(folders: DataFolders, cloud: FeatureCloud, n: int, side: int) -> Picture:
    """The clean square of picture ``n`` of a cloud. Raises DataError, PictureError: it is not there any more."""
    source = find_picture(cloud.dataset, cloud.ids[n], folders.root)
    return open_picture(source, square=cloud.settings.square, side=side)


def stored_streams(folders: DataFolders) -> tuple[StreamRun, ...]:
    """The stored streams that :func:`load_cloud_steps` can show: all but those whose attack uses the cache, since
    their stored views are found only by the whole list of pictures."""
    return tuple(stream for stream in stream_runs(folders.runs) if not stream.attack_uses_cache)


def load_cloud_steps(folders: DataFolders, name: str, engine: Engine) -> Generator[tuple[int, int], None, FeatureCloud]:
    """A stored stream as a feature cloud: at most its first ``MAX_PICTURES`` pictures, and the cache after them. Yields
    (pictures done, pictures) while clean pictures are encoded that the run did not store. Raises DataError: no such
    stream, no stored features, or a missing clean picture. SettingError: the engine has another model than the
    stream."""
    stream = find_stream_run(folders.runs, name)
    streams.check_model(engine, stream.header)
    rows, cell, names = stream.rows()[:MAX_PICTURES], stream.header.cell, stream.names
    pictures = PictureSet(stream.columns["dataset"], "", names, (), 0, 0)
    model = ModelIdentity(stream.header.key["backbone"], stream.header.key["weights"])

    def stored_views(cell: Cell) -> dict[str, np.ndarray]:
        stored = read_artifacts(stream.folder, f"views/{views_key(cell, pictures, model)}")
        return {picture: features_of(data, (cell.requested.views, engine.info.width)) for picture, data in stored}

    clean, attacked = stored_views(cell.clean), stored_views(cell)
    ids, delivered = [row["picture"] for row in rows], [attacked if row["attacked"] else clean for row in rows]
    if not rows or any(i not in features for i, features in zip(ids, delivered)):
        raise DataError(
            "The features of this stream are not all stored.", "Run the same evaluate again into this folder."
        )
    clean_square = partial(streams.picture_of, folders, stream, square=cell.requested.square, side=engine.info.side)
    for done, row in enumerate(rows):
        if row["picture"] not in clean:
            yield done, len(rows)
            own = stream.header.settings_for(row).replace(views=1)
            clean[row["picture"]] = engine.encode_views(clean_square(row["picture"]), own).features
    class_prompts = engine.encode_classes(names, cell.requested)
    views = np.stack([features[i] for i, features in zip(ids, delivered)])
    cache = cache_after(engine.empty_cache(class_prompts, cell.settings), rows)
    squares, thumbs = dict(read_artifacts(stream.folder, f"attacked/{attack_key(cell, pictures, model)}")), None
    with suppress(DataError):  # a clean picture is missing
        thumbs = thumbnails(open_picture(squares[i]) if i in squares else clean_square(i) for i in ids)
    hits = sum(features is attacked for features in delivered)
    mixed = f"pictures, {hits} of {len(rows)} attacked" if hits else "clean pictures"
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
        thumbs=thumbs,
        dataset=stream.place,
        settings=cell.requested,
        seeds=tuple(row["picture_seed"] for row in rows),
        pictures_name="attacked pictures" if hits == len(rows) else mixed,
    )


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
            cloud = replace(cloud, thumbs=thumbnails(map(open_picture, sources)))
    return PlacedCloud(cloud, analysis.to_points(cloud), coordinates, captions, kl, separability, stored=True)


def points_csv(cloud: FeatureCloud, points: CloudPoints, chosen: Sequence[int]) -> bytes:
    """The ``chosen`` points of a cloud that belong to pictures; views are numbered from 1, and ``view`` of a view in the
    memory is its place there."""
    names = cloud.names

    def row(i: int) -> list[object]:
        n, kind = int(points.picture[i]), str(points.kind[i])
        stored = names[int(points.label[i])] if kind == "cached" else ""
        view = int(points.index[i]) + 1 if kind in ("view", "cached") else ""
        return [cloud.ids[n], names[int(cloud.label[n])], kind, stored, view]

    return csv_bytes([POINT_COLUMNS, *(row(i) for i in chosen if points.picture[i] >= 0)])
