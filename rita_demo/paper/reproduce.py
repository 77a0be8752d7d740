"""Measure what the paper prints, as far as the data here allows, and report it beside the paper's cells."""

import csv
import io
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rita_demo.data import paper_results
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.planned_cells import ModelFacts
from rita_demo.evaluation.report.paper_tables import (
    OUTSIDE,
    index_cells,
    is_inside,
    is_printed_backbone,
    measured_for,
    paper_tables,
)
from rita_demo.evaluation.report.render import table_body
from rita_demo.evaluation.report.results import ResultRow, result_rows
from rita_demo.evaluation.report.tables import NOTES, measured_tables
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.evaluation.store import files
from rita_demo.evaluation.store.run_folder import Pace, RunFolder
from rita_demo.paper import catalogue
from rita_demo.paper import files as figure_files
from rita_demo.paper.plan import FIGURES, PRESET, PROTOCOL, SPLIT, TABLES, Asked, Plan, figure_dataset
from rita_demo.paper.stored import stored
from rita_demo.records.errors import BackboneError, DataError, DemoError, PictureError
from rita_demo.records.measurement import PaperResult
from rita_demo.scripting.explain import load_engine

REPORT, CELLS, FIGURE_FOLDER = "report.md", "cells.csv", "figures"
SETTINGS_TEXT = f"preset {PRESET}"
CLOUD_CLASSES, CLOUD_EACH, NEIGHBOURS = 6, 6, 15  # of the feature cloud, as in rita figures
CELL_COLUMNS = "table,backbone,method,dataset,attack,budget,printed,measured,low,high,n,difference,inside,remark"
GOES_ON = "The same command goes on, and measures nothing again. The figures are drawn at the end."
Report = Callable[[str], object]


@dataclass(frozen=True)
class Compared:
    """A printed cell and the measured one, None where it was not measured."""

    printed: PaperResult
    measured: ResultRow | None


@dataclass(frozen=True)
class Reproduction:
    """What was done: the number of ``new`` rows, printed cells with a measured one and in all, and the report's path."""

    new: int
    measured: int
    printed: int
    report: Path


@dataclass(frozen=True)
class Running:
    """A call of :func:`reproduce`. ``failed``: requests that cannot be measured here (a package that an attack needs), each
    with a sentence; more of them are found while it runs."""

    asked: Asked
    plan: Plan
    engine: Engine
    facts: ModelFacts
    failed: dict[Request, str]

    @property
    def possible(self) -> list[Request]:
        """The requests that can be measured here, as far as is known."""
        return [one for one in self.plan.requests if one not in self.failed]

    def rows(self) -> list[ResultRow]:
        """What is measured for the tables. All rows are of the preset, whose settings differ from dataset to dataset: its
        name stands for them, so that the datasets stay in one row of a table."""
        folder = self.asked.run_folder(TABLES)
        rows = result_rows(folder) if (folder / "cells").is_dir() else ()
        return [replace(row, non_default=SETTINGS_TEXT) for row in rows if row.backbone == self.facts.name]

    def write_report(self, undrawn: Sequence[str] = ()) -> tuple[Compared, ...]:
        """Write the report and the cells as far as they are measured. ``undrawn``: sentences on figures that cannot be drawn."""
        rows, out = self.rows(), self.asked.out
        cells = compare(self.asked.wanted, self.facts.name, rows)
        out.mkdir(parents=True, exist_ok=True)
        files.atomic_write(out / REPORT, report_text(self, cells, rows, undrawn).encode())
        files.atomic_write(out / CELLS, cells_csv(cells).encode())
        return cells


def reproduce(asked: Asked, plan: Plan, report: Report, warn: Report) -> Reproduction:
    """Measure the plan, go on where an earlier call ended, and write figures, tables and the report.

    The report is written before the first picture, after each dataset and attack, when Ctrl-C stops the call, and at the
    end: it says how much is measured.

    Raises:
        DemoError: a model or folder that cannot be used, a full disk. OSError: a report that cannot be written.
    """
    from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator

    engine = load_engine(asked.backbone)
    running = Running(asked, plan, engine, PictureEvaluator(engine).facts, {})
    try:
        new = _measure(running, report, warn)
        cells = running.write_report(_figures(running, report))
    except KeyboardInterrupt:
        running.write_report()
        raise
    return Reproduction(new, sum(one.measured is not None for one in cells), len(cells), asked.out / REPORT)


def _measure(running: Running, report: Report, warn: Report) -> int:
    """Measure what is not stored; the number of new rows."""
    plan, totals, new = running.plan, Counter[str](), 0
    for request in plan.requests:
        totals += RunFolder(request, plan.pictures, running.facts).totals
    pace = Pace(totals)
    for sentence in dict.fromkeys(s for one in plan.pictures.values() for s in one.omissions):
        warn(sentence)
    running.write_report()
    for request in plan.requests:
        (name,), before = request.datasets, new
        try:
            for step in evaluate_steps(request, running.engine, {name: plan.pictures[name]}, pace=pace):
                new += step.new
                report(f"{pace.share:.1%} done: {step.pace}; {step.sentence}")
        except DemoError as error:
            if not _is_of_attack(error):
                raise
            sentence = f"{name}, {', '.join(dict.fromkeys(p.attack for p in request.points))}: {error}"
            running.failed[request] = sentence
            warn(sentence)
        if new > before:
            running.write_report()
    return new


def _is_of_attack(error: DemoError) -> bool:
    """Whether an attack or a method cannot be used here (a package that is missing, too few classes), while the others
    can: not a file, a model or the disk."""
    cause = error.__cause__ or error
    return isinstance(cause, DemoError) and not isinstance(cause, DataError | BackboneError | PictureError)


def compare(wanted: Iterable[str], backbone: str, rows: Sequence[ResultRow]) -> tuple[Compared, ...]:
    """The single printed cells of the wanted tables for the backbone, or all where the paper does not have it."""
    index, names = index_cells(rows), set(wanted)
    every = [c for c in paper_results.paper_results() if catalogue.table_name(c.table) in names]
    own = [cell for cell in every if is_printed_backbone(cell.backbone, backbone)] or every
    found = []
    for cell in own:
        if cell.dataset not in paper_results.AVERAGES:
            same = measured_for(cell, index)
            found.append(Compared(cell, max(same, key=lambda one: (one.finished, one.n), default=None)))
    return tuple(found)


def cells_csv(cells: Iterable[Compared]) -> str:
    """One line per printed cell; empty where it was not measured."""
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(CELL_COLUMNS.split(","))
    for one in cells:
        cell, row = one.printed, one.measured
        ours: list[object] = [""] * 6
        if row is not None:
            numbers = (row.accuracy, row.low, row.high)
            difference = f"{row.accuracy - cell.accuracy:+.2f}"
            ours = [*(f"{number:.2f}" for number in numbers), row.n, difference, int(is_inside(row, cell))]
        names = (cell.table, cell.backbone, cell.method, cell.dataset, cell.attack, cell.budget or "")
        write([*names, cell.accuracy, *ours, cell.remark])
    return text.getvalue()


def report_text(
    running: Running, cells: Sequence[Compared], rows: Sequence[ResultRow], undrawn: Sequence[str] = ()
) -> str:
    """The report as markdown. ``undrawn``: as of :meth:`Running.write_report`."""
    asked, engine, plan = running.asked, running.engine, running.plan
    info, measured = engine.info, [one for one in cells if one.measured is not None]
    printed = any(is_printed_backbone(one.printed.backbone, info.name) for one in cells)
    missing = [*plan.missing, *running.failed.values(), *undrawn]
    so_far = stored(running.possible, plan.pictures, running.facts)
    lines = [
        f"# {info.title}: measured beside the paper",
        f"{info.name}, weights {engine.weights_key()[:8]}, on {info.device}. {info.note}".rstrip(),
        f"Split {SPLIT}, settings of the preset {PRESET} with its exceptions per dataset, memory kept ({PROTOCOL}). "
        + ", ".join(f"{one.dataset} {len(one.items)} of {one.available} pictures" for one in plan.pictures.values())
        + ".",
    ]
    if asked.limit is not None:
        lines.append(f"At most {asked.limit} pictures of each dataset: a rehearsal, with wide intervals.")
    counted = f"{len(measured)} of {len(cells)} printed cells are measured."
    if printed:
        inside = sum(is_inside(one.measured, one.printed) for one in measured if one.measured)
        counted += (
            f" The printed number is inside the 95 % interval of the measured one in {inside}, outside in "
            f"{len(measured) - inside} ({OUTSIDE})."
        )
    elif cells:
        counted += " The paper does not have this model: no number here reproduces a printed one."
    if unfinished := so_far.unfinished:
        lines.append(f"**{100 * so_far.share:.1f} % of the pictures are measured.** {GOES_ON}")
        counted += " A star marks what is not finished."
    lines.append(counted)
    if unfinished:
        lines += ["## Still to measure", "\n".join(f"- {one}" for one in unfinished)]
    lines += ["## Missing", "\n".join(f"- {one}" for one in missing) or "Nothing."]
    lines.append("## Tables")
    names = set(asked.wanted)
    tables = [
        table
        for table in paper_tables(rows, differences=True)
        if names & {catalogue.table_name(name) for name in table.paper_tables}
    ]
    beside = {one.measured.dataset for one in measured if one.measured}
    tables += measured_tables([row for row in rows if row.dataset not in beside])
    lines += [f"### {table.title}\n\n{table_body(table)}" for table in tables]
    return "\n\n".join([*lines, "## How to read these numbers", *NOTES]) + "\n"


def _figures(running: Running, report: Report) -> list[str]:
    """Write the wanted figures and tables as files; sentences on those that cannot be drawn here."""
    asked, plan, rows = running.asked, running.plan, running.rows()
    folders = [folder for kind in (TABLES, FIGURES) if ((folder := asked.run_folder(kind)) / "cells").is_dir()]
    home = figure_dataset(plan.pictures)
    classes = min(CLOUD_CLASSES, plan.pictures[home].classes_present)
    options = {"runs": folders, "out": asked.out / FIGURE_FOLDER, "backbone": asked.backbone, "dataset": home}
    options |= {"split": SPLIT, "data_root": asked.data_root, "neighbours": NEIGHBOURS}
    options |= {"classes": classes, "each": CLOUD_EACH, "features": None}
    wanted, missing = asked.wanted, list[str]()
    drawn_anew = (catalogue.CLOUD, catalogue.KL)
    for fewer in (
        tuple(name for name in wanted if name not in drawn_anew),
        tuple(name for name in wanted if name.startswith(catalogue.TABLE)),
        (),
    ):
        try:
            if wanted:
                figure_files.write(Namespace(**options, only=",".join(wanted)), report, rows)
            break
        except DemoError as error:
            if isinstance(error, BackboneError):
                raise
            missing.append(f"{', '.join(name for name in wanted if name not in fewer)}: {error}")
            wanted = fewer
    return missing
