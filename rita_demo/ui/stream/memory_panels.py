"""What the tab *Stream* shows of its cache: every remembered view, and two memories against each other."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from html import escape
from typing import Any

import gradio as gr
import numpy as np

from rita_demo.defences.registry import DEFENCES, compared
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, StreamPicture, StreamRun
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.measurement import AnswerComparison, DifferentAnswer, RememberedView, StreamTrajectory
from rita_demo.ui.session.cache_history import CacheItem, CacheSnapshot, small_crop, snapshot_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table, table_row

MAX_ROWS = 40  # of the list of remembered views
MAX_CHANGED = 24  # pictures of the gallery
MAX_VIEWS = 12  # views that only one of two memories holds
SIGNIFICANT = 0.05
WITH = "with it"
RUNNING = "<p class='empty'>Listed when the stream pauses or ends.</p>"
OFF, MOMENT = "off", "after "  # values of the menu; others are names of stored streams
OUTCOMES = [("only RITA is right", "rita"), ("only Ensemble is right", "ensemble"), ("all are wrong", "none")]
LISTED = [("held now", "held"), ("gone again", "left"), ("all that entered", "all")]
#: title, name, key of a view
ORDERS: tuple[tuple[str, str, Callable[[StreamTrajectory, RememberedView], Any]], ...] = (
    ("class", "class", lambda trajectory, view: (trajectory.names[view.label], view.slot, view.id)),
    ("highest entropy", "entropy", lambda _, view: -view.entropy),
    ("latest", "entered", lambda _, view: -view.id),
    ("wrong class first", "wrong", lambda _, view: (view.truth == view.label, -view.id)),
    ("file", "file", lambda _, view: (view.name, view.view)),
    ("largest gain over the view that left", "gain", lambda _, view: -(view.gain or 0.0)),
)


def remembered_table(session: Session, folders: DataFolders) -> str:
    """HTML: one row per remembered view at the selected moment, as chosen; its picture opens it in all tabs."""
    trajectory, one = session.stream.trajectory, session.stream.recording
    if trajectory is None or one is None or not session.stream.shown_picture:
        return "<p class='empty'>Every remembered view is listed here once a stream was run.</p>"
    if session.stream.running:
        return RUNNING
    views = evaluation_page.remembered_views(trajectory, session.stream.shown_picture)
    found = _chosen(session, trajectory, views)
    shown = found[:MAX_ROWS]
    boxes = evaluation_page.view_boxes(one, shown)
    rows = [_row(session, folders, trajectory, views, view, boxes[view.id]) for view in shown]
    more = f" The first {MAX_ROWS} are listed: search for others." if len(found) > MAX_ROWS else ""
    title = f"After picture {session.stream.shown_picture}: {len(found)} of {len(views)} views that entered."
    table = html_table(("picture", "stored as", "true class, file", "entropy", "entered", "left"), rows, "log", title)
    return f"<p class='quiet small'>{title}{more}</p>{table if rows else ''}"


def _chosen(session: Session, trajectory: StreamTrajectory, views: Iterable[RememberedView]) -> list[RememberedView]:
    """The listed views that have every searched word, in the chosen order."""
    stream, words = session.stream, session.stream.search.casefold().split()
    wanted = {"held": (True,), "left": (False,)}.get(stream.listed, (True, False))
    found = [v for v in views if (v.left is None) in wanted and all(w in _text(trajectory, v) for w in words)]
    key = next((key for _, name, key in ORDERS if name == stream.order), ORDERS[0][2])
    return sorted(found, key=lambda view: key(trajectory, view))


def _text(trajectory: StreamTrajectory, view: RememberedView) -> str:
    right = "right" if view.truth == view.label else "wrong"
    kind = "attacked" if view.attacked else "clean"
    return f"{trajectory.names[view.label]} {trajectory.names[view.truth]} {view.name} {right} {kind}".casefold()


def _row(
    session: Session,
    folders: DataFolders,
    trajectory: StreamTrajectory,
    views: tuple[RememberedView, ...],
    view: RememberedView,
    box: tuple[float, ...],
) -> str:
    names, number = trajectory.names, view.picture + 1
    mark = "✓" if view.truth == view.label else "✗"
    entered = f"picture {number}, view {view.view}: "
    if view.replaced is None or view.gain is None:
        entered += "a place was free"
    else:
        gone = views[view.replaced]
        entered += f"{view.gain:.3f} nats lower than view {gone.view} of picture {gone.picture + 1}"
    left = "held"
    if view.replaced_by is not None:
        after = views[view.replaced_by]
        left = f"at picture {after.picture + 1}, for its view {after.view} ({after.gain:.3f} nats lower)"
    kind = "attacked" if view.attacked else "clean"
    button = (
        f'<button type="button" data-t="{number}" aria-label="Open picture {number} in all tabs" '
        f'title="Open picture {number} in all tabs">{_crop(session, folders, view, box)}</button>'
    )
    truth = f"{mark} {escape(names[view.truth])}<small>{escape(view.name)}, {kind}</small>"
    cells = (f"<b>{escape(names[view.label])}</b>", truth, f"{view.entropy:.3f} nats", entered, left)
    return table_row(button, *cells, css="" if view.left is None else "gone")


def _crop(session: Session, folders: DataFolders, view: RememberedView, box: tuple[float, ...]) -> str:
    """The small clean picture with the view's frame."""
    src = session.stream.thumbnail(folders, view.name)
    if not src:
        return "<span class='blank'>?</span>"
    left, top, right, bottom = (100 * edge for edge in box)
    frame = f"left:{left:.1f}%;top:{top:.1f}%;width:{right - left:.1f}%;height:{bottom - top:.1f}%"
    return f'<span class="framed"><img src="{src}" alt="" width="56" height="56"><i style="{frame}"></i></span>'


def snapshot_before(session: Session, folders: DataFolders, met: StreamPicture, t: int) -> CacheSnapshot:
    """The cache before picture ``t`` of the stream on screen; its items know their picture, true class and crop."""
    trajectory, one = session.stream.trajectory, session.stream.recording
    assert trajectory is not None, "a picture of it is open"
    assert one is not None, "a picture of it is open"
    snapshot = snapshot_of(met.cache, met.names, None, None)
    views = [v for v in evaluation_page.remembered_views(trajectory, t - 1) if v.left is None]
    boxes, by_place = evaluation_page.view_boxes(one, views), {(v.label, v.slot): v for v in views}
    squares: dict[str, np.ndarray | None] = {}
    items: dict[int, tuple[CacheItem, ...]] = {}
    for k, found in snapshot.items_by_class.items():
        for slot, item in enumerate(found):
            view = by_place[k, slot]
            if view.name not in squares:
                squares[view.name] = _square(folders, one, view.name)
            pixels = squares[view.name]
            crop = None if pixels is None else small_crop(pixels, boxes[view.id])
            title = f"picture {view.picture + 1} of the stream, {view.name}{', attacked' if view.attacked else ''}"
            known = replace(item, thumbnail=crop, picture=title, truth=met.names[view.truth])
            items[k] = (*items.get(k, ()), known)
    return replace(snapshot, items_by_class=items)


def _square(folders: DataFolders, one: StreamRun, name: str) -> np.ndarray | None:
    try:
        return evaluation_page.picture_of(folders, one, name).pixels
    except DemoError:
        return None


# --- compared
def other_choices(session: Session, folders: DataFolders) -> Any:
    """The menu of what the stream is compared with."""
    stream = session.stream
    if stream.recording is None:
        return gr.update(choices=[("its memory off", OFF)], value=OFF)
    choices = [("its memory off", OFF)]
    last = stream.shown_picture
    choices += [
        (f"its own memory after picture {n}", f"{MOMENT}{n}")
        for n in sorted({last // 4, last // 2, 3 * last // 4})
        if 0 < n < last
    ]
    choices += [(one.title, one.name) for one in _comparable(folders, stream.recording)]
    if stream.other not in {value for _, value in choices}:
        choices.append((_moment_title(stream.other), stream.other))
    return gr.update(choices=choices, value=stream.other)


def _moment_title(other: str) -> str:
    return f"its own memory {other.replace(MOMENT, 'after picture ')}"


def _comparable(folders: DataFolders, one: StreamRun) -> list[StreamRun]:
    """Other stored streams of the same classes and model."""
    same = ("names", "weights")
    return [
        other
        for other in evaluation_page.stream_runs(folders.runs)
        if other.name != one.name and all(other.header[n] == one.header[n] for n in same)
    ]


def parse_other(session: Session, folders: DataFolders, value: Any) -> str:
    """What an untrusted value of the menu names.

    Raises:
        DataError: it is none of the menu's.
    """
    stream = session.stream
    if value == OFF:
        return OFF
    if isinstance(value, str) and stream.recording is not None:
        moment = value.removeprefix(MOMENT)
        if value.startswith(MOMENT) and moment.isdecimal() and 0 < int(moment) <= stream.decided:
            return value
        if any(one.name == value for one in _comparable(folders, stream.recording)):
            return value
    raise DataError("There is nothing of that name to compare with.", "Choose one from the menu.")


def help_html(session: Session, folders: DataFolders) -> str:
    """HTML: does the memory help, and the pictures that are answered differently."""
    stream, t = session.stream, session.stream.shown_picture
    one, trajectory = stream.recording, stream.trajectory
    if one is None or trajectory is None or not t:
        return "<p class='empty'>Answered once a stream runs: the same pictures with the memory and without.</p>"
    if stream.other.startswith(MOMENT):
        return "<p class='quiet small'>Two moments of one stream: what it held at each is in the fold below.</p>"
    other = one if stream.other == OFF else _other_run(folders, stream.other)
    method = evaluation_page.WITHOUT_CACHE if stream.other == OFF else "rita"
    found = evaluation_page.compare_answers(one, other, method, t)
    if found is None:
        missing = "RITA without memory was not measured in this run: start it again with “RITA, prompts only”."
        return f"<p>{missing if stream.other == OFF else 'The two runs share no picture attacked alike.'}</p>"
    first, second = (WITH, "without") if stream.other == OFF else ("in this run", "in the other")
    return f"<p class='lead'>{_answer_text(found, first, second)}</p>" + _gallery(
        session, folders, trajectory, found.different, first, second
    )


def _answer_text(found: AnswerComparison, first: str, second: str) -> str:
    counts = (
        f"Right only {first}: {found.gained}; right only {second}: {found.lost}; of {found.n} pictures (McNemar’s exact p "
        f"{found.p_value:.2g})."
    )
    if not found.different:
        return f"<b>It changes nothing</b>: all {found.n} answers are the same."
    if found.p_value >= SIGNIFICANT:
        return f"<b>Not shown by these pictures.</b> {counts}"
    better = found.gained > found.lost
    if first != WITH:
        return f"<b>This run is {'better' if better else 'worse'}.</b> {counts}"
    return f"<b>{'Yes' if better else 'No, it harms'}.</b> {counts}"


def outcome_gallery(session: Session, folders: DataFolders) -> str:
    """HTML: the pictures up to the selected one that only RITA has right, only Ensemble, or no method at all. RITA's own ablations
    do not count."""
    trajectory, t = session.stream.trajectory, session.stream.shown_picture
    if trajectory is None or not t:
        return "<p class='empty'>Listed once a stream runs.</p>"
    if session.stream.running:
        return RUNNING
    title, chosen = next((one for one in OUTCOMES if one[1] == session.stream.outcome), OUTCOMES[0])
    right = {name: curve.right[:t] for name, curve in trajectory.curves.items() if name in compared()}
    others = [~passed for name, passed in right.items() if name != chosen]
    here = np.logical_and.reduce(others) & right.get(chosen, True)
    shown = np.flatnonzero(here)
    pictures = [
        (
            n,
            trajectory.pictures[n],
            int(trajectory.label[n]),
            [(DEFENCES[name].title, int(trajectory.answers[name][n])) for name in right],
        )
        for n in shown[:MAX_CHANGED].tolist()
    ]
    count = f"{len(shown)} of {t} pictures: {title}, of {', '.join(DEFENCES[name].title for name in right)}."
    return f"<p class='lead'>{escape(count)}</p>" + _pictures(session, folders, trajectory, pictures, len(shown), title)


def _gallery(
    session: Session,
    folders: DataFolders,
    trajectory: StreamTrajectory,
    different: tuple[DifferentAnswer, ...],
    first: str,
    second: str,
) -> str:
    """The pictures with two answers: those that one side alone has right first."""
    order = sorted(different, key=lambda d: (d.label not in (d.first, d.second), d.label != d.first, d.picture))
    pictures = [(d.picture, d.name, d.label, [(first, d.first), (second, d.second)]) for d in order[:MAX_CHANGED]]
    about = "Pictures that are answered differently"
    return _pictures(session, folders, trajectory, pictures, len(different), about)


def _pictures(
    session: Session,
    folders: DataFolders,
    trajectory: StreamTrajectory,
    pictures: list[tuple[int, str, int, list[tuple[str, int]]]],
    count: int,
    about: str,
) -> str:
    """Buttons with the picture's number, its true class, and every named answer; ``count`` of them there are in all."""
    buttons = ""
    for n, name, label, answers in pictures:
        src = session.stream.thumbnail(folders, name)
        image = f'<img src="{src}" alt="" width="64" height="64">' if src else "<span class='blank'>?</span>"
        lines = "".join(
            f"<small>{'✓' if k == label else '✗'} {title}: {escape(trajectory.names[k])}</small>"
            for title, k in answers
        )
        buttons += (
            f'<button type="button" data-t="{n + 1}">{image}<span><b>{n + 1}. {escape(trajectory.names[label])}</b>'
            f"{lines}</span></button>"
        )
    rest = f"<p class='quiet small'>And {count - len(pictures)} more.</p>" if count > len(pictures) else ""
    return f"<div class='arrivals' role='group' aria-label='{about}'>{buttons}</div>{rest}" if buttons else ""


def contents_html(session: Session, folders: DataFolders) -> str:
    """HTML: what the two memories hold, side by side."""
    stream, t = session.stream, session.stream.shown_picture
    if stream.recording is None or stream.trajectory is None or not t:
        return "<p class='empty'>Drawn once a stream was run.</p>"
    if stream.running:
        return RUNNING
    if stream.other == OFF:
        return "<p>Without a memory nothing is held: choose another moment or run above.</p>"
    other, trajectory = stream.recording, stream.trajectory
    here, title = f"this memory after picture {t}", "the other memory"
    if stream.other.startswith(MOMENT):
        until = int(stream.other.removeprefix(MOMENT))
        there, title = trajectory, _moment_title(stream.other)
    else:
        other = _other_run(folders, stream.other)
        there = evaluation_page.trajectory_of(other)
        until = min(t, len(there.pictures))
        title = f"{other.title}, after picture {until}"
    views = evaluation_page.remembered_views(trajectory, t), evaluation_page.remembered_views(there, until)
    found = evaluation_page.compare_caches(*views)
    counts = [len(found.both) + len(only) for only in (found.only_first, found.only_second)]
    rows = (
        table_row("views held", *map(str, counts)),
        table_row("under their true class", *map(_percent, found.purity)),
        table_row("mean entropy", *("–" if math.isnan(v) else f"{v:.3f} nats" for v in found.entropy)),
        table_row("only here", *(str(len(only)) for only in (found.only_first, found.only_second))),
    )
    table = html_table(("", here, escape(title)), rows, "log", "Two memories")
    lists = "".join(
        f"<h3>Only in {escape(name)}</h3>{_views_html(session, folders, trajectory, run, only)}"
        for name, run, only in ((here, stream.recording, found.only_first), (title, other, found.only_second))
    )
    return f"<p class='lead'>{wording.view_count(len(found.both))} in both.</p>{table}{lists}"


def _views_html(
    session: Session,
    folders: DataFolders,
    trajectory: StreamTrajectory,
    one: StreamRun,
    views: tuple[RememberedView, ...],
) -> str:
    """The first of some remembered views as pictures; names of classes are those of both streams."""
    boxes = evaluation_page.view_boxes(one, views[:MAX_VIEWS])
    found = ""
    for view in views[:MAX_VIEWS]:
        mark = "✓" if view.truth == view.label else "✗"
        found += (
            f"<span>{_crop(session, folders, view, boxes[view.id])}<span><b>{escape(trajectory.names[view.label])}</b>"
            f"<small>{mark} {escape(trajectory.names[view.truth])}</small><small>{view.entropy:.2f} nats</small>"
            "</span></span>"
        )
    more = len(views) - MAX_VIEWS
    rest = f"<p class='quiet small'>And {wording.view_count(more)} more.</p>" if more > 0 else ""
    return f"<div class='arrivals views'>{found}</div>{rest}" if found else "<p class='quiet small'>None.</p>"


def _other_run(folders: DataFolders, name: str) -> StreamRun:
    return evaluation_page.find_stream_run(folders.runs, name)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else wording.percent(share)
