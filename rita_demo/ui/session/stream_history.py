"""The memory of a stream over time, as *Memory* shows it: one moment per picture, with every view that entered and left; and
the picture that a stored view was cut from: to be seen, and to be run again."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from rita_demo.data.memory import MAX_MOMENTS, MemoryTable, Moment, small_crop
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import DEFENCES, default_methods
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, StreamRun
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import CacheEvent, Run
from rita_demo.records.errors import DataError, DemoError, PictureError, SettingError
from rita_demo.records.grouping import group_by
from rita_demo.records.keys import class_prompts_key
from rita_demo.records.measurement import RememberedView, StreamTrajectory, method_and_memory
from rita_demo.ui.session.session import Session, StreamState

MAX_THUMBNAILS = 160  # stored views with a thumbnail: those that are held, then the newest others
BEGINNING = "The beginning of the stream"
ATTACKED = ", attacked"  # at the end of what a picture is called


def stream_history(
    folders: DataFolders,
    one: StreamRun,
    trajectory: StreamTrajectory,
    t: int,
    most: int = MAX_MOMENTS,
    known: dict[int, dict[str, Any]] | None = None,
) -> MemoryTable:
    """The memory of a stream before its first and after each of its first ``t`` pictures, the last ``most`` of these moments.
    ``known``: rows of its views that were made before, by id; new ones are added to it.

    Raises:
        DataError: the stream began with a memory, whose views are not in its rows.
    """
    if file := one.header.facts.get("memory"):
        raise DataError(
            f"This stream began with the memory {file}, whose views are not in its rows.",
            "Choose a stream that began with an empty memory.",
        )
    names, features, first = one.names, evaluation_page.remembered_features(one), max(0, t + 1 - most)
    rows = {} if known is None else known
    entered = evaluation_page.remembered_views(trajectory, t)
    views = [view for view in entered if view.left is None or view.left >= first]  # held at a moment that is kept
    fresh = [view for view in views if view.id not in rows]
    boxes, thumbnails = evaluation_page.view_boxes(one, fresh), _thumbnails(folders, one, fresh)
    rows |= {
        view.id: {
            **{"label": view.label, "born": view.picture, "view": view.view, "entropy": view.entropy},
            **{"truth": names[view.truth], "file": view.name, "attacked": view.attacked},
            "picture": _picture_title(view.picture, view.name, bool(view.attacked)),
            "box": boxes[view.id],
            "feature": features[view.id],
            **({"thumbnail": thumbnails[view.id], "has_thumbnail": True} if view.id in thumbnails else {}),
        }
        for view in fresh
    }
    key, origin = class_prompts_key(one.columns["backbone"], names), f"a stream ({one.title})"
    memory = MemoryTable(key, names, feature=features[:0], origin=origin).with_rows([rows[view.id] for view in views])
    row, held = {view.id: n for n, view in enumerate(views)}, dict[tuple[int, int], int]()
    by_picture, moments = group_by(entered, lambda view: view.picture), list[Moment]()
    for n in range(t + 1):
        new = by_picture.get(n - 1, ())
        held |= {(view.label, view.slot): view.id for view in new}
        if n >= first:
            events, title = list[CacheEvent](), BEGINNING
            for view in new:
                gone = None if view.replaced is None else entered[view.replaced]
                left = (None, None) if gone is None else (gone.entropy, gone.picture)
                events.append(CacheEvent(view.label, view.slot, view.view, view.entropy, *left))
            if n:
                title = _picture_title(n - 1, trajectory.pictures[n - 1], bool(trajectory.attacked[n - 1]))
            here = np.array([row[id_] for _, id_ in sorted(held.items())], np.int64)
            moments.append(Moment(title, n, trajectory.slots, here, tuple(events)))
    return replace(memory, moments=tuple(moments))


def show_stream(state: StreamState, folders: DataFolders, one: StreamRun) -> None:
    """Put a stream on screen, as far as it is written."""
    if state.recording is None or state.recording.name != one.name:
        state.views, state.thumbnails = {}, {}
    if one.stored:
        state.show(one, *_shipped(folders, one.name))
        return
    trajectory = evaluation_page.trajectory_of(one)
    t = len(trajectory.pictures)
    state.show(one, trajectory, stream_history(folders, one, trajectory, t, t + 1, state.views))


def stream_picture_request(
    session: Session, engine: Engine, folders: DataFolders, one: StreamRun, t: int
) -> RunRequest:
    """Picture number ``t`` (from 1) of a stream again, from the memory before it, which is in use from then on. Raises
    DemoError: another model, or the picture is missing."""
    met = evaluation_page.open_stream_picture(engine, folders, one, t)
    history = stream_history(folders, one, evaluation_page.trajectory_of(one), t - 1)
    session.replace_history(history, opened=True)
    return RunRequest(**vars(met), methods=answering(one.cells), selection=_shown_beside(session, history))


def _shown_beside(session: Session, memory: MemoryTable) -> dict[str, Any]:
    """The selection in the stream on screen, which stays there beside a run among the class names of its ``memory``."""
    at, shown = session.selection, session.stream.history
    return {"moment": at.moment, "item": at.item} if shown is not None and shown.key == memory.key else {}


def answering(measured: Iterable[str]) -> tuple[str, ...]:
    """The methods that answer where a measured picture is opened: the usual ones and those that were measured."""
    known = {*(method_and_memory(name)[0] for name in measured), *default_methods()}
    return tuple(name for name in DEFENCES if name in known)


def own_picture_request(session: Session, engine: Engine, one: StreamRun | None, history: MemoryTable) -> RunRequest:
    """The picture on screen among the class names of a memory, of a stream or, with None, of the visitor's own: it is in
    use from then on. The true class stays if the memory has it. Raises DemoError: no picture yet, or another model."""
    run = session.run
    if run is None:
        raise PictureError("There is no picture yet.", "Run one in the Story.")
    if one is not None:
        evaluation_page.check_model(engine, one.header)
    elif history.key != class_prompts_key(engine.info.name, history.names):
        raise SettingError("This memory belongs to another model.", "Choose that model in the menu above.")
    settings = run.settings.replace(protocol="stream", slots=history.moments[-1].slots)
    if history is not session.history:
        session.replace_history(history.with_moments(history.moments[-MAX_MOMENTS:]))
    name = run.class_prompts.names[run.label]
    label = history.names.index(name) if run.label_given and name in history.names else None
    title = "Your picture" if session.run_sample is None else SAMPLES[session.run_sample].title
    asked = run.clean.picture, history.names, settings, label, None, title, session.run_sample
    return RunRequest(*asked, methods=run.methods, selection=_shown_beside(session, history))


@lru_cache(maxsize=8)
def _shipped(folders: DataFolders, name: str) -> tuple[StreamTrajectory, MemoryTable]:
    """What a stored example measured and its memory, made once for all visitors."""
    one = evaluation_page.find_stream(folders, name)
    trajectory = evaluation_page.trajectory_of(one)
    return trajectory, stream_history(folders, one, trajectory, len(trajectory.pictures))


def replacing_item(history: MemoryTable) -> tuple[int, int] | None:
    """Class and slot of the latest view that is held and took another one's place; else of the latest that is held; None: of
    none."""
    taken = {
        (event.label, event.slot, moment.pictures - 1)
        for moment in history.moments
        for event in moment.events
        if event.replaced_born is not None
    }
    born = {(k, slot): int(history.born[row]) for k, slot, row in (history.held() if history.moments else ())}
    return max(reversed(born), key=lambda at: ((*at, born[at]) in taken, born[at]), default=None)


def _picture_title(n: int, name: str, attacked: bool) -> str:
    return f"picture {n + 1} of the stream, {name}{ATTACKED * attacked}"


def called(history: MemoryTable, row: int) -> tuple[str, bool]:
    """The file or the title of a stored view's picture, and whether it arrived attacked, also of an imported one."""
    title = re.sub(r"^[Pp]icture \d+ of (the stream, |a stream: )", "", history.picture[row])
    attacked = history.attacked[row]
    return title.removesuffix(ATTACKED), title.endswith(ATTACKED) if attacked is None else attacked


def _thumbnails(folders: DataFolders, one: StreamRun, views: Sequence[RememberedView]) -> dict[int, np.ndarray]:
    """Id of a view -> its crop, where the data folder has its picture."""
    chosen = sorted(views, key=lambda view: (view.left is None, view.id))[-MAX_THUMBNAILS:]
    boxes, found = evaluation_page.view_boxes(one, chosen), dict[int, np.ndarray]()
    for name, same in group_by(chosen, lambda view: view.name).items():
        with suppress(DemoError):
            pixels = evaluation_page.picture_of(folders, one, name).pixels
            found |= {view.id: small_crop(pixels, boxes[view.id]) for view in same}
    return found


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
