"""Measurements: ablations of stored runs, the component table, and the paper's tables beside measured cells."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from rita_demo import figures
from rita_demo.data import paper_results, shipped_results
from rita_demo.evaluation.page import DataFolders
from rita_demo.evaluation.report import measured, printed
from rita_demo.figures.figure import Figure
from rita_demo.process.templates import html
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import AblationPoint, AblationSweep
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.setting_controls import setting_title

if TYPE_CHECKING:
    from pandas import DataFrame

NO_MEASUREMENT = "This run has no finished measurement."
#: Columns of the table of the paper -> their titles.
SHOWN = {
    **{name: name for name in ("method", "dataset", "attack", "budget", "printed", "measured", "n")},
    **{"model": "measured with", "backbone": "printed with", "table": "table", "remark": "known to be wrong"},
}
GRID_SETTING = "tuning_steps"  # the setting that is drawn against the budget
MODELS, TIMES = "models", "times"  # what the figure of settings shows beside settings
PAPER_TABLE = "main", "ViT-B/32"  # the table and the backbone of the figure
STEP_BACK_NOTE = "Step back is off: an attack that leaves CLIP right turns its gain around."


# --- which settings matter?
def setting_choices() -> list[tuple[str, str]]:
    """(text, name) of what the figure of settings can show."""
    settings = [(setting_title(SETTINGS[name]), name) for name in measured.ABLATIONS]
    return [*settings, ("Models and attacks", MODELS), ("Seconds per picture", TIMES)]


def draw_settings(session: Session) -> Figure:
    """The ablation of the chosen setting over the chosen run, its models, or its times."""
    setting, points = session.figures.setting, session.figures.ablation_points
    if setting == MODELS:
        charts = measured.by_backbone(points)
        return figures.grouped_accuracy(charts[0] if charts else None, NO_MEASUREMENT)
    if setting == TIMES:
        return figures.run_times(session.figures.times, "this run")
    charts = measured.budget_by_steps(points) if setting == GRID_SETTING else ()
    if charts:
        return figures.grouped_accuracy(charts[0], "")
    lines = measured.one_memory(_lines(points, setting))
    return figures.sweep_lines(lines, setting_title(SETTINGS[setting]), recommended=getattr(RECOMMENDED, setting))


def _lines(points: Sequence[AblationPoint], setting: str) -> tuple[AblationSweep, ...]:
    return measured.sweeps([point for point in points if point.cell.method == "rita"], setting)


def settings_headline(session: Session) -> str:
    """How far the chosen setting moves RITA."""
    setting, points = session.figures.setting, session.figures.ablation_points
    if setting in (MODELS, TIMES):
        methods = {point.cell.method for point in points}
        return f"{len(methods)} methods were measured in this run, with {len(points)} results."
    found = measured.pooled(_lines(points, setting))
    if found is None:
        return f"0 runs vary this setting here: measure it with evaluate --sweep {setting}=VALUES."
    low, high = (f"{100 * share:.0f}" for share in (min(found.shares), max(found.shares)))
    return f"{SETTINGS[setting].label}: RITA keeps {low} to {high} of 100 under {escape(found.attack)}."


def settings_details(session: Session, folders: DataFolders) -> str:
    """HTML: how far every setting moves RITA, the furthest first."""
    spans = []
    for setting in measured.ABLATIONS:
        found = measured.pooled(_lines(session.figures.ablation_points, setting))
        if found is not None:
            spans.append((round(100 * max(found.shares)) - round(100 * min(found.shares)), setting, found))
    if not spans:
        return ""
    spans.sort(key=lambda one: -one[0])
    texts = [(SETTINGS[setting].label, span) for span, setting, _ in spans if span]
    texts += [("the others", 0)] * (len(texts) < len(spans))
    rows = Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(*text) for text in texts)
    found = spans[0][2]
    said = f"Points of 100 between best and worst value, n = {found.n}."
    note = STEP_BACK_NOTE if session.figures.setting == "step_back" else ""
    return Markup("<h3>How far each setting moves RITA</h3><dl>{}</dl><p class='note'>{} {}</p>").format(
        rows, said, note
    )


def settings_caption(session: Session) -> str:
    """Which run it is, and who attacked."""
    points, run = session.figures.ablation_points, session.figures.run_folder
    stored = f"Run {run}" if run else "Stored measurements"
    splits = ", ".join(dict.fromkeys(point.cell.split for point in points))
    embedded = any(point.cell.backbone.startswith("embedded") for point in points)
    seen = " The embedded model is trained on both datasets’ training splits." * embedded
    return f"{stored} ({splits}); PGD knows CLIP, not the defence.{seen}" if points else f"{stored}: none."


def component_table(session: Session) -> str:
    """HTML: what each part of the method adds, from the chosen run."""
    parts = measured.components(session.figures.ablation_points)
    columns = list(dict.fromkeys(name for row in parts.values() for name in row))
    if not columns:
        return f"<p class='empty'>{NO_MEASUREMENT} Runs are folders that <code>evaluate --out</code> wrote.</p>"
    rows = ((part, *(_point_cell(points.get(name), part) for name in columns)) for part, points in parts.items())
    shown = table(("", *columns), rows, scrolls="What each part adds")
    return (
        f"{shown}<p class='quiet small'>Accuracy in percent with Wilson’s 95 % interval and n; "
        "settings that are not the recommended ones. Differences smaller than the intervals are not results.</p>"
    )


def _point_cell(point: AblationPoint | None, part: str) -> Markup:
    cells = []
    if point is not None:
        about = next(a for name, _, _, a in measured.COMPONENTS if name == part)
        other = ", ".join(f"{n}={point.settings[n]}" for n in measured.non_recommended(point, about))
        cells.append((point.cell, other))
    return html("measured", cells=cells)


# --- printed beside measured
def dataset_choices() -> list[str]:
    """The datasets of the figure."""
    cells = paper_results.paper_results()
    return [name for name in paper_results.DATASETS if any(cell.dataset == name for cell in cells)]


def beside_paper(points: Sequence[AblationPoint]) -> DataFrame:
    """Every single printed cell beside the points and what was measured for this copy; see
    :func:`rita_demo.evaluation.report.printed.beside`."""
    import pandas

    cells = [point.cell for point in points]
    for path in shipped_results.files():
        with suppress(DataError):  # a damaged file must not hide the others
            cells += shipped_results.read(path)
    single = [cell for cell in paper_results.paper_results() if cell.dataset not in paper_results.AVERAGES]
    return printed.beside(single, pandas.DataFrame(map(vars, cells)))


def paper_pairs(session: Session) -> DataFrame:
    """The lines of ``PAPER_TABLE`` on the chosen dataset that were measured here with one model, without an attack first: the
    paper's where it was measured, else the one with most cells."""
    lines, (table, backbone) = session.figures.printed, PAPER_TABLE
    if lines is None:  # the room was not open yet
        lines = beside_paper(())
    chosen = (lines["table"] == table) & (lines["backbone"] == backbone) & (lines["dataset"] == session.figures.dataset)
    mine = lines[chosen & lines["measured"].notna()]
    counts = mine["model"].value_counts()
    model = max(counts.index, key=lambda name: (printed.is_printed_backbone(backbone, name), counts[name]), default="")
    return mine[mine["model"] == model].sort_values("attack", key=lambda names: names != "none", kind="stable")


def draw_paper(session: Session) -> Figure:
    """Printed and measured accuracies side by side."""
    missing = f"No printed cell of {session.figures.dataset} was measured here."
    return figures.printed_beside_measured(list(paper_pairs(session).itertuples()), missing)


def paper_headline(session: Session) -> str:
    """RITA's accuracy under an attack in the paper and here."""
    for one in paper_pairs(session).itertuples():
        if one.method == "RITA" and one.attack != "none":
            other = "" if printed.is_printed_backbone(one.backbone, one.model) else ", with another model,"
            first = f"Under {one.attack} {one.budget}/255 the paper prints {one.printed:.0f} % for RITA"
            return f"{first}; here{other} it keeps {one.measured:.0f} of 100."
    return f"0 attacked cells of RITA on {session.figures.dataset} were measured here."


def paper_details(session: Session, folders: DataFolders) -> str:
    """HTML: both numbers of every pair, and how many pictures were measured."""
    rows = Markup("").join(
        Markup("<tr><th scope='row'>{}{}</th><td>{}</td><td>{}</td><td>{}</td></tr>").format(
            *(one.method, "" if one.attack == "none" else f", {one.attack}"),
            *(f"{one.printed:.1f}", f"{one.measured:.1f}", one.n),
        )
        for one in paper_pairs(session).itertuples()
    )
    columns = Markup("").join(Markup("<th scope='col'>{}</th>").format(name) for name in ("paper", "here", "n"))
    head = Markup("<tr><td></td>{}</tr>").format(columns)
    return Markup("<table class='two-numbers'><thead>{}</thead><tbody>{}</tbody></table>").format(head, rows)


def paper_caption(session: Session) -> str:
    """What differs."""
    models = ", ".join(dict.fromkeys(paper_pairs(session)["model"]))
    here = f"here {models} and fewer pictures" if models else "nothing here"
    return f"Printed with {PAPER_TABLE[1]}; {here}, which reproduces no cell. PGD knows CLIP, not the defence."


def paper_table(session: Session) -> Any:
    """Every single printed accuracy, beside the best that was measured here, and with which model."""
    if (lines := session.figures.printed) is None:
        return []
    return lines[list(SHOWN)].round({"measured": 1}).astype(object).fillna("").rename(columns=SHOWN)
