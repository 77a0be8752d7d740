"""Measured numbers in the shape of the paper's tables, beside the numbers that the paper prints.

The sentences above a table give backbone, split, pictures, settings and threat model of the measurement, because
another model on some of the pictures reproduces nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.evaluation.grouping import group_by
from rita_demo.evaluation.report.match_paper import Key, index_cells, matching, same_backbone
from rita_demo.evaluation.report.results import ResultRow
from rita_demo.evaluation.report.tables import (
    Table,
    accuracy_text,
    attack_text,
    cache_text,
    method_text,
    seconds_text,
    untouched_text,
)
from rita_demo.records.measurement import PaperResult

#: The paper's main backbones: shown beside a backbone that the paper does not have.
DEFAULT_BACKBONES = ("ViT-B/32", "ViT-B/16")
NOT_MEASURED = "–"
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

Index = Mapping[Key, Sequence[ResultRow]]  # see index_cells


@dataclass(frozen=True)
class PaperBlock:
    """One part of a printed table, clean or under one attack; ``tables`` are all that print the same numbers."""

    tables: tuple[str, ...]
    backbone: str
    attack: str
    budget: int | None
    cells: tuple[PaperResult, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Columns: the paper's names, averages among them."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def methods(self) -> tuple[str, ...]:
        """Rows: the paper's names."""
        return tuple(dict.fromkeys(cell.method for cell in self.cells))

    def averaged(self, name: str) -> tuple[str, ...]:
        """The datasets of a column: those of an average, else the dataset itself.

        The table of components prints an average without its datasets; they are those of the main table.
        """
        if name not in paper_results.AVERAGES:
            return (name,)
        columns: Sequence[str] = self.datasets
        if self.tables == ("components",):
            columns = [c.dataset for c in paper_results.paper_results() if c.table == "main"]
        return tuple(dict.fromkeys(paper_results.averaged_datasets(name, columns)))

    def single_cells(self) -> list[PaperResult]:
        """The cells with every average replaced by the cells of its datasets."""
        return [replace(cell, dataset=name) for cell in self.cells for name in self.averaged(cell.dataset)]


def paper_tables(rows: Sequence[ResultRow], backbones: Mapping[str, str] = paper_results.BACKBONES) -> list[Table]:
    """A table for every part of a printed table that has a measured cell, per backbone, split and threat model.

    Printed numbers are those of the measured backbone, or of ``DEFAULT_BACKBONES`` where the paper does not have it.

    Raises:
        DataError: the printed results are missing from this copy, or damaged.
    """
    tables, blocks = [], _blocks(paper_results.paper_results())
    comparable = group_by(
        rows,
        lambda r: (
            *(r.backbone, r.weights, r.split, r.dataset.partition(":")[2]),
            *(r.attack, r.budget, r.steps, r.threat_model),
        ),
    )
    for group in comparable.values():
        index = index_cells(group)
        chosen = _select_blocks(blocks, group[0], index, backbones)
        tables += [_paper_table(block, group, index, backbones) for block in chosen]
    return tables


def _blocks(cells: Iterable[PaperResult]) -> list[PaperBlock]:
    """The printed parts; rows that several tables repeat with the same numbers (the clean ones) once."""
    blocks: dict[tuple, PaperBlock] = {}
    parts = group_by(cells, lambda c: (c.table, c.backbone, c.attack, c.budget))
    for (table, backbone, attack, budget), part in parts.items():
        key = (backbone, attack, budget, frozenset((c.method, c.dataset, c.accuracy) for c in part))
        known = blocks.get(key, PaperBlock((), backbone, attack, budget, tuple(part)))
        blocks[key] = replace(known, tables=(*known.tables, table))
    return list(blocks.values())


def _select_blocks(
    blocks: Sequence[PaperBlock], row: ResultRow, index: Index, backbones: Mapping[str, str]
) -> list[PaperBlock]:
    """Blocks of the measured backbone, then of the default ones, then of any, as long as they show a new cell."""
    names = dict.fromkeys(block.backbone for block in blocks)
    first = [name for name in names if same_backbone(name, row, backbones)]
    shown: set[str] = set()
    chosen: list[PaperBlock] = []
    for name in dict.fromkeys((*first, *(n for n in DEFAULT_BACKBONES if n in names), *names)):
        measured = {block: _measured_keys(block, index) for block in blocks if block.backbone == name}
        new = {key for keys in measured.values() for key in keys} - shown
        if new:
            chosen += [block for block, keys in measured.items() if keys]
            shown |= new
    return chosen


def _measured_keys(block: PaperBlock, index: Index) -> set[str]:
    """Measured cells of a block as "method dataset"; an average counts when all of its datasets are measured."""
    found = {f"{one.method} {one.dataset}" for cell in block.cells for one in matching(cell, index)}
    for cell in block.cells:
        if cell.dataset in paper_results.AVERAGES:
            parts = [matching(replace(cell, dataset=name), index) for name in block.averaged(cell.dataset)]
            if all(parts):
                found.add(f"{cell.method} {cell.dataset}")
    return found


def _paper_table(block: PaperBlock, group: Sequence[ResultRow], index: Index, backbones: Mapping[str, str]) -> Table:
    scopes = _scopes(block, index)
    notes: dict[str, int] = {}  # known errors of printed numbers -> number of the footnote
    rows = tuple(row for method in block.methods for row in _rows(block, method, index, scopes, notes))
    has_average = any(name in paper_results.AVERAGES for name in block.datasets)
    columns = (
        f"{name} of {len(block.averaged(name))}" if name in paper_results.AVERAGES else name for name in block.datasets
    )
    names = " and ".join(f"“{table}”" for table in block.tables)
    return Table(
        f"{group[0].backbone} ({group[0].split}) beside the paper's table{'s' * (len(block.tables) > 1)} {names}, "
        f"{block.backbone}, {attack_text(block.attack, block.budget or 0)}",
        _sentences_above(block, group[0], scopes, same_backbone(block.backbone, group[0], backbones)),
        ("method", "memory", *columns, "s per picture", "settings"),
        rows,
        (
            *((AVERAGE_NOTE,) if has_average else ()),
            *(f"[{number}] Known to be wrong in the print, or doubtful: {note}." for note, number in notes.items()),
            *((VARIANTS_NOTE,) if any(row.method == "rita" for row in group) else ()),
            SECONDS_NOTE,
        ),
    )


def _scopes(block: PaperBlock, index: Index) -> dict[str, list[str]]:
    """Dataset, as printed -> the pictures of its cells; several sentences where cells are of different pictures."""
    found: dict[str, dict[str, str]] = {}
    for cell in block.single_cells():
        for row in matching(cell, index):
            sentence = " ".join((row.scope, *untouched_text(row)))
            found.setdefault(cell.dataset, {}).setdefault(row.scope, sentence)
    return {name: list(sentences.values()) for name, sentences in found.items()}


def _sentences_above(
    block: PaperBlock, row: ResultRow, scopes: Mapping[str, Sequence[str]], same: bool
) -> tuple[str, ...]:
    by = "" if block.backbone in paper_results.BACKBONES else ", by the name of its file"
    comparison = (
        f"The backbone is the printed one{by}; a cell is comparable where pictures, class names, attack and settings "
        "are as well."
        if same
        else f"{row.backbone} is not the {block.backbone} of the print: no number here reproduces a printed one."
    )
    unbounded = row.attack in ATTACKS and not ATTACKS[row.attack].bounded
    return (
        f"Measured: {row.backbone} (weights {row.weights[:8]}), split {row.split}. {row.note}".rstrip(),
        *(f"{name}: {' '.join(sentences)}" for name, sentences in scopes.items()),
        *row.threat_model,
        *((UNBOUNDED_NOTE,) if unbounded and block.budget else ()),
        comparison,
    )


def _rows(
    block: PaperBlock, method: str, index: Index, scopes: Mapping[str, Sequence[str]], notes: dict[str, int]
) -> list[tuple[str, ...]]:
    """A method's rows: one for every cache protocol and settings it was measured with, or the printed numbers alone."""
    printed = {cell.dataset: cell for cell in block.cells if cell.method == method}
    measured = {cell.dataset: matching(cell, index) for cell in block.single_cells() if cell.method == method}
    variants = dict.fromkeys((one.protocol, one.non_default) for found in measured.values() for one in found)
    rows = []
    for variant in variants or [None]:
        shown = {
            name: max(same, key=lambda one: (one.finished, one.n))
            for name, found in measured.items()
            if (same := [one for one in found if (one.protocol, one.non_default) == variant])
        }
        cells = [_cell(block, name, printed.get(name), shown, scopes, notes) for name in block.datasets]
        rows.append(_table_row(next(iter(printed.values())), shown, cells))
    return rows


def _table_row(cell: PaperResult, rows: Mapping[str, ResultRow], values: Sequence[str]) -> tuple[str, ...]:
    """The whole row: method, cache protocol, cells, time, settings."""
    name = paper_results.METHODS[cell.method]
    title = method_text(name) if cell.table != "components" else f"{cell.method} ({method_text(name)})"
    printed = f" (printed {paper_results.SECONDS[name]:.2f})" if name in paper_results.SECONDS else ""
    if not rows:
        return (title, "", *values, NOT_MEASURED + printed, "not measured")
    view_seconds, seconds = (fmean(getattr(r, n) for r in rows.values()) for n in ("view_seconds", "seconds"))
    mean = replace(next(iter(rows.values())), view_seconds=view_seconds, seconds=seconds)
    return (title, cache_text(mean), *values, seconds_text(mean) + printed, mean.non_default or "recommended")


def _cell(
    block: PaperBlock,
    name: str,
    printed: PaperResult | None,
    rows: Mapping[str, ResultRow],
    scopes: Mapping[str, Sequence[str]],
    notes: dict[str, int],
) -> str:
    """One cell: the measured number, and the printed one in brackets."""
    value, datasets = NOT_MEASURED, block.averaged(name)
    if name in paper_results.AVERAGES and all(dataset in rows for dataset in datasets):
        star = "" if all(rows[dataset].finished for dataset in datasets) else "*"
        value = f"{fmean(rows[dataset].accuracy for dataset in datasets):.1f}{star}"
    elif name in rows:
        count = f", n = {rows[name].n}" if len(scopes[name]) > 1 else ""  # where cells are of different pictures
        value = accuracy_text(rows[name]) + count
    if printed is None:
        return value
    mark = f" [{notes.setdefault(printed.remark, len(notes) + 1)}]" if printed.remark else ""
    return f"{value} (printed {printed.accuracy:.1f}{mark})"
