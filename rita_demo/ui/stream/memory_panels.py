"""What the part *Stream* of *Memory* shows of its cache: every stored view, and the memory kept against off."""

from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.records.measurement import AnswerComparison, RememberedView, StreamTrajectory, method_and_memory
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.settings.setting import number_text
from rita_demo.ui.stream.panels import ShownStream, answers_at, picture_buttons
from rita_demo.ui.widgets.blocks import table

MAX_ROWS = 40  # of the list of stored views
MAX_CHANGED = 24  # pictures of the gallery
SIGNIFICANT = 0.05
RUNNING = "<p class='empty'>Listed when the stream pauses or ends.</p>"
OUTCOMES = [("only RITA is right", "rita"), ("only Ensemble is right", "ensemble"), ("all are wrong", "none")]
OUTCOME_TEXT = {"rita": "RITA alone is right", "ensemble": "Ensemble alone is right", "none": "No method is right"}
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


def remembered_table(shown: ShownStream) -> str:
    """HTML: one row per stored view at the selected moment, as chosen; its picture opens it in all tabs. The menu sorts and
    searches all of them, so that the page's script, which knows the listed ones only, leaves the table alone."""
    if shown.state.running:
        return RUNNING
    views = evaluation_page.remembered_views(shown.trajectory, shown.t)
    found = _chosen(shown, views)
    boxes = evaluation_page.view_boxes(shown.recording, found[:MAX_ROWS])
    rows = [_row(shown, views, view, boxes[view.id]) for view in found[:MAX_ROWS]]
    more = f" The first {MAX_ROWS} are listed: search for others." if len(found) > MAX_ROWS else ""
    title = f"After picture {shown.t}: {len(found)} of {len(views)} views that entered."
    if not found:
        return f"<p class='empty'>No view matches: {len(views)} entered until picture {shown.t}.</p>"
    columns = ("picture", "stored as", "true class, file", "entropy", "entered", "left")
    kinds = ["" if view.left is None else "gone" for view in found]
    return f"<p class='quiet small'>{title}{more}</p>{table(columns, rows, 'log ordered', title, kinds)}"


def _chosen(shown: ShownStream, views: tuple[RememberedView, ...]) -> list[RememberedView]:
    """The listed views that have every searched word, in the chosen order."""
    words = shown.state.search.casefold().split()
    wanted = {"held": (True,), "left": (False,)}.get(shown.state.listed, (True, False))
    found = [v for v in views if (v.left is None) in wanted and all(w in _text(shown, v) for w in words)]
    key = next((key for _, name, key in ORDERS if name == shown.state.order), ORDERS[0][2])
    return sorted(found, key=lambda view: key(shown.trajectory, view))


def _text(shown: ShownStream, view: RememberedView) -> str:
    names, right = shown.trajectory.names, "right" if view.truth == view.label else "wrong"
    return f"{names[view.label]} {names[view.truth]} {view.name} {right} {_kind(view)}".casefold()


def _kind(view: RememberedView) -> str:
    return "attacked" if view.attacked else "clean"


def _row(
    shown: ShownStream, views: tuple[RememberedView, ...], view: RememberedView, box: tuple[float, ...]
) -> list[str]:
    names, number, left = shown.trajectory.names, view.picture + 1, "held"
    entered = f"picture {number}, view {view.view}: "
    if view.replaced is None or view.gain is None:
        entered += "a place was free"
    else:
        gone = views[view.replaced]
        entered += f"{view.gain:.3f} nats lower than view {gone.view} of picture {gone.picture + 1}"
    if view.replaced_by is not None:
        after = views[view.replaced_by]
        left = f"at picture {after.picture + 1}, for its view {after.view} ({after.gain:.3f} nats lower)"
    title = f"Open picture {number} in all rooms"
    button = (
        f'<button type="button" data-picture="{number}" aria-label="{title}" title="{title}">'
        f"{_crop(shown, view, box)}</button>"
    )
    truth = Markup("{} {}<small>{}, {}</small>").format(
        "✓" if view.truth == view.label else "✗", names[view.truth], view.name, _kind(view)
    )
    stored_as = Markup("<b>{}</b>").format(names[view.label])
    return [Markup(button), stored_as, truth, f"{view.entropy:.3f} nats", entered, left]


def _crop(shown: ShownStream, view: RememberedView, box: tuple[float, ...]) -> str:
    """The small clean picture with the view's frame."""
    left, top, right, bottom = (100 * edge for edge in box)
    frame = f"left:{left:.1f}%;top:{top:.1f}%;width:{right - left:.1f}%;height:{bottom - top:.1f}%"
    return f'<span class="framed">{shown.image(view.name, 56)}<i style="{frame}"></i></span>'


# --- kept against off
def help_html(shown: ShownStream) -> str:
    """HTML: does the memory help, and the pictures that are answered differently without it."""
    found = evaluation_page.compare_answers(shown.recording, shown.t)
    if found is None:
        return "<p>RITA without memory was not measured in this run: start it again, and it is.</p>"
    # those that one side alone has right first
    order = sorted(found.different, key=lambda d: (d.label not in (d.first, d.second), d.label != d.first, d.picture))
    pictures = [(d.picture, [("with it", d.first), ("without", d.second)]) for d in order]
    gallery = _gallery(shown, pictures, "Pictures that are answered differently")
    if not found.different and no_class_holds_two(shown):
        text = "<b>It changes no answer, and cannot yet</b>: no class holds two views. Stream more pictures of fewer classes."
    else:
        text = _answer_text(found)
    return f"<p class='lead'>{text}</p>{gallery}"


def no_class_holds_two(shown: ShownStream) -> bool:
    """Then a class costs in the memory exactly what one without views costs, which is its mean prompt."""
    held = evaluation_page.classes_after(shown.trajectory, shown.t).values()
    return all(view.count < 2 for view in held) and shown.recording.header.requested_clean.empty_class == "text_mean"


def _answer_text(found: AnswerComparison) -> str:
    counts = (
        f"Right only with it: {found.gained}; right only without: {found.lost}; of {found.n} pictures (McNemar’s exact p "
        f"{number_text(float(f'{found.p_value:.2g}'))})."
    )
    if not found.different:
        same = "the one answer is" if found.n == 1 else f"all {found.n} answers are"
        return f"<b>It changes nothing</b>: {same} the same."
    if found.p_value >= SIGNIFICANT:
        return f"<b>Not shown by these pictures.</b> {counts}"
    return f"<b>{'Yes' if found.gained > found.lost else 'No, it harms'}.</b> {counts}"


def outcome_gallery(shown: ShownStream) -> str:
    """HTML: the pictures up to the selected one that only RITA has right, only Ensemble, or no method at all. RITA's own
    ablations do not count."""
    if shown.state.running:
        return RUNNING
    title, chosen = _outcome(shown)
    titles, found = _titles(shown), outcome_pictures(shown)
    count = f"{OUTCOME_TEXT[chosen]} on {len(found)} of {shown.t} pictures."
    return f"<p class='lead'>{count}</p>" + _gallery(shown, [(n, answers_at(shown, n, titles)) for n in found], title)


def outcome_pictures(shown: ShownStream) -> list[int]:
    """The pictures of that gallery, from 0."""
    chosen = _outcome(shown)[1]
    right = {name: shown.trajectory.curves[name].right[: shown.t] for name in _titles(shown)}
    others = [~passed for name, passed in right.items() if name != chosen]
    return np.flatnonzero(np.logical_and.reduce(others) & right.get(chosen, True)).tolist()


def outcome_csv(shown: ShownStream) -> bytes:
    """The same as a table, with every method's answer; pictures are numbered from 1."""
    trajectory, methods = shown.trajectory, _titles(shown)
    names = (*trajectory.names, "")  # the last one for no answer yet, -1
    rows = (
        [n + 1, trajectory.pictures[n], names[trajectory.label[n]], bool(trajectory.attacked[n])]
        + [names[trajectory.answers[method][n]] for method in methods]
        for n in outcome_pictures(shown)
    )
    return csv_bytes([("picture", "file", "true_class", "attacked", *methods), *rows])


def _outcome(shown: ShownStream) -> tuple[str, str]:
    return next((one for one in OUTCOMES if one[1] == shown.state.outcome), OUTCOMES[0])


def _titles(shown: ShownStream) -> dict[str, str]:
    """The methods that are compared, each with its memory kept if it has one."""
    titles = shown.trajectory.titles
    left_out = {name for name, one in DEFENCES.items() if one.ablation}
    return {n: title for n, title in titles.items() if n not in left_out and method_and_memory(n) == (n, "")}


def _gallery(shown: ShownStream, pictures: list[tuple[int, list[tuple[str, int]]]], about: str) -> str:
    """The first of some pictures, each with its answers."""
    more = len(pictures) - MAX_CHANGED
    rest = f"<p class='quiet small'>And {more} more.</p>" if more > 0 else ""
    return picture_buttons(shown, pictures[:MAX_CHANGED], about) + rest
