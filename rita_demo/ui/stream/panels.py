"""What the panels of the part *Stream* of *Memory* show of a stream, each drawn from :class:`ShownStream`."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import gradio as gr
from markupsafe import Markup, escape

from rita_demo import plots
from rita_demo.data.datasets import DATASETS
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, StreamRun
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.plots.figure import Figure
from rita_demo.plots.memory.stream import MAX_CLASSES
from rita_demo.process.templates import html
from rita_demo.process.time_left import LONGER
from rita_demo.records.measurement import AccuracySummary, StreamTrajectory
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.panels.figure_caption import with_caption
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.stream_state import StreamState
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.data_uri import blank_html

MAX_THUMBNAILS = 8  # pictures shown as thumbnails
SUBSET_TEXT = {"all": "all pictures", "clean": "clean ones", "attacked": "attacked ones"}
SEPARATE_ATTACKER_TEXT = (
    "This attacker uses RITA’s memory. For CLIP and the other methods without that memory the same attack was made "
    "with an empty one: their attacked pictures differ from RITA’s."
)


@dataclass(frozen=True)
class ShownStream:
    """The stream on screen up to picture ``t``, from 1. ``selected_class``: the selected class as the stream numbers it;
    None if the stream does not have it."""

    state: StreamState
    folders: DataFolders
    recording: StreamRun
    trajectory: StreamTrajectory
    t: int
    selected_class: int | None

    def image(self, picture: str, side: int) -> str:
        """HTML: the small clean picture; "" if its file is not here."""
        src = self.state.thumbnail(self.folders, picture)
        return Markup(f'<img src="{src}" alt="" width="{side}" height="{side}">' if src else "")

    def captioned(self, figure: Figure) -> Figure:
        """A figure with the stream and the selected picture below it when it is saved."""
        place = f"after picture {self.t} of {self.trajectory.expected_pictures}"
        return with_caption(figure, f"Stream: {self.recording.title}; {place}")


def shown_stream(session: Session, folders: DataFolders) -> ShownStream | None:
    """What a visitor sees; None before a stream has a picture."""
    state = session.stream
    if state.recording is None or state.trajectory is None or not state.shown_picture:
        return None
    k = session.selected_class_in(state.trajectory.names)
    return ShownStream(state, folders, state.recording, state.trajectory, state.shown_picture, k)


def says(shown: ShownStream) -> str:
    """HTML: what is on screen, and what it says, in two sentences with numbers."""
    run, trajectory, t = shown.recording, shown.trajectory, shown.t
    mark = wording.STORED_MARK if run.stored else ""
    attacked = int(trajectory.attacked[:t].sum())
    dataset = str(run.columns["dataset"]).removesuffix(PRESENT_SUFFIX)
    title = DATASETS[dataset].title if dataset in DATASETS else dataset
    what = (
        f"{t} pictures of {title}, {attacked or 'none'} of them attacked, decided one after the other among "
        f"{len(trajectory.names)} class names."
    )
    right = {method: int(curve.right[:t].sum()) for method, curve in trajectory.curves.items()}
    found = f"RITA has {right['rita']} right with its memory"
    if evaluation_page.WITHOUT_CACHE in right:
        compared = evaluation_page.compare_answers(run, t)
        changed = 0 if compared is None else len(compared.different)
        answers = f"{changed or 'no'} answer{'s' * (changed != 1)}"
        found += f" and {right[evaluation_page.WITHOUT_CACHE]} without it: the memory changed {answers}"
    if "clip" in right:
        found += f". CLIP alone has {right['clip']} right"
    return f"<p class='says'>{mark}{escape(what)} {escape(found)}.</p>"


def status(shown: ShownStream) -> str:
    """HTML: how far the stream is, how fast, and how long it may still take."""
    done, wanted = shown.state.decided, shown.trajectory.expected_pictures
    per_second, left = evaluation_page.throughput(shown.trajectory)
    speed = f"{per_second:.2f} pictures per second of computing"
    if shown.state.running and done < wanted:
        said = shown.state.time_left.limit(left)
        now = f"Picture {done} of {wanted}, {speed}, {LONGER if said is None else f'about {said} s left'}"
        return notice.progress_html(now, done / wanted)
    share = f"{done} of" if done < wanted else "All"
    return notice.done_html(f"{share} {wanted} pictures are decided, {speed}.")


def slider(session: Session) -> PanelValue:
    state = session.stream
    value, last = max(state.shown_picture, 1), max(state.decided, 2)
    return gr.update(minimum=1, maximum=last, value=value, visible=state.decided > 1)


def heading(shown: ShownStream) -> str:
    """HTML: which stream, what its attacker may do and knows, and which picture is selected."""
    facts, recording = [*shown.recording.header.threat_model.get("sentences", ())], shown.recording
    facts += [SEPARATE_ATTACKER_TEXT] * recording.attack_uses_cache
    return html("stream", recording=recording, t=shown.t, expected=shown.trajectory.expected_pictures, facts=facts)


def accuracy_table(shown: ShownStream) -> str:
    """HTML: accuracy of every method up to the selected picture, with Wilson's 95 % interval and n."""
    found = evaluation_page.accuracy_summaries(shown.trajectory, shown.t)
    parts = [p for p in SUBSET_TEXT if p == "all" or all(s.n for s in found if s.subset != "all")]
    rows, titles = [], shown.trajectory.titles
    for method, title in titles.items():
        mine = {s.subset: s for s in found if s.method == method}
        name = wording.term_html(title) if method in DEFENCES else title
        rows.append((name, *(_accuracy_cell(mine[p]) for p in parts)))
    columns = (Markup("<span class='sr'>method</span>"), *(SUBSET_TEXT[p] for p in parts))
    kinds = [method if method in DEFENCES else "" for method in titles]
    decided = {s.method: s.n for s in found if s.subset == "all"}
    fewer = [escape(titles[method]) for method, n in decided.items() if n < decided["rita"]]
    missing = f" {', '.join(fewer)} has no answer to some pictures: they are not counted." if fewer else ""
    return (
        f"{table(columns, rows, kinds=kinds)}<p class='quiet small'>Right answers in percent; in brackets Wilson’s 95 % interval, "
        f"which is wide with few pictures.{missing}</p>"
    )


def _accuracy_cell(one: AccuracySummary) -> str:
    if not one.n:
        return "–"
    return Markup(
        f"<b class='number'>{wording.percent(one.accuracy)}</b> "
        f"<small>({100 * one.low:.0f} to {100 * one.high:.0f} %), {one.right} of n = {one.n}</small>"
    )


def class_cache(shown: ShownStream) -> Figure:
    trajectory = shown.trajectory
    now, end = (evaluation_page.classes_after(trajectory, at) for at in (shown.t, len(trajectory.pictures)))
    return plots.class_cache(trajectory, now, end, shown.selected_class)


def class_cache_note(shown: ShownStream) -> str:
    """HTML: how many classes the figure leaves out."""
    held = len(evaluation_page.classes_after(shown.trajectory, len(shown.trajectory.pictures)))
    said = f"{MAX_CLASSES} of {held} classes; the table of every stored view lists all."
    return f"<p class='quiet small'>{said}</p>" if held > MAX_CLASSES else ""


def class_timeline(shown: ShownStream) -> Figure:
    views = evaluation_page.remembered_views(shown.trajectory, len(shown.trajectory.pictures))
    return plots.class_timeline(shown.trajectory, views, shown.t, shown.selected_class)


def cache_text(shown: ShownStream) -> str:
    """HTML: the cache after the selected picture in one sentence."""
    trajectory = shown.trajectory
    count, purity = int(trajectory.cache_size[shown.t - 1]), float(trajectory.purity[shown.t - 1])
    pure = "" if math.isnan(purity) else f"; {wording.percent(purity)} of them come from a picture of that class"
    return (
        f"<p class='lead'>After picture {shown.t} the {wording.term_html('memory (cache)')} holds {count} of "
        f"{trajectory.slots * len(trajectory.names)} views, each under the class it answered with{pure}.</p>"
    )


def latest_pictures(shown: ShownStream) -> str:
    """HTML: the last pictures up to the selected one, as buttons, with every method's answer."""
    methods = shown.trajectory.titles
    numbers = range(max(0, shown.t - MAX_THUMBNAILS), shown.t)
    return picture_buttons(shown, ((n, answers_at(shown, n, methods)) for n in numbers), "Pictures of the stream")


def answers_at(shown: ShownStream, n: int, titles: dict[str, str]) -> list[tuple[str, int]]:
    """Title and answer of the methods that have one to picture ``n``, from 0."""
    answers = shown.trajectory.answers
    return [(titles[name], int(answers[name][n])) for name in titles if name in answers and answers[name][n] >= 0]


def picture_buttons(shown: ShownStream, pictures: Iterable[tuple[int, list[tuple[str, int]]]], about: str) -> str:
    """HTML: buttons with a picture's number, its true class and every (title, answer); pictures are numbered from 0."""
    of, found = shown.trajectory, []
    for n, answers in pictures:
        image = shown.image(of.pictures[n], 64) or blank_html(of.pictures[n])
        found.append((n, int(of.label[n]), of.attacked[n], image, answers))
    return html("arrivals", about=about, pictures=found, shown=shown.t, names=of.names) if found else ""
