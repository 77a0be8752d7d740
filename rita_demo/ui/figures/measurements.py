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
Points = Sequence[AblationPoint]
STEP_BACK_NOTE = "Step back is off: an attack that leaves CLIP right turns its gain around."


# --- which settings matter?
def setting_choices() -> list[tuple[str, str]]:
    """(text, name) of what the figure of settings can show."""
    settings = [(setting_title(SETTINGS[name]), name) for name in measured.ABLATIONS]
    return [*settings, ("Models and attacks", MODELS), ("Seconds per picture", TIMES)]


def _lines(points: Points, setting: str) -> tuple[AblationSweep, ...]:
    return measured.sweeps([point for point in points if point.cell.method == "rita"], setting)


class SettingsFigure:
    """RITA against one setting, over the chosen run."""

    title, missing, is_of_run = "Which settings matter?", "", False

    def subject(self, session: Session) -> Points:
        return session.figures.ablation_points

    def draw(self, session: Session, points: Points) -> Figure:
        """The ablation of the chosen setting over the chosen run, its models, or its times."""
        setting = session.figures.setting
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

    def headline(self, session: Session, points: Points) -> str:
        """How far the chosen setting moves RITA."""
        setting = session.figures.setting
        if setting in (MODELS, TIMES):
            methods = {point.cell.method for point in points}
            return f"{len(methods)} methods were measured in this run, with {len(points)} results."
        whole = measured.pooled(_lines(points, setting))
        if whole is None:
            return f"0 runs vary this setting here: measure it with evaluate --sweep {setting}=VALUES."
        low, high = (f"{100 * share:.0f}" for share in (min(whole.shares), max(whole.shares)))
        return f"{SETTINGS[setting].label}: RITA keeps {low} to {high} of 100 under {escape(whole.attack)}."

    def details(self, session: Session, points: Points, folders: DataFolders) -> str:
        """HTML: how far every setting moves RITA, the furthest first."""
        pools = {setting: measured.pooled(_lines(points, setting)) for setting in measured.ABLATIONS}
        spans = [
            (round(100 * max(pool.shares)) - round(100 * min(pool.shares)), SETTINGS[setting].label, pool.n)
            for setting, pool in pools.items()
            if pool is not None
        ]
        if not spans:
            return ""
        spans.sort(key=lambda span: -span[0])
        texts = [(label, span) for span, label, _ in spans if span]
        texts += [("the others", 0)] * (len(texts) < len(spans))
        rows = Markup("").join(Markup("<dt>{}</dt><dd>{}</dd>").format(*text) for text in texts)
        note = STEP_BACK_NOTE if session.figures.setting == "step_back" else ""
        return Markup(
            "<h3>How far each setting moves RITA</h3><dl>{}</dl><p class='note'>Points of 100 between best and worst value, n = {}. "
            "{}</p>"
        ).format(rows, spans[0][2], note)

    def caption(self, session: Session, points: Points) -> str:
        """Which run it is, and who attacked."""
        run = session.figures.run_folder
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
    abouts, rows = {name: about for name, _, _, about in measured.COMPONENTS}, []
    for part, points in parts.items():
        row = [part]
        for point in map(points.get, columns):
            other = [] if point is None else measured.non_recommended(point, abouts[part])
            about = ", ".join(f"{name}={point.settings[name]}" for name in other) if point else ""
            row.append(html("measured", cells=[(point.cell, about)] if point else []))
        rows.append(row)
    shown = table(("", *columns), rows, scrolls="What each part adds")
    return (
        f"{shown}<p class='quiet small'>Accuracy in percent with Wilson’s 95 % interval and n; "
        "settings that are not the recommended ones. Differences smaller than the intervals are not results.</p>"
    )


# --- printed beside measured
def dataset_choices() -> list[str]:
    """The datasets of the figure."""
    cells = paper_results.paper_results()
    return [name for name in paper_results.DATASETS if any(cell.dataset == name for cell in cells)]


def beside_paper(points: Points) -> DataFrame:
    """Every single printed cell beside the points and what was measured for this copy; see
    :func:`rita_demo.evaluation.report.printed.beside`."""
    import pandas

    cells = [point.cell for point in points]
    for path in shipped_results.files():
        with suppress(DataError):  # a damaged file must not hide the others
            cells += shipped_results.read(path)
    single = [cell for cell in paper_results.paper_results() if cell.dataset not in paper_results.AVERAGES]
    frame = pandas.DataFrame(map(vars, cells))
    is_printed = frame["backbone"].isin(paper_results.BACKBONES.values())
    # beside them the run's model, else the one with most cells: a clean and an attacked number are not of two
    models = {point.cell.backbone for point in points} or set(frame["backbone"][~is_printed].mode()[:1])
    return printed.beside(single, frame[is_printed | frame["backbone"].isin(models)])


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


class PaperFigure:
    """What the paper prints beside what was measured here."""

    title, missing, is_of_run = "The paper, and here", "", False

    def subject(self, session: Session) -> DataFrame:
        return paper_pairs(session)

    def draw(self, session: Session, pairs: DataFrame) -> Figure:
        """Printed and measured accuracies side by side."""
        missing = f"No printed cell of {session.figures.dataset} was measured here."
        return figures.printed_beside_measured(list(pairs.itertuples()), missing)

    def headline(self, session: Session, pairs: DataFrame) -> str:
        """RITA's accuracy under an attack in the paper and here."""
        for pair in pairs.itertuples():
            if pair.method == "RITA" and pair.attack != "none":
                other = "" if printed.is_printed_backbone(pair.backbone, pair.model) else ", with another model,"
                first = f"Under {pair.attack} {pair.budget}/255 the paper prints {pair.printed:.0f} % for RITA"
                return f"{first}; here{other} it keeps {pair.measured:.0f} of 100."
        return f"0 attacked cells of RITA on {session.figures.dataset} were measured here."

    def details(self, session: Session, pairs: DataFrame, folders: DataFolders) -> str:
        """HTML: both numbers of every pair, and how many pictures were measured."""
        rows = Markup("").join(
            Markup("<tr><th scope='row'>{}{}</th><td>{:.1f}</td><td>{:.1f}</td><td>{}</td></tr>").format(
                pair.method, "" if pair.attack == "none" else f", {pair.attack}", pair.printed, pair.measured, pair.n
            )
            for pair in pairs.itertuples()
        )
        columns = "".join(f"<th scope='col'>{name}</th>" for name in ("paper", "here", "n"))
        head = Markup(f"<tr><td></td>{columns}</tr>")
        return Markup("<table class='two-numbers'><thead>{}</thead><tbody>{}</tbody></table>").format(head, rows)

    def caption(self, session: Session, pairs: DataFrame) -> str:
        """What differs."""
        models = ", ".join(dict.fromkeys(pairs["model"]))
        here = f"here {models} and fewer pictures" if models else "nothing here"
        return f"Printed with {PAPER_TABLE[1]}; {here}, which reproduces no cell. PGD knows CLIP, not the defence."


def paper_table(session: Session) -> Any:
    """Every single printed accuracy, beside the best that was measured here, and with which model."""
    if (lines := session.figures.printed) is None:
        return []
    return lines[list(SHOWN)].round({"measured": 1}).astype(object).fillna("").rename(columns=SHOWN)
