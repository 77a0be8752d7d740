"""A feature cloud of pictures, attacked, encoded and cached one after another, for the paper's figures."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rita_demo.attacks import get_attack
from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.data.vocabularies import index_of
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.pictures import DatasetItem, PictureSet, choose_usable, list_pictures, picture_seed
from rita_demo.process.generators import Steps
from rita_demo.records import CacheState
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import CloudPoints, FeatureCloud
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.settings import Settings

VIEWS_SHOWN = 16  # crops per picture; the cache gets all of them
THUMBNAIL_SIDE = 56  # pixels
TEXTURES = "textures"
MAX_PICTURES = 400  # pictures of one cloud
POINT_COLUMNS = ("file", "true_class", "kind", "stored_as", "view")


def cloud_set(dataset: str, root: Path | None, split: str, classes: int | Sequence[str], per_class: int) -> PictureSet:
    """Classes of a dataset with ``per_class`` pictures each, in the order of their names: those with the names ``classes``,
    or so many of them: those with most pictures there, of the drawn ``textures`` (always ``val``) words spread over the
    alphabet. They are the K classes of the prompts.

    Raises:
        SettingError: too few or too many of them. VocabularyError: no such class. DataError: too few pictures.
    """
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
    shown = tuple(names[k] for k in chosen)
    return PictureSet(dataset, split, shown, tuple(items), len(items), count, unusable)


def collect_steps(
    engine: Engine, picture_set: PictureSet, settings: Settings, seed: int = 0
) -> Generator[tuple[int, int], None, FeatureCloud]:
    """Attack every picture in the order of a stream, add its views to the cache, and collect the features.

    Yields (pictures done, pictures) after every attack step, so that cancelling acts at once. The prompts are not
    tuned: the cache does not depend on them (``cache_text`` is ``initial``).
    """
    untuned = settings.replace(tuning_steps=0, cache_text="initial", protocol="stream")
    class_prompts = engine.encode_classes(picture_set.names, untuned)
    cache = engine.empty_cache(class_prompts, untuned)
    items = picture_set.stream(seed)
    clean, attacked, views, thumbs = [], [], [], []
    for number, item in enumerate(items):
        yield number, len(items)
        own_seed = picture_seed(seed, item)
        own = untuned.replace(view_seed=own_seed, attack_seed=own_seed)
        before = open_picture(item.source(), square=own.square, side=engine.info.side)
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
    pictures = f"pictures of {picture_set.dataset} ({picture_set.split})"
    if picture_set.dataset == TEXTURES:
        pictures = "drawn textures"
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


def attack_text(settings: Settings) -> str:
    """The attack in a few words: "PGD 4/255, 7 steps"."""
    row = get_attack(settings.attack)
    if row.name == "none":
        return "not attacked"
    budget = f" {settings.budget}/255" if row.bounded else ""
    steps = f", {row.step_count(settings)} steps" if row.iterative else ""
    return f"{row.title}{budget}{steps}"


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
