"""Every figure and table of the paper, drawn from measured runs, from the features of many pictures, or from one run.

What nothing was measured for is :class:`Missing` and says what to measure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rita_demo import analysis, plots
from rita_demo.data import paper_results
from rita_demo.evaluation.page import small_ablations
from rita_demo.evaluation.page.feature_cloud import attack_text
from rita_demo.evaluation.report.paper_tables import paper_tables
from rita_demo.evaluation.report.results import ResultRow, run_times
from rita_demo.evaluation.report.tables import Table
from rita_demo.plots.figure import Figure
from rita_demo.records import MeasuredCell, Run
from rita_demo.records.measurement import AblationPoint, AccuracyChart, CloudPoints, KlToOneHot
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.ui.figures.run_figures import overview_of
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

CLOUD, OVERVIEW, KL, STEPS, BACKBONES, TIMES = (
    "feature-cloud",
    "method-overview",
    "kl-to-one-hot",
    "budget-by-steps",
    "backbones",
    "run-time",
)
ABLATION, TABLE = "ablation-", "table-"
SWEPT = tuple(small_ablations.VALUES)
INTERVALS = "Bars: Wilson's 95 % intervals."


@dataclass(frozen=True)
class Drawn:
    """A figure that is ready to be printed. ``caption``: what it shows and its settings, plain text; ``height`` in pixels
    on the page, ``narrow_height`` in a column."""

    name: str
    caption: str
    figure: Figure
    height: int = 420
    narrow_height: int = 420


@dataclass(frozen=True)
class Missing:
    """A figure or table of the paper that these runs do not have, and a sentence that says what to measure."""

    name: str
    sentence: str


@dataclass(frozen=True)
class MeasuredTable:
    """One printed table: measured numbers in its shape, one part per attack and model."""

    name: str
    parts: tuple[Table, ...]


def names() -> tuple[str, ...]:
    """The names of all figures and tables, figures first."""
    tables = dict.fromkeys(cell.table for cell in paper_results.paper_results())
    ablations = (ABLATION + _slug(setting) for setting in SWEPT)
    return (CLOUD, OVERVIEW, KL, STEPS, BACKBONES, TIMES, *ablations, *(TABLE + _slug(table) for table in tables))


def measured_tables(rows: Sequence[ResultRow]) -> list[MeasuredTable | Missing]:
    """Every printed table, with what was measured for it."""
    built, found = paper_tables(rows), list[MeasuredTable | Missing]()
    for table in dict.fromkeys(cell.table for cell in paper_results.paper_results()):
        parts, name = tuple(part for part in built if table in part.paper_tables), TABLE + _slug(table)
        cells = [cell for cell in paper_results.paper_results() if cell.table == table]
        attacks = ", ".join(dict.fromkeys(cell.attack for cell in cells if cell.attack != "none"))
        backbones = ", ".join(dict.fromkeys(cell.backbone for cell in cells))
        missing = Missing(name, f"No cell of “{table}” was measured: {backbones}; {attacks}.")
        found.append(MeasuredTable(name, parts) if parts else missing)
    return found


def measured_figures(rows: Sequence[ResultRow], points: Sequence[AblationPoint]) -> list[Drawn | Missing]:
    """The ablations, the steps by budget, the backbones and the run times."""
    found: list[Drawn | Missing] = []
    for name, charts, what, hint in (
        (
            STEPS,
            analysis.budget_by_steps(points),
            "steps of the prompt update",
            "--sweep tuning_steps=0,1,2 --budget 1,2,4",
        ),
        (BACKBONES, analysis.by_backbone(points), "methods", "--methods clip,ensemble,rita"),
    ):
        found += [_bars(name, chart, what, len(charts) > 1) for chart in charts]
        if not charts:
            found.append(Missing(name, f"No run was measured for it: evaluate {hint}."))
    model = Counter(row.backbone for row in rows).most_common(1)
    mine = [row for row in rows if row.backbone == model[0][0]] if model else []
    if times := run_times(mine):
        places = ", ".join(dict.fromkeys(f"{row.dataset} ({row.split})" for row in mine))
        about = f"{mine[0].backbone}, seconds per picture"
        counts = ", ".join(f"{one.method} {one.n}" for one in times)
        caption = f"Median seconds per picture, views and method, without the attack; {mine[0].backbone}, {places}; pictures: {counts}."
        found.append(Drawn(TIMES, caption, plots.run_times(times, about), 320, 360))
    else:
        found.append(Missing(TIMES, "No run was measured."))
    return [*found, *_ablations(points)]


def _bars(name: str, chart: AccuracyChart, what: str, several: bool) -> Drawn:
    cells = [cell for row in chart.series.values() for cell in row if cell is not None]
    caption = f"Accuracy of {what} by {chart.axis}; {chart.description}. {_measured_on(cells)}"
    return Drawn(f"{name}-{_slug(chart.description)}" if several else name, caption, plots.grouped_accuracy(chart, ""))


def _ablations(points: Sequence[AblationPoint]) -> list[Drawn | Missing]:
    mine, found = [point for point in points if point.cell.method == "rita"], list[Drawn | Missing]()
    for setting in SWEPT:
        name, values = ABLATION + _slug(setting), ",".join(f"{v:g}" for v in small_ablations.VALUES[setting])
        if not (lines := analysis.sweeps(mine, setting)):
            found.append(Missing(name, f"No run varies it: evaluate --sweep {setting}={values}."))
            continue
        title, cells = SETTINGS[setting].label, [cell for line in lines for cell in line.cells]
        figure = plots.sweep_lines(lines, title, recommended=getattr(RECOMMENDED, setting))
        about = f"RITA's accuracy by {title[0].lower()}{title[1:]} ({setting}), all other settings alike."
        found.append(Drawn(name, f"{about} {_measured_on(cells)}", figure, 420, 480))
    return found


def _measured_on(cells: Iterable[MeasuredCell]) -> str:
    """Data, model, numbers of pictures and what the model has seen, as sentences."""
    cells = list(cells)
    places = ", ".join(dict.fromkeys(f"{cell.dataset} ({cell.split})" for cell in cells))
    models = ", ".join(dict.fromkeys(cell.backbone for cell in cells))
    counts = sorted({cell.n for cell in cells})
    n = f"n = {counts[0]}" + (f" to {counts[-1]}" if len(counts) > 1 else "")
    attacks = ", ".join(dict.fromkeys(_attack_text(cell) for cell in cells))
    seen = f" {NOT_ZERO_SHOT}" if any(cell.backbone.startswith("embedded") for cell in cells) else ""
    return f"{places}, {models}, {attacks}, {n}. {INTERVALS}{seen}"


def _attack_text(cell: MeasuredCell) -> str:
    return f"{cell.attack_text}, {cell.steps} steps" if cell.budget else cell.attack_text


def cloud_figures(
    title: str,
    points: CloudPoints,
    coordinates: np.ndarray,
    class_names: Sequence[str],
    ids: Sequence[str],
    projection: str,
    kl: KlToOneHot,
) -> list[Drawn]:
    """Pictures and their views in the plane, and their KL to one-hot. ``coordinates`` (P, 2)."""
    cloud = plots.feature_cloud(points, coordinates, class_names, projection=projection, ids=ids)
    caption = f"Features of {title}, by true class. {projection}"
    kl_caption = (
        f"KL divergence from the one-hot answer of a class to the mean answer of its features, in nats; {title}."
    )
    return [
        Drawn(CLOUD, caption, cloud, 480, 760),
        Drawn(KL, kl_caption, plots.kl_to_one_hot(kl, analysis.density), 420, 700),
    ]


def overview_figure(run: Run, crops: np.ndarray, title: str) -> Drawn:
    """The method on one picture, attacked if it was. ``crops`` (N, s, s, 3) uint8 of all views of that side."""
    attack = attack_text(run.settings)
    caption = f"The method on one picture: {title}, {attack}; {run.backbone.title}."
    return Drawn(OVERVIEW, caption, overview_of(run, crops), 300, 560)


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
