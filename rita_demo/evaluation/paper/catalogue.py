"""Every figure of the paper by name, those that are drawn from measured runs, and what became of RITA's memory in the
measured streams: figures of the longest, and a table of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rita_demo import figures
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report import measured
from rita_demo.evaluation.report.cells import points_of, run_times
from rita_demo.evaluation.report.measured import ABLATIONS
from rita_demo.evaluation.report.paper_table import CAPTION, PaperTable
from rita_demo.evaluation.report.render import as_files
from rita_demo.evaluation.stored_views import streams_of
from rita_demo.evaluation.stream_trajectory import WITHOUT_CACHE, remembered_views, trajectory_of
from rita_demo.evaluation.streams import StreamRun, traffic_words
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped
from rita_demo.figures.stream import stream_accuracy
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError, did_you_mean
from rita_demo.records.measurement import AblationPoint, AccuracyChart, StreamTrajectory
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.settings.models import NOT_ZERO_SHOT

if TYPE_CHECKING:
    from pandas import DataFrame

CLOUD, OVERVIEW, KL = "feature-cloud", "method-overview", "kl-to-one-hot"
STEPS, BACKBONES, TIMES = "budget-by-steps", "backbones", "run-time"
ABLATION, TABLE = "ablation-", "accuracies"
#: Not the paper's: what became of the memory in the measured streams.
STREAM_FIGURES = ("stream-accuracy", "memory-purity", "memory-entropy", "memory-timeline")
MEMORY_TABLE = "memory-streams"
OF_STREAMS = (*STREAM_FIGURES, MEMORY_TABLE)
INTERVALS = "Bars: Wilson's 95 % intervals."
MAX_DRAWN = 4  # streams with figures of their own
HEAD = (
    *("stream", "pictures", "views held", "entered", "under their true class, %", "mean entropy, nats"),
    *("RITA right", "RITA right without memory"),
)
#: What a figure shows, how it is drawn, and its height in pixels.
Drawing = Callable[[StreamTrajectory], Figure]
DRAWN: tuple[tuple[str, Drawing, int], ...] = (
    ("Accuracy after every picture", stream_accuracy, 400),
    (
        "Share of the memory's places that hold a view, and share of the views held that are under their true class",
        lambda s: figures.cache_growth(s, len(s.pictures)),
        340,
    ),
    (
        "Entropy of every view that entered the memory, and the mean of the views held",
        lambda s: figures.cache_insertions(s, len(s.pictures)),
        340,
    ),
    (
        "When each view was held, by the class that it is stored under",
        lambda s: figures.class_timeline(s, remembered_views(s, len(s.pictures)), len(s.pictures)),
        480,
    ),
)


@dataclass(frozen=True)
class Item:
    """A figure or a table; with neither, nothing was measured for it.

    ``text``: what a figure shows and its settings, the title of a table, or what to measure. ``height`` of a figure in
    pixels on the page. ``files``: ending -> content, of a table.
    """

    name: str
    text: str
    figure: Figure | None = None
    height: int = 420
    files: dict[str, str] = field(default_factory=dict)


def names() -> tuple[str, ...]:
    """The names of the paper's figures, and of the table."""
    return (CLOUD, OVERVIEW, KL, STEPS, BACKBONES, TIMES, *map(ablation_name, ABLATIONS), TABLE)


def ablation_name(setting: str) -> str:
    """The name of the figure of RITA by one setting, such as ``ablation-cache-weight``."""
    return ABLATION + slug(setting)


def checked(wanted: Iterable[str]) -> tuple[str, ...]:
    """The names. Raises DataError: one of them is neither of :func:`names` nor of ``OF_STREAMS``."""
    known, stripped = (*names(), *OF_STREAMS), tuple(name.strip() for name in wanted)
    for name in stripped:
        if name.startswith("table-"):
            raise DataError(f"{name[:60]} is a table of the paper.", "reproduce --table measures and compares it.")
        if name not in known:
            raise DataError(
                f"There is no figure or table {name[:60]!r}.", did_you_mean(name, known) or ", ".join(known)
            )
    return stripped


def measured_items(table: DataFrame) -> Iterator[Item]:
    """The steps by budget, the backbones, the run times, the ablations, and the table of all accuracies."""
    points = points_of(table)
    steps, backbones = measured.budget_by_steps(points), measured.by_backbone(points)
    yield from _bars(STEPS, steps, "steps of the prompt update", "--sweep tuning_steps=0,1,2 --budget 1,2,4")
    yield from _bars(BACKBONES, backbones, "methods", "--methods clip,ensemble,rita")
    yield _run_times(table)
    mine = [point for point in points if point.cell.method == "rita"]
    yield from (_ablation(setting, mine) for setting in ABLATIONS)
    made = PaperTable(table)
    yield Item(TABLE, CAPTION, files={"md": made.markdown(), "csv": made.csv(), "tex": made.latex()})


def _bars(name: str, charts: Sequence[AccuracyChart], what: str, hint: str) -> Iterator[Item]:
    if not charts:
        yield Item(name, f"No run was measured for it: evaluate {hint}.")
    for chart in charts:
        cells = [cell for row in chart.series.values() for cell in row if cell is not None]
        measured_on = f"{_measured_on(cells, memory=False)} {chart.left_out_text}".rstrip()
        caption = f"Accuracy of {what} by {chart.axis}; {chart.description}. {measured_on}"
        own = f"{name}-{slug(chart.description)}" if len(charts) > 1 else name
        yield Item(own, caption, figures.grouped_accuracy(chart, ""))


def _run_times(table: DataFrame) -> Item:
    backbone = Counter(table["backbone"]).most_common(1)[0][0]
    mine = table[table["backbone"] == backbone]
    times, places = run_times(mine), ", ".join(dict.fromkeys(mine["dataset"] + " (" + mine["split"] + ")"))
    several = len({row.view_count for row in times}) > 1  # then two bars are of different work
    counts = ", ".join(f"{row.title or row.method} {row.n}" + f" of {row.view_count} views" * several for row in times)
    caption = "Median seconds per picture, views and method, without the attack; "
    caption += f"{backbone}, {places}; pictures: {counts}."
    return Item(TIMES, caption, figures.run_times(times, f"{backbone}, seconds per picture"), 360)


def _ablation(setting: str, points: Sequence[AblationPoint]) -> Item:
    name, values = ablation_name(setting), ",".join(f"{value:g}" for value in ABLATIONS[setting])
    if not (lines := measured.sweeps(points, setting)):
        return Item(name, f"No run varies it: evaluate --sweep {setting}={values}.")
    title = SETTINGS[setting].label
    figure = figures.sweep_lines(lines, title, recommended=getattr(RECOMMENDED, setting))
    about = f"RITA's accuracy by {title[0].lower()}{title[1:]} ({setting}), all other settings alike."
    return Item(name, f"{about} {_measured_on(cell for line in lines for cell in line.cells)}", figure, 480)


def _measured_on(cells: Iterable[MeasuredCell], *, memory: bool = True) -> str:
    """Data, model, numbers of pictures and what the model has seen, as sentences; ``memory``: with what became of it, where
    the figure does not say it itself."""
    cells = list(cells)
    places = ", ".join(dict.fromkeys(f"{cell.dataset} ({cell.split})" for cell in cells))
    models = ", ".join(dict.fromkeys(cell.backbone for cell in cells))
    steps = (f", {cell.steps} steps" if cell.budget else "" for cell in cells)
    attacks = ", ".join(dict.fromkeys(cell.attack_text + text for cell, text in zip(cells, steps)))
    counts = sorted({cell.n for cell in cells})
    n = f"n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "")
    seen = f" {NOT_ZERO_SHOT}" if any(cell.backbone.startswith("embedded") for cell in cells) else ""
    using = (cell.protocol_text for cell in cells if cell.method in DEFENCES and DEFENCES[cell.method].uses_cache)
    kept = "".join(f", {text}" for text in dict.fromkeys(using)) if memory else ""
    return f"{places}, {models}, {attacks}, {n}{kept}. {INTERVALS}{seen}"


def slug(text: str) -> str:
    """Words with hyphens between them."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def longest_streams(folders: Sequence[Path]) -> list[StreamRun]:
    """The streams in the run folders, the longest first."""
    return sorted(streams_of(folders), key=lambda stream: -stream.decided)


def memory_items(folders: Sequence[Path]) -> Iterator[Item]:
    """The figures of the longest streams in the run folders, and the table of all. With several streams the figures are
    numbered, and the captions say which stream it is."""
    import pandas

    courses = [(stream, trajectory_of(stream)) for stream in longest_streams(folders)]
    if not courses:
        text = "No stream was measured: evaluate --methods rita --protocols stream."
        yield from (Item(name, text) for name in (*STREAM_FIGURES, MEMORY_TABLE))
        return
    for name, (shows, draw, height) in zip(STREAM_FIGURES, DRAWN, strict=True):
        for number, (stream, course) in enumerate(courses[:MAX_DRAWN], 1):
            figure, c = draw(course), stream.columns
            about = f"{c['dataset']} {c['split']}, {len(course.pictures)} pictures, {traffic_words(c)}, seed "
            about += f"{stream.header.facts['seed']}, {c['backbone']}"
            figure.meta["below"] = escaped(about)  # printed, a figure is apart from its caption
            seen = f" {NOT_ZERO_SHOT}" if str(c["backbone"]).startswith("embedded") else ""
            text = f"{shows}. {stream.title}.{seen}"
            yield Item(f"{name}-{number}" if len(courses) > 1 else name, text, figure, height)
    more = f"; the {MAX_DRAWN} longest have figures" if len(courses) > MAX_DRAWN else ""
    rows = []
    for stream, course in courses:
        n, right = len(course.pictures), {name: int(curve.right.sum()) for name, curve in course.curves.items()}
        held, purity, entropy = int(course.cache_size[-1]), course.purity[-1], course.mean_entropy[-1]
        memory = (f"{100 * purity:.1f}", f"{entropy:.3f}") if held else ("–", "–")
        without = f"{right[WITHOUT_CACHE]} of {n}" if WITHOUT_CACHE in right else "–"
        entered = str(len(course.insertions))
        rows.append((stream.title, str(n), str(held), entered, *memory, f"{right['rita']} of {n}", without))
    files = as_files(pandas.DataFrame(rows, columns=list(HEAD)))
    yield Item(MEMORY_TABLE, f"The memory at the end of every stream{more}", files=files)
