"""Every figure of the paper by name, and those that are drawn from measured runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rita_demo import figures
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report import measured
from rita_demo.evaluation.report.cells import points_of, run_times
from rita_demo.evaluation.report.measured import ABLATIONS
from rita_demo.evaluation.report.paper_table import CAPTION, PaperTable
from rita_demo.figures.figure import Figure
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError, did_you_mean
from rita_demo.records.measurement import AblationPoint, AccuracyChart
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

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
    known, found = (*names(), *OF_STREAMS), tuple(name.strip() for name in wanted)
    for name in found:
        if name.startswith("table-"):
            raise DataError(f"{name[:60]} is a table of the paper.", "reproduce --table measures and compares it.")
        if name not in known:
            raise DataError(
                f"There is no figure or table {name[:60]!r}.", did_you_mean(name, known) or ", ".join(known)
            )
    return found


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
        caption = f"Accuracy of {what} by {chart.axis}; {chart.description}. {_measured_on(cells, memory=False)} {chart.left_out_text}".rstrip()
        own = f"{name}-{slug(chart.description)}" if len(charts) > 1 else name
        yield Item(own, caption, figures.grouped_accuracy(chart, ""))


def _run_times(table: DataFrame) -> Item:
    mine = table[table["backbone"] == Counter(table["backbone"]).most_common(1)[0][0]]
    times, backbone = run_times(mine), mine["backbone"].iloc[0]
    places = ", ".join(dict.fromkeys(f"{one.dataset} ({one.split})" for one in mine.itertuples()))
    several = len({one.view_count for one in times}) > 1  # then two bars are of different work
    views = [f" of {one.view_count} views" * several for one in times]
    counts = ", ".join(f"{one.title or one.method} {one.n}{cut}" for one, cut in zip(times, views))
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
