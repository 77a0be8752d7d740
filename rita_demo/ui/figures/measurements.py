"""Measurements: ablations of stored runs, the component table, and the paper's tables beside measured cells."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields

from markupsafe import Markup, escape

from rita_demo import analysis, plots
from rita_demo.data import paper_results, shipped_results
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, small_ablations
from rita_demo.evaluation.report import paper_tables
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import printable
from rita_demo.process.templates import html
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import AblationPoint, AblationSweep, PaperResult
from rita_demo.settings import RECOMMENDED, SETTINGS
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
MODELS, TIMES = "models", "times"  # what the figure of settings shows beside settings
PAPER_TABLE = "main", "ViT-B/32"  # the table and the backbone of the figure
STEP_BACK_NOTE = "Step back is off: an attack that leaves CLIP right turns its gain around."


# --- which settings matter?
def setting_choices() -> list[tuple[str, str]]:
    """(text, name) of what the figure of settings can show."""
    settings = [(setting_title(SETTINGS[name]), name) for name in small_ablations.VALUES]
    return [*settings, ("Models and attacks", MODELS), ("Seconds per picture", TIMES)]


def draw_settings(session: Session) -> Figure:
    """The ablation of the chosen setting over the chosen run, its models, or its times."""
    setting, points = session.figures.setting, session.figures.ablation_points
    if setting == MODELS:
        charts = analysis.by_backbone(points)
        return plots.grouped_accuracy(charts[0] if charts else None, NO_MEASUREMENT)
    if setting == TIMES:
        return plots.run_times(evaluation_page.run_times(point.cell for point in points), "this run")
    charts = analysis.budget_by_steps(points) if setting == GRID_SETTING else ()
    if charts:
        return plots.grouped_accuracy(charts[0], "")
    lines = analysis.one_memory(_lines(points, setting))
    return plots.sweep_lines(lines, setting_title(SETTINGS[setting]), recommended=getattr(RECOMMENDED, setting))


def _lines(points: Sequence[AblationPoint], setting: str) -> tuple[AblationSweep, ...]:
    return analysis.sweeps([point for point in points if point.cell.method == "rita"], setting)


def settings_headline(session: Session) -> str:
    """How far the chosen setting moves RITA."""
    setting, points = session.figures.setting, session.figures.ablation_points
    if setting in (MODELS, TIMES):
        methods = {point.cell.method for point in points}
        return f"{len(methods)} methods were measured in this run, with {len(points)} results."
    found = analysis.pooled(_lines(points, setting))
    if found is None:
        return "0 runs vary this setting here: measure it, or run evaluate with --sweep."
    low, high = (f"{100 * share:.0f}" for share in (min(found.shares), max(found.shares)))
    return f"{SETTINGS[setting].label}: RITA keeps {low} to {high} of 100 under {escape(found.attack)}."


def settings_details(session: Session, folders: DataFolders) -> str:
    """HTML: how far every setting moves RITA, the furthest first."""
    spans = []
    for setting in small_ablations.VALUES:
        found = analysis.pooled(_lines(session.figures.ablation_points, setting))
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
    parts = analysis.components(session.figures.ablation_points)
    columns = list(dict.fromkeys(name for row in parts.values() for name in row))
    if not columns:
        return (
            f"<p class='empty'>{NO_MEASUREMENT} Runs are folders that <code>evaluate --out</code> wrote; a small one can be "
            "measured here.</p>"
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
def dataset_choices() -> list[str]:
    """The datasets of the figure."""
    cells = paper_results.paper_results()
    return [name for name in paper_results.DATASETS if any(cell.dataset == name for cell in cells)]


def paper_pairs(session: Session) -> list[tuple[PaperResult, MeasuredCell]]:
    """The printed accuracies of ``PAPER_TABLE`` on the chosen dataset that were measured here with one model, without an attack
    first: the paper's where it was measured, else the one with most cells; of several cells the one with most pictures."""
    index, found = evaluation_page.index_cells(measured_cells(session)), []
    for cell in paper_results.paper_results():
        if (cell.table, cell.backbone, cell.dataset) == (*PAPER_TABLE, session.figures.dataset):
            found.append((cell, evaluation_page.measured_for(cell, index)))
    counts = Counter(name for _, cells in found for name in {one.backbone for one in cells})
    model = max(
        counts, key=lambda name: (paper_tables.is_printed_backbone(PAPER_TABLE[1], name), counts[name]), default=""
    )
    pairs = [(cell, [one for one in cells if one.backbone == model]) for cell, cells in found]
    best = [(cell, max(cells, key=lambda one: one.n)) for cell, cells in pairs if cells]
    return sorted(best, key=lambda pair: pair[0].attack != "none")


def draw_paper(session: Session) -> Figure:
    """Printed and measured accuracies side by side."""
    return plots.printed_beside_measured(
        paper_pairs(session), f"No printed cell of {session.figures.dataset} was measured here."
    )


def paper_headline(session: Session) -> str:
    """RITA's accuracy under an attack in the paper and here."""
    for cell, one in paper_pairs(session):
        if cell.method == "RITA" and cell.attack != "none":
            other = "" if evaluation_page.same_backbone(cell.backbone, one) else ", with another model,"
            first = f"Under {cell.attack} {cell.budget}/255 the paper prints {cell.accuracy:.0f} % for RITA"
            return f"{first}; here{other} it keeps {one.accuracy:.0f} of 100."
    return f"0 attacked cells of RITA on {session.figures.dataset} were measured here."


def paper_details(session: Session, folders: DataFolders) -> str:
    """HTML: both numbers of every pair, and how many pictures were measured."""
    rows = Markup("").join(
        Markup("<tr><th scope='row'>{}{}</th><td>{}</td><td>{}</td><td>{}</td></tr>").format(
            *(cell.method, "" if cell.attack == "none" else f", {cell.attack}"),
            *(f"{cell.accuracy:.1f}", f"{one.accuracy:.1f}", one.n),
        )
        for cell, one in paper_pairs(session)
    )
    columns = Markup("").join(Markup("<th scope='col'>{}</th>").format(name) for name in ("paper", "here", "n"))
    head = Markup("<tr><td></td>{}</tr>").format(columns)
    return Markup("<table class='two-numbers'><thead>{}</thead><tbody>{}</tbody></table>").format(head, rows)


def paper_caption(session: Session) -> str:
    """What differs."""
    models = ", ".join(dict.fromkeys(one.backbone for _, one in paper_pairs(session)))
    here = f"here {models} and fewer pictures" if models else "nothing here"
    return f"Printed with {PAPER_TABLE[1]}; {here}, which reproduces no cell. PGD knows CLIP, not the defence."


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
