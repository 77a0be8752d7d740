"""Measure what the paper prints, as far as the data here allows, and report it beside the paper's cells."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.planned_cells import ModelFacts
from rita_demo.evaluation.report.paper_tables import DIFFERENCE_NOTE, OUTSIDE, paper_tables
from rita_demo.evaluation.report.render import table_body
from rita_demo.evaluation.report.results import ResultRow, result_rows
from rita_demo.evaluation.report.tables import INTERVAL_NOTE, NOTES, SECONDS_NOTE, measured_tables
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.evaluation.store.run_folder import Kind, Pace, RunFolder
from rita_demo.paper import catalogue
from rita_demo.paper import files as figure_files
from rita_demo.paper.compared import Compared, Counted, cells_csv, compare, count, is_in_paper, of_other_models
from rita_demo.paper.plan import FIGURES, PRESET, PROTOCOL, SPLIT, TABLES, Asked, Plan, figure_dataset
from rita_demo.paper.stored import stored
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.records.errors import BackboneError, DataError, DemoError, PictureError
from rita_demo.scripting.explain import load_engine

REPORT, CELLS, FIGURE_FOLDER = "report.md", "cells.csv", "figures"
SETTINGS_TEXT = f"preset {PRESET}"
CLOUD_CLASSES, CLOUD_EACH, NEIGHBOURS = 6, 6, 15  # of the feature cloud, as in rita figures
GOES_ON = "The same command goes on, and measures nothing again. The figures are drawn at the end."
REASONS = (
    "The set-up: CLIP has one view and no random number, so its clean row is the first to compare. If it differs on a whole "
    "split, so do weights, activation, class names, its sentence (hand_prompt) or the pictures.",
    "Chance in crops and attacks: all other rows have random crops, and attacks a random start; the paper names no seed.",
    "What the paper leaves open: class descriptions (its own are not published), how the memory is filled and kept, the "
    "weight of the memory, and more in docs/method.md, section 2. The preset paper is the closest reading.",
    "The print: numbers in brackets behind a printed one, such as [1], lead to what is known to be wrong with it.",
)
Report = Callable[[str], object]


@dataclass(frozen=True)
class Reproduction:
    """What was done: the number of ``new`` rows, the printed cells that are measured, and the report's path."""

    new: int
    counted: Counted
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
        named: dict[str, Any] = {
            "non_default": SETTINGS_TEXT,
            "variant": SETTINGS_TEXT,
            "attack_settings": "",
            "also": "",
        }
        return [replace(row, **named) for row in rows if row.backbone == self.facts.name]

    def write_report(self, undrawn: Sequence[str] = ()) -> tuple[Compared, ...]:
        """Write the report and the cells as far as they are measured. ``undrawn``: sentences on figures that cannot be drawn."""
        rows, out = self.rows(), self.asked.out
        cells = compare(self.asked.wanted, self.facts.name, rows)
        make_output_folder(out)
        write_output(out / REPORT, report_text(self, cells, rows, undrawn).encode())
        write_output(out / CELLS, cells_csv(cells).encode())
        return cells


def reproduce(asked: Asked, plan: Plan, report: Report, warn: Report) -> Reproduction:
    """Measure the plan, go on where an earlier call ended, and write figures, tables and the report.

    The report is written before the first picture, after each dataset and attack, when Ctrl-C stops the call, and at the
    end: it says how much is measured.

    Raises:
        DemoError: a model or folder that cannot be used, a full disk.
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
    return Reproduction(new, count(cells, plan.pictures), asked.out / REPORT)


def _measure(running: Running, report: Report, warn: Report) -> int:
    """Measure what is not stored; the number of new rows."""
    plan, totals, new = running.plan, Counter[Kind](), 0
    for request in plan.requests:
        totals += RunFolder(request, plan.pictures, running.facts).totals
    pace = Pace(totals)
    for sentence in dict.fromkeys(s for one in plan.pictures.values() for s in (*one.cautions, *one.notes)):
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


def report_text(
    running: Running, cells: Sequence[Compared], rows: Sequence[ResultRow], undrawn: Sequence[str] = ()
) -> str:
    """The report as markdown. ``undrawn``: as of :meth:`Running.write_report`."""
    asked, engine, plan = running.asked, running.engine, running.plan
    info, counted = engine.info, count(cells, plan.pictures)
    printed = is_in_paper(info.name)
    missing = [*plan.missing, *running.failed.values(), *undrawn]
    off = any(point.protocol == "off" for one in plan.requests for point in one.points)
    without = "; for d_OT without d_cOT also off" if off else ""
    so_far = stored(running.possible, plan.pictures, running.facts)
    lines = [
        f"# {info.title}: measured beside the paper",
        f"{info.name}, weights {engine.weights_key()[:8]}, on {info.device}. {info.note}".rstrip(),
        f"Split {SPLIT}, settings of the preset {PRESET} with its exceptions per dataset, memory kept ({PROTOCOL}){without}. "
        + ", ".join(f"{one.dataset} {len(one.items)} of {one.available} pictures" for one in plan.pictures.values())
        + ".",
    ]
    if asked.limit is not None:
        lines.append(f"At most {asked.limit} pictures of each dataset: a rehearsal, with wide intervals.")
    said = counted.sentence
    if not printed:
        said += " The paper does not have this model: no number here reproduces a printed one."
    elif counted.measured:
        said += (
            f" The printed number is inside the 95 % interval of the measured one in {counted.inside}, outside in "
            f"{counted.measured - counted.inside} ({OUTSIDE})."
        )
    if unfinished := so_far.unfinished:
        lines.append(f"**{100 * so_far.share:.1f} % of the pictures are measured.** {GOES_ON}")
        said += " A star marks what is not finished."
    lines.append(said)
    if unfinished:
        lines += ["## Still to measure", _listed(unfinished)]
    lines += ["## Missing", _listed(missing) or "Nothing."]
    lines += ["## Tables", *([DIFFERENCE_NOTE] if printed and counted.measured else [])]
    names = set(asked.wanted)
    tables = [
        table
        for table in paper_tables(rows, differences=True)
        if names & {catalogue.table_name(name) for name in table.paper_tables}
    ]
    beside = {one.measured.dataset for one in cells if one.measured}
    alone = measured_tables([row for row in rows if row.dataset not in beside])
    lines += [f"### {table.title}\n\n{table_body(table)}" for table in [*tables, *alone]]
    if printed and counted.measured:
        lines += ["## Why a number may differ", _listed(_reasons(rows))]
    lines += ["## How to read these numbers", *(NOTES if alone else (INTERVAL_NOTE, SECONDS_NOTE))]
    if others := of_other_models(asked.wanted, info.name):
        lines += ["## Printed for other models", _listed(others)]
    return "\n\n".join(lines) + "\n"


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {one}" for one in sentences)


def _reasons(rows: Sequence[ResultRow]) -> list[str]:
    """Why a measured number may differ from a printed one, the most frequent reason first."""
    widest = max(rows, key=lambda one: one.high - one.low)
    return [
        f"Chance: of {widest.n} pictures the 95 % interval is {widest.low:.0f} to {widest.high:.0f} % ({widest.dataset}), "
        "and 1 printed number of 20 is outside by chance alone.",
        *REASONS,
    ]


def _figures(running: Running, report: Report) -> list[str]:
    """Write the wanted figures and tables as files; sentences on those that cannot be drawn here."""
    asked, plan, rows = running.asked, running.plan, running.rows()
    folders = [folder for kind in (TABLES, FIGURES) if ((folder := asked.run_folder(kind)) / "cells").is_dir()]
    home = figure_dataset(plan.pictures)
    classes = min(CLOUD_CLASSES, plan.pictures[home].classes_present)
    options = {"runs": folders, "out": asked.out / FIGURE_FOLDER, "backbone": asked.backbone, "dataset": home}
    options |= {"split": SPLIT, "data_root": asked.data_root, "neighbours": NEIGHBOURS}
    options |= {"width": 88, "format": "pdf"}
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
