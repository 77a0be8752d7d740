"""The paper, measured here: a plan of ``evaluate`` commands, and one comparison with the paper's cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.data import paper_results
from rita_demo.data.datasets import DATASETS, dataset_status
from rita_demo.evaluation.paper import catalogue
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.report import printed
from rita_demo.evaluation.report.cells import cells
from rita_demo.evaluation.report.measured import ABLATIONS
from rita_demo.evaluation.report.paper_table import PaperTable
from rita_demo.evaluation.report.render import as_markdown
from rita_demo.records.errors import DataError, did_you_mean
from rita_demo.records.measurement import PaperResult, method_and_memory

if TYPE_CHECKING:
    from pandas import DataFrame

PRESET, SPLIT = "paper", "test"
BUDGETS = "1,2,4"  # in 1/255, of the figures of tuning steps
FIGURE_BUDGET = "1"  # of the other ablations: the main table's
FIGURE_DATASET = "dtd"  # of the ablations, where it is among the datasets; else the first
STEPS_SWEEP = "tuning_steps=0,1,2"  # of the figure of budgets by steps
TABLES, FIGURES = "tables", "figures"  # run folders below the output folder
REPORT, CELLS = "report.md", "cells.csv"
OUTSIDE = "≠"
HOW_TO_READ = (
    "In a cell: the accuracy measured here, in percent; in brackets the paper's, and measured minus printed in points. "
    f"{OUTSIDE}: the printed number is outside the 95 % interval of the measured one; *: not every picture is measured yet; "
    "–: not measured. [n]: see below. An average is that of its datasets."
)
REASONS = (
    "Chance: 1 printed number of 20 is outside the interval by chance alone, and with few pictures an interval is wide.",
    "The set-up: CLIP has one view and no random number, so its clean row is the first to compare. If it differs on a whole "
    "split, so do weights, activation, class names, its sentence (hand_prompt) or the pictures.",
    "Chance in crops and attacks: all other rows have random crops, and attacks a random start; the paper names no seed.",
    "What the paper leaves open: class descriptions (its own are not published), how the memory is filled and kept, the "
    "weight of the memory, and more in docs/method.md, section 2. The preset paper is the closest reading.",
    "The print: [n] behind a number leads to what is known to be wrong with it.",
)


@dataclass(frozen=True)
class Asked:
    """``wanted``: names of :func:`names`. ``datasets``: none for all of the paper that are below ``data_root``. ``limit``:
    pictures of each dataset, None for all."""

    wanted: tuple[str, ...]
    backbone: str
    data_root: Path | None
    out: Path
    datasets: tuple[str, ...] = ()
    limit: int | None = None

    def run_folder(self, kind: str) -> Path:
        """Where the measurements of the tables or figures go; those with a limit apart from the others."""
        return self.out / "runs" / (kind if self.limit is None else f"{kind}-{self.limit}")

    @property
    def tables(self) -> tuple[str, ...]:
        """The wanted tables by the paper's names."""
        tables = dict.fromkeys(cell.table for cell in paper_results.paper_results())
        return tuple(table for table in tables if table_name(table) in self.wanted)


@dataclass(frozen=True)
class Plan:
    """``commands``: the words behind the program's name. ``datasets``: what they measure. ``missing``: sentences on datasets
    that are not here."""

    commands: tuple[tuple[str, ...], ...]
    datasets: tuple[str, ...]
    missing: tuple[str, ...]


def names() -> tuple[str, ...]:
    """What can be asked for: the paper's tables, and the figures that need measurements of their own."""
    tables = dict.fromkeys(cell.table for cell in paper_results.paper_results())
    return (*map(table_name, tables), catalogue.STEPS, *map(catalogue.ablation_name, ABLATIONS))


def table_name(table: str) -> str:
    """The name of a printed table, such as ``table-budget-4``."""
    return f"table-{catalogue.slug(table)}"


def checked(wanted: Iterable[str]) -> tuple[str, ...]:
    """The names. Raises DataError: one of them is none of :func:`names`."""
    stripped = tuple(name.strip() for name in wanted)
    for name in stripped:
        if name not in names():
            hint = did_you_mean(name, names()) or ", ".join(names())
            raise DataError(f"There is no table {name[:60]!r} to reproduce.", hint)
    return stripped


def make_plan(asked: Asked) -> Plan:
    """The commands of the tables, dataset after dataset, then those of the figures. Raises DataError: nothing of it can
    be measured here."""
    needed = printed.printed_for(asked.backbone, asked.tables)
    single = {name: cell for cell in needed for name in printed.parts_of(cell)}
    here = {status.name: status for status in dataset_status(asked.data_root)}
    wanted = (
        asked.datasets or tuple(dict.fromkeys(paper_results.DATASETS[name] for name in single)) or (FIGURE_DATASET,)
    )
    datasets, missing = [], []
    for name in wanted:
        base = name.removesuffix(PRESENT_SUFFIX)
        if base not in DATASETS or here[base].usable:
            datasets.append(name)
        else:
            missing.append(f"{name}: {here[base].sentence}")
    commands = [command for name in datasets for command in _table_commands(asked, name, needed)]
    commands += _figure_commands(asked, datasets)
    if not commands:
        raise DataError(
            f"Nothing of {', '.join(asked.wanted)[:200]} can be measured here. "
            + " ".join([*printed.of_other_models(asked.backbone, asked.tables), *missing][:3]),
            "Name the folder of the datasets with --data-root, or rehearse with --dataset textures, which needs none.",
        )
    return Plan(tuple(commands), tuple(datasets), tuple(missing))


def _table_commands(asked: Asked, dataset: str, needed: Sequence[PaperResult]) -> list[tuple[str, ...]]:
    """One command per attack and strength, the first also without an attack: what an attack lacks, a package, stops no
    other. A dataset that the paper does not have gets all that is printed."""
    parts = [(paper_results.DATASETS[name], cell) for cell in needed for name in printed.parts_of(cell)]
    mine = [cell for name, cell in parts if name == dataset.removesuffix(PRESENT_SUFFIX)] or [cell for _, cell in parts]
    methods: dict[tuple[str, str], dict[str, None]] = {}  # (attack, budget) -> methods
    for cell in mine:
        place = paper_results.ATTACKS[cell.attack], str(cell.budget or "")
        methods.setdefault(place, {})[paper_results.METHODS[cell.method]] = None
    clean = list(methods.pop(("none", ""), {}))
    commands = []
    for (attack, budget), same in methods.items():
        both = ["none", attack] if clean and clean == list(same) else [attack]  # clean has no strength of its own
        clean = [] if len(both) > 1 else clean
        commands.append(_command(asked, TABLES, dataset, list(same), both, budget))
    return commands + ([_command(asked, TABLES, dataset, clean, ["none"], FIGURE_BUDGET)] if clean else [])


def _figure_commands(asked: Asked, datasets: Sequence[str]) -> list[tuple[str, ...]]:
    """RITA by one setting, without an attack and under PGD, on one dataset."""
    sweeps = {catalogue.STEPS: (STEPS_SWEEP, BUDGETS)}
    for setting, values in ABLATIONS.items():
        text = f"{setting}={','.join(f'{value:g}' for value in values)}"
        sweeps[catalogue.ablation_name(setting)] = text, BUDGETS if setting == "tuning_steps" else FIGURE_BUDGET
    home = sorted(datasets, key=lambda name: name.removesuffix(PRESENT_SUFFIX) != FIGURE_DATASET)[:1]
    return [
        (*_command(asked, FIGURES, dataset, ["rita"], ["none", "pgd"], budget), "--sweep", sweep)
        for dataset in home
        for name, (sweep, budget) in sweeps.items()
        if name in asked.wanted
    ]


def _command(
    asked: Asked, kind: str, dataset: str, methods: Sequence[str], attacks: Sequence[str], budget: str
) -> tuple[str, ...]:
    named = [method_and_memory(name) for name in methods]
    protocols = dict.fromkeys(("stream", *(protocol for _, protocol in named if protocol)))
    words = ["evaluate", "--dataset", dataset, "--split", SPLIT, "--preset", PRESET, "--backbone", asked.backbone]
    words += ["--methods", ",".join(dict.fromkeys(name for name, _ in named)), "--attack", ",".join(attacks)]
    words += ["--budget", budget, "--protocols", ",".join(protocols), "--allow-partial"]
    words += ["--out", str(asked.run_folder(kind))]
    words += [] if asked.data_root is None else ["--data-root", str(asked.data_root)]
    return (*words, *([] if asked.limit is None else ["--limit", str(asked.limit)]))


def compared(asked: Asked) -> tuple[DataFrame, DataFrame]:
    """The printed cells beside what is measured so far, and the measured cells. All rows are of the preset, whose settings
    differ from dataset to dataset: they are not named, so that the datasets stay in one row of a table."""
    import pandas

    folder = asked.run_folder(TABLES)
    try:
        measured = cells(folder).assign(variant="", of_attack="")
    except DataError:  # nothing is there yet
        measured = pandas.DataFrame(columns=["dataset", "method", "attack", "budget", "protocol", "missing", "n"])
    else:
        measured = measured[measured["backbone"] == asked.backbone] if asked.tables else measured[:0]
    return printed.beside(printed.printed_for(asked.backbone, asked.tables), measured), measured


def report_text(asked: Asked, plan: Plan, lines: DataFrame, measured: DataFrame, failed: Sequence[str]) -> str:
    """The report as markdown."""
    done, inside, possible, other = printed.counted(lines, plan.datasets)
    own = printed.is_in_paper(asked.backbone)
    summary = f"{done} of {possible} printed cells of these datasets are measured"
    summary += f"; {other} more are of datasets that are not measured here." if other else "."
    if not possible:
        summary = "The paper prints no single cell of these datasets in these tables."
    if not own:
        summary += " The paper does not have this model: no number here reproduces a printed one."
    elif done:
        summary += f" The printed number is inside the 95 % interval of the measured one in {inside}, outside in "
        summary += f"{done - inside} ({OUTSIDE})."
    parts = [
        f"# {asked.backbone}: measured beside the paper",
        f"Split {SPLIT}, preset {PRESET} with its exceptions per dataset; datasets: {', '.join(plan.datasets)}.",
    ]
    if asked.limit is not None:
        parts.append(f"At most {asked.limit} pictures of each dataset: a rehearsal, with wide intervals.")
    parts += [summary, "## Missing", _listed([*plan.missing, *failed]) or "Nothing."]
    tables = _tables(lines)
    parts += ["## Printed beside measured", HOW_TO_READ, *tables] if tables else []
    if len(measured):
        parts += ["## Measured", PaperTable(measured).markdown().rstrip()]
    parts += ["## Why a number may differ", _listed(REASONS)] if own and done else []
    if others := printed.of_other_models(asked.backbone, asked.tables):
        parts += ["## Printed for other models", _listed(others)]
    return "\n\n".join(parts) + "\n"


def _tables(lines: DataFrame) -> list[str]:
    """Methods x datasets for every printed table and attack of which something is measured; remarks below."""
    parts = []
    for (table, backbone, attack, budget), same in lines.groupby(
        ["table", "backbone", "attack", "budget"], sort=False, dropna=False
    ):
        measured = same[same["measured"].notna()]
        if measured.empty:
            continue
        remarks: dict[str, int] = {}
        columns = list(dict.fromkeys(measured["dataset"]))
        cells = same[same["dataset"].isin(columns)]
        cells = cells.assign(text=[_text(cell, remarks) for cell in cells.itertuples()])
        texts = cells.pivot_table("text", "method", "dataset", "last", sort=False)
        texts = texts.reindex(index=list(dict.fromkeys(same["method"])), columns=columns).fillna("").reset_index()
        under = "no attack" if attack == "none" else f"{attack} {budget}/255"
        here = ", ".join(dict.fromkeys(measured["model"]))
        parts += [f"**{table}**, {under}: printed with {backbone}, measured with {here}", as_markdown(texts)]
        parts += [_listed(f"[{number}] {remark}." for remark, number in remarks.items())] if remarks else []
    return parts


def _text(cell: Any, remarks: dict[str, int]) -> str:
    """``68.0* (74.8 [1]; −6.8 ≠)``."""
    mark = f" [{remarks.setdefault(cell.remark, len(remarks) + 1)}]" if cell.remark else ""
    if cell.measured != cell.measured:  # NaN: not measured
        return f"– ({cell.printed:.1f}{mark})"
    signed, star = f"{cell.difference:+.1f}".replace("-", "−"), "" if cell.finished else "*"
    outside = f" {OUTSIDE}" if cell.low == cell.low and not cell.inside else ""  # an average has no interval
    return f"{cell.measured:.1f}{star} ({cell.printed:.1f}{mark}; {signed}{outside})"


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)
