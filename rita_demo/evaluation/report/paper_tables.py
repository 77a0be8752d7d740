"""Measured numbers in the shape of the paper's tables, beside the numbers that the paper prints.

The sentences above a table give backbone, split, pictures, settings and threat model of the measurement, because
another model on some of the pictures reproduces nothing.

Dataset, method, attack and budget of a measured and a printed cell must be the same. The backbone may differ; cells of
the printed backbone come first, and whatever shows another one names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from statistics import fmean
from typing import TypeVar

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report.results import ResultRow
from rita_demo.evaluation.report.tables import (
    NOT_MEASURED,
    Table,
    about_attack,
    accuracy_text,
    attack_text,
    cache_text,
    method_text,
    seconds_text,
    untouched_text,
)
from rita_demo.records import MeasuredCell
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import PaperResult, method_and_memory

AnyCell = TypeVar("AnyCell", bound=MeasuredCell)
Key = tuple[str, str, str, int]  # dataset, method or method:protocol, attack, budget in 1/255
#: The paper's main backbones: shown beside a backbone that the paper does not have.
DEFAULT_BACKBONES = ("ViT-B/32", "ViT-B/16")
SECONDS_NOTE = (
    "Seconds per picture: views + method, as measured here; printed ones: ViT-B/16 at 1/255, GPU not named, and "
    "not divided into parts."
)
VARIANTS_NOTE = (
    "The paper's RITA keeps its memory from picture to picture (stream) and has the settings of the preset paper; "
    "a row with another memory or other settings stands beside the same printed numbers, but is another variant."
)
AVERAGE_NOTE = f"{NOT_MEASURED}: not measured; an average of measured cells needs all of its datasets."
UNBOUNDED_NOTE = "The paper names a strength for this attack; as it is measured here it has none."


ROUNDED = 0.05  # points: the print has one decimal
OUTSIDE = "≠"
DIFFERENCE_NOTE = (
    "In a cell: the accuracy measured here, in percent; in brackets the paper's, and measured minus printed in points. "
    f"{OUTSIDE}: the printed number is outside the 95 % interval of the measured one."
)


def difference_text(cell: MeasuredCell, printed: PaperResult) -> str:
    """Measured minus printed in points, with ``OUTSIDE`` where the printed number is outside the measured interval."""
    signed = f"{cell.accuracy - printed.accuracy:+.1f}".replace("-", "−")
    return signed if is_inside(cell, printed) else f"{signed} {OUTSIDE}"


def is_inside(cell: MeasuredCell, printed: PaperResult) -> bool:
    """Whether the printed number is inside the measured 95 % interval, up to the rounding of the print."""
    return cell.low - ROUNDED <= printed.accuracy <= cell.high + ROUNDED


def index_cells(cells: Iterable[AnyCell]) -> dict[Key, list[AnyCell]]:
    """Measured cells by what they measure, under ``method`` and under ``method:protocol``; ``dtd`` and ``dtd:present`` are the
    same dataset here."""
    index: dict[Key, list[AnyCell]] = {}
    for one in cells:
        for method in (one.method, f"{one.method}:{one.protocol}"):
            index.setdefault(_key(one.dataset.partition(":")[0], method, one.attack, one.budget), []).append(one)
    return index


def measured_for(cell: PaperResult, index: Mapping[Key, Sequence[AnyCell]]) -> list[AnyCell]:
    """The measured cells of :func:`index_cells` for a printed one, those of its backbone first; none for an average."""
    found = index.get(printed_key(cell), [])
    if cell.method in paper_results.WITH_MEMORY:
        found = [one for one in found if one.protocol != "off"]
    return sorted(found, key=lambda one: not same_backbone(cell.backbone, one))


def printed_key(cell: PaperResult) -> Key:
    """What a printed cell measures; of an average: a dataset that no measured cell has."""
    dataset, method = paper_results.DATASETS.get(cell.dataset, ""), paper_results.METHODS.get(cell.method, "")
    return _key(dataset, method, paper_results.ATTACKS.get(cell.attack, ""), cell.budget or 0)


def same_backbone(printed: str, cell: MeasuredCell) -> bool:
    """Whether a cell was measured on the backbone that the paper calls ``printed``."""
    return is_printed_backbone(printed, cell.backbone)


def is_printed_backbone(printed: str, backbone: str) -> bool:
    """Whether a model's name is that of the backbone that the paper calls ``printed``.

    A fine-tuned vision tower is a local file, recognised by its file name.
    """
    name = paper_results.BACKBONES.get(printed, "+")
    if "+" not in name:
        return name == backbone
    base, _, tuned = printed.partition(" ")
    architecture, _, source = backbone.partition(":")
    source = source.partition("+except=")[0]  # keys that may be missing, not a file
    file = PurePath(source.partition("+")[2] or source).name.lower()
    return bool(tuned) and architecture.startswith(base.replace("/", "-")) and tuned.lower() in file


def _key(dataset: str, method: str, attack: str, budget: int) -> Key:
    """The paper prints a budget for CW too; an attack without a bound is measured with budget 0."""
    bounded = attack != "none" and attack in ATTACKS and ATTACKS[attack].bounded
    return dataset, method, attack, budget if bounded else 0


@dataclass(frozen=True)
class PaperBlock:
    """One part of a printed table, clean or under one attack; ``tables`` are all that print the same numbers."""

    tables: tuple[str, ...]
    backbone: str
    attack: str
    budget: int | None
    cells: tuple[PaperResult, ...]

    @cached_property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Column (the paper's name) -> its datasets: those of an average, else the dataset itself.

        The table of components prints an average without its datasets; they are those of the main table.
        """
        names = dict.fromkeys(cell.dataset for cell in self.cells)
        single: Iterable[str] = names
        if self.tables == ("components",):
            single = dict.fromkeys(c.dataset for c in paper_results.paper_results() if c.table == "main")
        averages = paper_results.AVERAGES
        return {n: paper_results.averaged_datasets(n, single) if n in averages else (n,) for n in names}


def paper_tables(rows: Sequence[ResultRow], differences: bool = False) -> list[Table]:
    """A table for every part of a printed table that has a measured cell, per backbone, split and threat model.

    Printed numbers are those of the measured backbone, or of ``DEFAULT_BACKBONES`` where the paper does not have it.
    ``differences``: as ``DIFFERENCE_NOTE`` says where the backbone is the printed one, and without the columns that are not measured.

    Raises:
        DataError: the printed results are missing from this copy, or damaged.
    """
    blocks = printed_blocks()
    comparable = group_by(
        rows,
        lambda r: (
            *(r.backbone, r.weights, r.split, r.dataset.partition(":")[2]),
            *(r.attack, r.budget, r.steps, about_attack(r)),
        ),
    )
    return [table.build(differences) for group in comparable.values() for table in _select_tables(blocks, group)]


def printed_blocks() -> list[PaperBlock]:
    """The printed parts; rows that several tables repeat with the same numbers (the clean ones) once.

    Raises:
        DataError: as :func:`paper_tables`.
    """
    blocks: dict[tuple, PaperBlock] = {}
    parts = group_by(paper_results.paper_results(), lambda c: (c.table, c.backbone, c.attack, c.budget))
    for (table, backbone, attack, budget), part in parts.items():
        key = (backbone, attack, budget, frozenset((c.method, c.dataset, c.accuracy) for c in part))
        block = blocks.get(key, PaperBlock((), backbone, attack, budget, tuple(part)))
        blocks[key] = replace(block, tables=(*block.tables, table))
    return list(blocks.values())


def _select_tables(blocks: Sequence[PaperBlock], group: Sequence[ResultRow]) -> list[PaperTable]:
    """The tables of the measured backbone, then of the default ones, then of any, as long as they show a new cell."""
    names = dict.fromkeys(block.backbone for block in blocks)
    first = [name for name in names if same_backbone(name, group[0])]
    index, shown, chosen = index_cells(group), set[str](), list[PaperTable]()
    for name in dict.fromkeys((*first, *(n for n in DEFAULT_BACKBONES if n in names), *names)):
        tables = [PaperTable(block, group, index) for block in blocks if block.backbone == name]
        if new := {cell for table in tables for cell in table.measured_cells()} - shown:
            chosen += [table for table in tables if table.measured_cells()]
            shown |= new
    return chosen


def _is_own(method: str) -> bool:
    """Whether a method is a user's own, loaded now or not."""
    return method not in DEFENCES or bool(DEFENCES[method].plugin)


class PaperTable:
    """A block beside the measured cells of a ``group`` that differ in dataset, method, memory and settings alone."""

    def __init__(self, block: PaperBlock, group: Sequence[ResultRow], index: Mapping[Key, Sequence[ResultRow]]) -> None:
        self.block, self.group, self.columns = block, group, block.columns
        self.measured: dict[str, dict[str, list[ResultRow]]] = {}  # method -> dataset (printed names) -> cells
        self.scopes: dict[
            str, dict[str, str]
        ] = {}  # dataset -> its pictures: several where cells are of different ones
        self.notes: dict[str, int] = {}  # known errors of printed numbers -> number of the footnote
        for cell in block.cells:
            for name in block.columns[cell.dataset]:
                found = measured_for(replace(cell, dataset=name), index)
                self.measured.setdefault(cell.method, {})[name] = found
                self._add_scopes(name, found)
        self.own: dict[str, dict[str, list[ResultRow]]] = {}  # a user's own method -> dataset -> cells
        for row in group:
            for name in self._columns_of(row) if _is_own(row.method) else ():
                self.own.setdefault(row.method, {}).setdefault(name, []).append(row)
                self._add_scopes(name, [row])

    def _columns_of(self, row: ResultRow) -> list[str]:
        """The column of a user's own method's cell: its dataset, under the attack and strength of the block."""
        attack = paper_results.ATTACKS.get(self.block.attack, "")
        same = _key("", "", attack, self.block.budget or 0) == _key("", "", row.attack, row.budget)
        dataset = row.dataset.partition(":")[0]
        names = {name for parts in self.block.columns.values() for name in parts}
        return [name for name in sorted(names) if same and paper_results.DATASETS.get(name) == dataset]

    def _add_scopes(self, name: str, rows: Iterable[ResultRow]) -> None:
        for row in rows:
            self.scopes.setdefault(name, {}).setdefault(row.scope, " ".join((row.scope, *untouched_text(row))))

    def measured_cells(self) -> set[str]:
        """The measured cells as "method dataset"; an average counts when all of its datasets are measured."""
        cells: set[str] = set()
        for cell in self.block.cells:
            parts = [self.measured[cell.method][name] for name in self.block.columns[cell.dataset]]
            if cell.dataset not in paper_results.AVERAGES:
                cells.update(f"{paper_results.METHODS[cell.method]} {one.dataset}" for one in parts[0])
            elif all(parts):
                cells.add(f"{cell.method} {cell.dataset}")
        return cells

    def build(self, differences: bool = False) -> Table:
        """``differences``: as of :func:`paper_tables`."""
        block, row = self.block, self.group[0]
        self.differences = differences and same_backbone(block.backbone, row)
        if differences:
            self.columns = {n: parts for n, parts in block.columns.items() if all(one in self.scopes for one in parts)}
        rows = tuple(row for method in self.measured for row in self._rows(method))
        rows += tuple(row for found in self.own.values() for row in self._measured_rows(found))
        averages = [name for name in block.columns if name in paper_results.AVERAGES]
        columns = (f"{name} of {len(parts)}" if name in averages else name for name, parts in self.columns.items())
        left_out = [name for name in block.columns if name not in self.columns]
        names = " and ".join(f"“{table}”" for table in block.tables)
        return Table(
            f"{row.backbone} ({row.split}) beside the paper's table{'s' * (len(block.tables) > 1)} {names}, "
            f"{block.backbone}, {attack_text(block.attack, block.budget or 0)}",
            self._sentences_above(),
            ("method", "memory", *columns, "s per picture", "settings"),
            rows,
            (
                *((f"Columns of the paper that are not measured: {', '.join(left_out)}.",) if left_out else ()),
                *((AVERAGE_NOTE,) if averages else ()),
                *(f"[{n}] Known to be wrong in the print, or doubtful: {note}." for note, n in self.notes.items()),
                *((VARIANTS_NOTE,) if any(row.method == "rita" for row in self.group) else ()),
                SECONDS_NOTE,
            ),
            block.tables,
        )

    def _sentences_above(self) -> tuple[str, ...]:
        block, row = self.block, self.group[0]
        by = "" if block.backbone in paper_results.BACKBONES else ", by the name of its file"
        comparison = (
            f"The backbone is the printed one{by}; a cell is comparable where pictures, class names, attack and "
            "settings are as well."
            if same_backbone(block.backbone, row)
            else f"{row.backbone} is not the {block.backbone} of the print: no number here reproduces a printed one."
        )
        unbounded = row.attack in ATTACKS and not ATTACKS[row.attack].bounded
        return (
            f"Measured: {row.backbone} (weights {row.weights[:8]}), split {row.split}. {row.note}".rstrip(),
            *(f"{name}: {' '.join(sentences.values())}" for name, sentences in self.scopes.items()),
            *dict.fromkeys(sentence for row in self.group for sentence in row.threat_model),
            *((UNBOUNDED_NOTE,) if unbounded and block.budget else ()),
            comparison,
        )

    def _rows(self, method: str) -> list[tuple[str, ...]]:
        """A row for every memory and settings that a method was measured with, or the printed numbers alone."""
        cells = {cell.dataset: cell for cell in self.block.cells if cell.method == method}
        name, components = paper_results.METHODS[method], "components" in self.block.tables
        title = DEFENCES[method_and_memory(name)[0]].full_title
        title = f"{method} ({title})" if components else title
        printed = f" (printed {paper_results.SECONDS[name]:.2f})" if name in paper_results.SECONDS else ""
        if rows := self._measured_rows(self.measured[method], cells, title, printed):
            return rows
        values = [self._cell(column, cells.get(column), {}) for column in self.columns]
        return [(title, "", *values, NOT_MEASURED + printed, "not measured")]

    def _measured_rows(
        self,
        measured: Mapping[str, Sequence[ResultRow]],
        cells: Mapping[str, PaperResult] | None = None,
        title: str = "",
        printed: str = "",
    ) -> list[tuple[str, ...]]:
        """A row for every memory and settings of measured cells by dataset. ``cells``: the printed ones; ``title``: of the
        method, "" for its own; ``printed``: the paper's seconds."""
        variants = dict.fromkeys((one.protocol, one.non_default) for found in measured.values() for one in found)
        rows = []
        for variant in variants:
            shown = {
                name: max(same, key=lambda one: (one.finished, one.n))
                for name, found in measured.items()
                if (same := [one for one in found if (one.protocol, one.non_default) == variant])
            }
            values = [self._cell(column, (cells or {}).get(column), shown) for column in self.columns]
            views, seconds = (fmean(getattr(row, n) for row in shown.values()) for n in ("view_seconds", "seconds"))
            mean = replace(next(iter(shown.values())), view_seconds=views, seconds=seconds)
            settings = mean.non_default or "recommended"
            rows.append((title or method_text(mean), cache_text(mean), *values, seconds_text(mean) + printed, settings))
        return rows

    def _cell(self, column: str, printed: PaperResult | None, rows: Mapping[str, ResultRow]) -> str:
        """One cell: the measured number, and the printed one in brackets."""
        value, datasets = NOT_MEASURED, self.block.columns[column]
        if column in paper_results.AVERAGES and all(dataset in rows for dataset in datasets):
            star = "" if all(rows[dataset].finished for dataset in datasets) else "*"
            value = f"{fmean(rows[dataset].accuracy for dataset in datasets):.1f}{star}"
        elif column in rows:
            count = f", n = {rows[column].n}" if len(self.scopes[column]) > 1 else ""
            value = accuracy_text(rows[column]) + count
        if printed is None:
            return value
        mark = f" [{self.notes.setdefault(printed.remark, len(self.notes) + 1)}]" if printed.remark else ""
        difference = f"; {difference_text(rows[column], printed)}" if self.differences and column in rows else ""
        return f"{value} (printed {printed.accuracy:.1f}{mark}{difference})"
