"""The memory of a stream over time, as *Memory* shows it: one moment per picture, with every view that entered and left."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

import numpy as np

from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import DEFENCES, default_methods
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, StreamRun
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import CacheEvent
from rita_demo.records.errors import DemoError, PictureError, SettingError
from rita_demo.records.grouping import group_by
from rita_demo.records.keys import class_prompts_key
from rita_demo.records.measurement import RememberedView, StreamTrajectory, method_and_memory
from rita_demo.ui.session.cache_history import MAX_ENTRIES, CacheItem, CacheSnapshot, History, HistoryEntry, small_crop
from rita_demo.ui.session.session import Session

MAX_THUMBNAILS = 160  # stored views with a thumbnail: those that are held, then the newest others
BEGINNING = "The beginning of the stream"
ATTACKED = ", attacked"  # at the end of what a picture is called


def stream_history(folders: DataFolders, one: StreamRun, trajectory: StreamTrajectory, t: int) -> History:
    """The memory of a stream before its first and after each of its first ``t`` pictures."""
    names, features = one.names, evaluation_page.remembered_features(one)
    views = evaluation_page.remembered_views(trajectory, t)
    # a box takes a millisecond: none for views that left before the moments that are kept
    boxes = evaluation_page.view_boxes(one, (v for v in views if v.left is None or v.left >= t - MAX_ENTRIES))
    items = {view.id: _item(one, view, features[view.id], boxes.get(view.id, ())) for view in views}
    items |= {at: replace(items[at], thumbnail=crop) for at, crop in _thumbnails(folders, one, views).items()}
    by_picture = group_by(views, lambda view: view.picture)
    key = class_prompts_key(one.columns["backbone"], names)
    snapshot = CacheSnapshot(key, names, trajectory.slots, features.shape[1])
    origin, held = f"a stream ({one.title})", dict[int, tuple[CacheItem, ...]]()
    entries = [HistoryEntry(BEGINNING, snapshot, origin=origin)]
    for n, name in enumerate(trajectory.pictures[:t]):
        events = []
        for view in by_picture.get(n, ()):
            row = list(held.get(view.label, ()))
            gone = row[view.slot] if view.slot < len(row) else None
            row[view.slot : view.slot + 1] = [items[view.id]]
            held = held | {view.label: tuple(row)}
            left = (None, None) if gone is None else (gone.entropy, gone.born)
            events.append(CacheEvent(view.label, view.slot, view.view, view.entropy, *left))
        snapshot = replace(snapshot, pictures=n + 1, items_by_class=held)
        title = _picture_title(n, name, bool(trajectory.attacked[n]))
        entries.append(HistoryEntry(title, snapshot, tuple(events), origin=origin))
    return History(tuple(entries[-MAX_ENTRIES:]))


def stream_picture_request(
    session: Session, engine: Engine, folders: DataFolders, one: StreamRun, t: int, *, before: bool = False
) -> RunRequest:
    """Picture number ``t`` (from 1) of a stream again, from the memory before it, which is in use from then on.
    ``before``: the moment before the picture is selected. Raises DemoError: another model, or the picture is missing."""
    met = evaluation_page.open_stream_picture(engine, folders, one, t)
    history = stream_history(folders, one, evaluation_page.trajectory_of(one), t - 1)
    session.replace_history(history, opened=True)
    # the picture itself adds a moment; the oldest one of a full history goes for it
    moment = min(len(history.entries), MAX_ENTRIES - 1) - 1
    return RunRequest(**vars(met), methods=answering(one.cells), selection={"moment": moment} if before else {})


def answering(measured: Iterable[str]) -> tuple[str, ...]:
    """The methods that answer where a measured picture is opened: the usual ones and those that were measured."""
    known = {*(method_and_memory(name)[0] for name in measured), *default_methods()}
    return tuple(name for name in DEFENCES if name in known)


def own_picture_request(session: Session, engine: Engine, one: StreamRun | None, history: History) -> RunRequest:
    """The picture on screen among the class names of a memory, of a stream or, with None, of the visitor's own: it is in
    use from then on. The true class stays if the memory has it. Raises DemoError: no picture yet, or another model."""
    run = session.run
    if run is None:
        raise PictureError("There is no picture yet.", "Run one in the Story.")
    memory = history.entries[-1].snapshot
    if one is not None:
        evaluation_page.check_model(engine, one.header)
    elif memory.key != class_prompts_key(engine.info.name, memory.names):
        raise SettingError("This memory belongs to another model.", "Choose that model in the menu above.")
    settings = run.settings.replace(protocol="stream", slots=memory.slots)
    if history is not session.history:
        session.replace_history(history)
    name = run.class_prompts.names[run.label]
    label = memory.names.index(name) if run.label_given and name in memory.names else None
    title = "Your picture" if session.run_sample is None else SAMPLES[session.run_sample].title
    return RunRequest(
        run.clean.picture, memory.names, settings, label, None, title, session.run_sample, methods=run.methods
    )


@lru_cache(maxsize=8)
def shipped_history(folders: DataFolders, name: str) -> History:
    """The memory of a stored example, made once for all visitors."""
    one = evaluation_page.find_stream(folders, name)
    trajectory = evaluation_page.trajectory_of(one)
    return stream_history(folders, one, trajectory, len(trajectory.pictures))


def replacing_item(history: History) -> tuple[int, int] | None:
    """Class and slot of the latest view that is held and took another one's place; else of the latest that is held."""
    snapshot = history.entries[-1].snapshot
    taken = {
        (event.label, event.slot, entry.snapshot.pictures - 1)
        for entry in history.entries
        for event in entry.events
        if event.replaced_born is not None
    }
    order = sorted(snapshot.items, key=lambda at: ((at[0], at[1], at[2].born) in taken, at[2].born))
    return order[-1][:2] if order else None


def _picture_title(n: int, name: str, attacked: bool) -> str:
    return f"picture {n + 1} of the stream, {name}{ATTACKED * attacked}"


def called(item: CacheItem) -> tuple[str, bool]:
    """The file or the title of a stored view's picture, and whether it arrived attacked, also of an imported one."""
    title = re.sub(r"^[Pp]icture \d+ of (the stream, |a stream: )", "", item.picture)
    return title.removesuffix(ATTACKED), title.endswith(ATTACKED) if item.attacked is None else item.attacked


def _item(one: StreamRun, view: RememberedView, feature: np.ndarray, box: tuple[float, ...]) -> CacheItem:
    title, truth = _picture_title(view.picture, view.name, view.attacked), one.names[view.truth]
    place = (feature, view.entropy, view.picture, view.view)
    return CacheItem(*place, picture=title, truth=truth, file=view.name, attacked=view.attacked, box=box)


def _thumbnails(folders: DataFolders, one: StreamRun, views: tuple[RememberedView, ...]) -> dict[int, np.ndarray]:
    """Id of a view -> its crop, where the data folder has its picture."""
    chosen = sorted(views, key=lambda view: (view.left is None, view.id))[-MAX_THUMBNAILS:]
    boxes, found = evaluation_page.view_boxes(one, chosen), dict[int, np.ndarray]()
    for name, same in group_by(chosen, lambda view: view.name).items():
        with suppress(DemoError):
            pixels = evaluation_page.picture_of(folders, one, name).pixels
            found |= {view.id: small_crop(pixels, boxes[view.id]) for view in same}
    return found
