"""Measurements: ablations of stored runs, the component table, and the paper's tables beside measured cells."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import gradio as gr
from markupsafe import Markup

from rita_demo import analysis, plots
from rita_demo.data import paper_results, shipped_results
from rita_demo.evaluation import page as evaluation_page
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import printable
from rita_demo.process.templates import html
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import AblationPoint, PaperResult
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.panels.figure_caption import with_caption
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.setting_controls import setting_title

MAX_ROWS = 150
MAX_MEASURED_CELLS = 3  # measured cells beside a printed one
NO_MEASUREMENT = "This run has no finished measurement."
RECOMMENDED_TEXT = "recommended settings"
ALL = "all"
#: The first filters of the paper's table.
DEFAULT_FILTERS = {"table": "main", "dataset": ALL, "method": ALL, "attack": ALL, "backbone": "ViT-B/32"}
GRID_SETTING = "tuning_steps"  # the setting that is drawn against the budget


def _run_title(session: Session) -> str:
    return f"Run: {session.figures.run_folder or 'measured for this copy'}"


def draw_sweep(session: Session) -> Figure:
    """The ablation of the chosen setting over the chosen run."""
    setting, points = session.figures.setting, session.figures.ablation_points
    charts = analysis.budget_by_steps(points) if setting == GRID_SETTING else ()
    if charts:
        return with_caption(plots.grouped_accuracy(charts[0], ""), _run_title(session))
    lines = analysis.sweeps([point for point in points if point.cell.method == "rita"], setting)
    figure = plots.sweep_lines(lines, setting_title(SETTINGS[setting]), recommended=getattr(RECOMMENDED, setting))
    return with_caption(figure, _run_title(session))


def draw_backbones(session: Session) -> Figure:
    """Every method by backbone and attack, of the first dataset of the chosen run."""
    charts = analysis.by_backbone(session.figures.ablation_points)
    return with_caption(plots.grouped_accuracy(charts[0] if charts else None, NO_MEASUREMENT), _run_title(session))


def left_out(session: Session) -> str:
    """HTML: which groups the figure of backbones leaves out."""
    charts = analysis.by_backbone(session.figures.ablation_points)
    text = charts[0].left_out_text if charts else ""
    return Markup("<p class='quiet small'>{}</p>").format(text) if text else ""


def draw_run_times(session: Session) -> PanelValue:
    """Seconds per picture; out of sight where the chosen run has none, as the shipped measurements."""
    times = evaluation_page.run_times(point.cell for point in session.figures.ablation_points)
    figure = with_caption(plots.run_times(times, "this run"), _run_title(session))
    return gr.update(value=figure, visible=True) if times else gr.update(visible=False)


def component_table(session: Session) -> str:
    """HTML: what each part of the method adds, from the chosen run."""
    parts = analysis.components(session.figures.ablation_points)
    columns = list(dict.fromkeys(name for row in parts.values() for name in row))
    if not columns:
        return (
            f"<p class='empty'>{NO_MEASUREMENT} Runs are folders that <code>evaluate --out</code> wrote; a small one can be "
            "measured above.</p>"
        )
    rows = ((part, *(_point_cell(points.get(name), part) for name in columns)) for part, points in parts.items())
    shown = table(("", *columns), rows, scrolls="What each part adds")
    return (
        f"<h3>What each part adds</h3>{shown}<p class='quiet small'>Accuracy in percent with Wilson’s 95 % interval and n; "
        "settings that are not the recommended ones. Differences smaller than the intervals are not results.</p>"
    )


def _point_cell(point: AblationPoint | None, part: str) -> Markup:
    cells = []
    if point is not None:
        about = next(a for name, _, _, a in analysis.COMPONENTS if name == part)
        other = ", ".join(f"{n}={point.settings[n]}" for n in analysis.non_recommended(point, about))
        cells.append((point.cell, other))
    return html("measured", cells=cells, more=0)


# --- printed beside measured
def filters() -> dict[str, list[str]]:
    cells = paper_results.paper_results()
    return {name: [ALL, *dict.fromkeys(getattr(cell, name) for cell in cells)] for name in DEFAULT_FILTERS}


def chosen_filters(values: Sequence[JsonValue]) -> dict[str, str]:
    """The filters that a client sent; unknown values mean all."""
    known = filters()
    return {name: value if value in known[name] else ALL for name, value in zip(known, values, strict=True)}


def measured_cells(session: Session) -> dict[MeasuredCell, str]:
    """Measured cell -> its settings in words: those of the chosen run and those shipped with this copy. Cells with the
    recommended settings come first."""
    found: dict[MeasuredCell, str] = {}
    for point in session.figures.ablation_points:
        special = evaluation_page.non_default_settings(point)
        words = ", ".join(f"{name}={value}" for name, value in special.items())
        found.setdefault(_plain_cell(point.cell), words or RECOMMENDED_TEXT)
    for path in shipped_results.files():
        try:
            for cell in shipped_results.read(path):  # the file has no more about its settings
                found.setdefault(cell, f"settings {cell.settings}, {path.name}")
        except DataError:  # a damaged file must not hide the others
            continue
    return dict(sorted(found.items(), key=lambda item: item[1] != RECOMMENDED_TEXT))


def _plain_cell(cell: MeasuredCell) -> MeasuredCell:
    """Only the fields of the base class, so that cells of runs and of shipped tables compare and hash alike."""
    return MeasuredCell(**{field.name: getattr(cell, field.name) for field in fields(MeasuredCell)})


def paper_table(session: Session) -> str:
    """HTML: the paper's results that pass the filters, each with the measured cells that match it."""
    chosen = DEFAULT_FILTERS | session.figures.filters
    cells = [
        cell
        for cell in paper_results.paper_results()
        if all(value in (ALL, getattr(cell, name)) for name, value in chosen.items())
    ]
    if not cells:
        return "<p class='empty'>No printed cell passes all of these filters. Set one back to “all”.</p>"
    settings = measured_cells(session)
    index = evaluation_page.index_cells(settings)
    columns = ("method", "backbone", "dataset", "attack", "table", "printed", "measured here")
    rows = (_paper_row(cell, evaluation_page.measured_for(cell, index), settings) for cell in cells[:MAX_ROWS])
    more = len(cells) - MAX_ROWS
    rest = f" The first {MAX_ROWS} are shown; narrow the filters to see the others." if more > 0 else ""
    wrong = sum(bool(cell.remark) for cell in cells)
    return (
        f"<p class='quiet small'>{len(cells)} printed cells, {wrong} of them with a remark.{rest}</p>"
        f"{table(columns, rows, 'paper', 'Printed and measured')}"
    )


def _paper_row(cell: PaperResult, found: Sequence[MeasuredCell], settings: Mapping[MeasuredCell, str]) -> list[str]:
    attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
    remark = Markup("<small class='misprint'>⚠ {}</small>").format(cell.remark) if cell.remark else ""
    cells = [(one, _about(cell, one, settings[one])) for one in found[:MAX_MEASURED_CELLS]]
    here = html("measured", cells=cells, more=len(found) - MAX_MEASURED_CELLS)
    printed = Markup("<b>{:.1f} %</b>{}").format(cell.accuracy, remark)
    return [cell.method, cell.backbone, cell.dataset, attack, cell.table, printed, here]


def _about(cell: PaperResult, one: MeasuredCell, settings: str) -> str:
    """What a measured cell is of; its backbone comes first, because it is overlooked most easily."""
    same = evaluation_page.same_backbone(cell.backbone, one)
    backbone = f"{'same backbone' if same else 'another backbone'}: {printable(one.backbone)}"
    attack = [] if one.attack == "none" else [f"{one.steps} steps"]
    if one.attack != "none" and cell.budget and not one.budget:
        attack.append("no limit on strength")
    dataset = f"{printable(one.dataset)} {printable(one.split)}"
    return ", ".join([backbone, dataset, one.protocol_text, *attack, printable(settings)])
