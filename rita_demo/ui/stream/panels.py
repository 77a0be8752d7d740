"""What the panels of the tab *Stream* show, each drawn from the session."""

import math
from collections.abc import Callable
from html import escape
from typing import Any

import gradio as gr

from rita_demo import plots
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.plots.figure import Figure
from rita_demo.records.measurement import AccuracySummary, StreamTrajectory
from rita_demo.ui.framework import notice
from rita_demo.ui.panels.figure_caption import with_caption
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table, table_row

MAX_THUMBNAILS = 8  # pictures shown as thumbnails
EMPTY_HTML = (
    "<p class='empty'>Accuracy and memory appear here, picture by picture. Press “Start the "
    "stream”, or open a stored run.</p>"
)
SUBSET_TEXT = {"all": "all pictures", "clean": "clean ones", "attacked": "attacked ones"}
SEPARATE_ATTACKER_TEXT = (
    "This attacker uses RITA’s memory. For CLIP and the other methods without that memory the same attack was made "
    "with an empty one: their attacked pictures differ from RITA’s."
)


def status(session: Session) -> str:
    """HTML: how far the stream is, how fast, and how long it may still take."""
    view = session.stream
    if view.trajectory is None or view.recording is None:
        return ""
    done, wanted = view.decided, view.trajectory.expected_pictures
    per_second, left = evaluation_page.throughput(view.trajectory)
    speed = f"{per_second:.2f} pictures per second of computing"
    if view.running and done < wanted:
        now = f"Picture {done} of {wanted}, {speed}, about {wording.format_seconds(left)} left"
        return notice.progress_html(now, done / wanted, 0)
    share = f"{done} of" if done < wanted else "All"
    return notice.done_html(f"{share} {wanted} pictures are decided, {speed}.")


def slider(session: Session) -> Any:
    view = session.stream
    value = max(view.shown_picture, 1)
    return gr.update(minimum=1, maximum=max(view.decided, 2), value=value, visible=view.decided > 1)


def buttons(session: Session) -> dict[str, Any]:
    """Which buttons are shown and enabled now, by name."""
    view = session.stream
    idle = view.unfinished and not view.running
    return {
        "start": gr.update(interactive=not view.running),
        "pause": gr.update(visible=view.running),
        "resume": gr.update(visible=idle),
        "step": gr.update(visible=idle),
        "cancel": gr.update(visible=view.unfinished),
        "inside": gr.update(visible=view.shown_picture > 0, value=f"Open picture {view.shown_picture} in Inside RITA"),
        "memory": gr.update(
            visible=view.shown_picture > 0, value=f"Open the memory before picture {view.shown_picture}"
        ),
        "export": gr.update(visible=view.shown_picture > 0),
    }


def heading(session: Session) -> str:
    """HTML: which stream, what its attacker may do and knows, and which picture is selected."""
    view = session.stream
    if view.recording is None or view.trajectory is None:
        return "<h3>No stream yet</h3>"
    facts = [*view.recording.header.get("threat_model", {}).get("sentences", ())]
    if view.recording.attack_uses_cache:
        facts.append(SEPARATE_ATTACKER_TEXT)
    items = "".join(f"<li>{escape(str(fact))}</li>" for fact in facts)
    return (
        f"<h3>{escape(view.recording.title)}</h3><p class='lead'>After picture {view.shown_picture} of "
        f"{view.trajectory.expected_pictures}.</p><details class='differs'><summary>What the attacker may do and "
        f"knows</summary><ul class='plain'>{items}</ul></details>"
    )


def accuracy_table(session: Session) -> str:
    """HTML: accuracy of every method up to the selected picture, with Wilson's 95 % interval and n."""
    view = session.stream
    if view.trajectory is None or not view.shown_picture:
        return EMPTY_HTML
    found = evaluation_page.accuracy_summaries(view.trajectory, view.shown_picture)
    parts = [p for p in SUBSET_TEXT if p == "all" or all(s.n for s in found if s.subset != "all")]
    rows = []
    for method, defence in DEFENCES.items():
        mine = {s.subset: s for s in found if s.method == method}
        if mine:
            cells = (_accuracy_cell(mine[p]) for p in parts)
            rows.append(table_row(wording.term_html(defence.title), *cells, css=method))
    columns = ("<span class='sr'>method</span>", *(SUBSET_TEXT[p] for p in parts))
    return (
        f"{html_table(columns, rows)}<p class='quiet small'>Right answers in percent; in "
        "brackets Wilson’s 95 % interval: with few pictures it is wide.</p>"
    )


def _accuracy_cell(one: AccuracySummary) -> str:
    if not one.n:
        return "<td>–</td>"
    return (
        f"<td class='answer'><b class='number'>{wording.percent(one.accuracy)}</b> "
        f"<small>({100 * one.low:.0f} to {100 * one.high:.0f} %), {one.right} of n = {one.n}</small></td>"
    )


def _figure(draw: Callable[[Session, StreamTrajectory, int], Figure]) -> Callable[[Session], Figure | None]:
    """``draw(session, trajectory, selected picture)`` with a caption; None before there is a stream."""

    def figure(session: Session) -> Figure | None:
        view = session.stream
        if view.recording is None or view.trajectory is None or not view.shown_picture:
            return None
        place = f"after picture {view.shown_picture} of {view.trajectory.expected_pictures}"
        drawn = draw(session, view.trajectory, view.shown_picture)
        return with_caption(drawn, f"Stream: {view.recording.title}; {place}")

    return figure


def _class_cache(session: Session, trajectory: StreamTrajectory, t: int) -> Figure:
    now, end = (evaluation_page.cache_stats_after(trajectory, at) for at in (t, len(trajectory.pictures)))
    return plots.class_cache(trajectory, now, end, selected_class(session))


def _timeline(session: Session, trajectory: StreamTrajectory, t: int) -> Figure:
    views = evaluation_page.remembered_views(trajectory, len(trajectory.pictures))
    return plots.class_timeline(trajectory, views, t, selected_class(session))


accuracy_figure = _figure(lambda _, trajectory, t: plots.running_accuracy(trajectory, t))
fill_and_purity = _figure(lambda _, trajectory, t: plots.cache_growth(trajectory, t))
insertions = _figure(lambda _, trajectory, t: plots.cache_insertions(trajectory, t))
class_cache = _figure(_class_cache)
class_timeline = _figure(_timeline)


def selected_class(session: Session) -> int | None:
    """The selected class as the stream numbers it; None if the stream does not have it."""
    trajectory = session.stream.trajectory
    return None if trajectory is None else session.selected_class_in(trajectory.names)


def cache_text(session: Session) -> str:
    """HTML: the cache after the selected picture in one sentence."""
    trajectory, t = session.stream.trajectory, session.stream.shown_picture
    if trajectory is None or not t:
        return ""
    held, purity = int(trajectory.cache_size[t - 1]), float(trajectory.purity[t - 1])
    pure = "" if math.isnan(purity) else f"; {wording.percent(purity)} of them come from a picture of that class"
    return (
        f"<p class='lead'>After picture {t} the {wording.term_html('memory (cache)')} holds {held} of "
        f"{trajectory.slots * len(trajectory.names)} views, each under the class it answered with{pure}.</p>"
    )


def thumbnails(session: Session, folders: DataFolders) -> str:
    """HTML: the last pictures up to the selected one, as buttons."""
    view, trajectory = session.stream, session.stream.trajectory
    if trajectory is None or not view.shown_picture:
        return ""
    buttons = ""
    for t in range(max(1, view.shown_picture - MAX_THUMBNAILS + 1), view.shown_picture + 1):
        answers = ""
        for method, defence in DEFENCES.items():
            answer = int(trajectory.answers.get(method, [-1] * t)[t - 1])
            if answer >= 0:
                mark = "✓" if trajectory.curves[method].right[t - 1] else "✗"
                answers += f"<small>{mark} {defence.title}: {escape(trajectory.names[answer])}</small>"
        src = view.thumbnail(folders, trajectory.pictures[t - 1])
        image = f'<img src="{src}" alt="" width="64" height="64">' if src else "<span class='blank'>?</span>"
        kind = "attacked" if trajectory.attacked[t - 1] else "clean"
        label = escape(trajectory.names[int(trajectory.label[t - 1])])
        buttons += (
            f'<button type="button" data-t="{t}" aria-pressed="{str(t == view.shown_picture).lower()}">{image}'
            f"<span><b>{t}. {label}</b><em class='{kind}'>{kind}</em>{answers}</span></button>"
        )
    return f"<div class='arrivals' role='group' aria-label='Pictures of the stream'>{buttons}</div>"
