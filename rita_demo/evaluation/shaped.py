"""What was measured in the shape of the paper's tables, beside what the paper prints in the same cells.

A printed number is always told with its table; above it stand the backbone, split, pictures, settings and
threat model that were measured, because another model on some of the pictures reproduces nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper
from rita_demo.evaluation.lines import Line
from rita_demo.evaluation.printed import Key, beside, indexed, same_backbone
from rita_demo.evaluation.sheets import (
    Sheet,
    accuracy_words,
    attack_words,
    memory_words,
    method_words,
    seconds_words,
    untouched,
)
from rita_demo.surveys import PrintedCell

#: What is shown beside a backbone that the paper does not have: its main one.
USUAL = ("ViT-B/32", "ViT-B/16")
NOTHING = "–"
TIMES = (
    "Seconds per picture: views + method, as measured here; printed ones: ViT-B/16 at 1/255, GPU not named, and "
    "not divided into parts."
)
VARIANTS = (
    "The paper's RITA keeps its memory from picture to picture (stream) and has the settings of the preset paper; "
    "a row with another memory or other settings stands beside the same printed numbers, but is another variant."
)


@dataclass(frozen=True)
class Block:
    """One part of a printed table, clean or under one attack; ``tables`` that print it alike."""

    tables: tuple[str, ...]
    backbone: str
    attack: str
    budget: int | None
    cells: tuple[PrintedCell, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Columns: names in the print, averages among them."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.cells))

    @property
    def methods(self) -> tuple[str, ...]:
        """Rows: names in the print."""
        return tuple(dict.fromkeys(cell.method for cell in self.cells))

    def parts(self, average: str) -> tuple[str, ...]:
        """The datasets of an average; the component table prints it without them: they are those of ``main``."""
        columns = self.datasets
        if self.tables == ("components",):
            columns = tuple(c.dataset for c in paper.printed() if c.table == "main")
        return tuple(dict.fromkeys(paper.averaged(average, columns)))


@dataclass
class Notes:
    """Remarks in the order of their first mark; ``scopes``: dataset -> what was measured of it, in sentences."""

    scopes: Mapping[str, Sequence[str]]
    said: list[str] = field(default_factory=list)

    def n(self, name: str, line: Line) -> str:
        """The number of pictures, where not all cells of a dataset are of the same ones."""
        return f", n = {line.n}" if len(self.scopes[name]) > 1 else ""

    def mark(self, remark: str) -> str:
        """`` [1]`` for a remark, nothing for none."""
        if not remark:
            return ""
        if remark not in self.said:
            self.said.append(remark)
        return f" [{self.said.index(remark) + 1}]"

    def told(self) -> tuple[str, ...]:
        """The sentences below the table."""
        return tuple(
            f"[{number}] Known to be wrong in the print, or doubtful: {remark}."
            for number, remark in enumerate(self.said, start=1)
        )


def shaped_sheets(
    found: Sequence[Line], backbones: Mapping[str, str] = paper.BACKBONES
) -> list[Sheet]:
    """A table for every part of a printed one that has a measured cell, per backbone, split and threat model.

    Printed numbers are those of the measured backbone; for one that the paper does not have, or an attack it does
    not print for it, those of ``USUAL``.

    Raises:
        DataError: the printed results are missing from this copy, or damaged.
    """
    sheets, blocks = [], _blocks(paper.printed())
    for group in _contexts(found):
        index = indexed(group)
        sheets += [_sheet(block, group, index, backbones) for block in _chosen(blocks, group, index, backbones)]  # fmt: skip
    return sheets


def _blocks(cells: Iterable[PrintedCell]) -> list[Block]:
    """The printed parts; what several tables repeat number by number (clean rows) once."""
    parts: dict[tuple, list[PrintedCell]] = {}
    for cell in cells:
        parts.setdefault((cell.table, cell.backbone, cell.attack, cell.budget), []).append(cell)
    alike: dict[tuple, Block] = {}
    for (table, backbone, attack, budget), part in parts.items():
        numbers = frozenset((c.method, c.dataset, c.accuracy) for c in part)
        key = (backbone, attack, budget, numbers)
        known = alike.get(key, Block((), backbone, attack, budget, tuple(part)))
        alike[key] = replace(known, tables=(*known.tables, table))
    return list(alike.values())


def _contexts(found: Sequence[Line]) -> list[list[Line]]:
    """Lines that may stand in one table: measured alike but for dataset, method and settings."""
    groups: dict[tuple, list[Line]] = {}
    for line in found:
        key = (line.backbone, line.weights, line.split, line.dataset.partition(":")[2], line.attack, line.budget,
               line.steps, line.threat)  # fmt: skip
        groups.setdefault(key, []).append(line)
    return list(groups.values())


def _chosen(
    blocks: Sequence[Block],
    group: Sequence[Line],
    index: Mapping[Key, Sequence[Line]],
    backbones: Mapping[str, str],
) -> list[Block]:
    """Same backbone first, then the usual ones, then any: each only while it shows a cell that was not shown yet."""
    names = dict.fromkeys(block.backbone for block in blocks)
    first = [name for name in names if same_backbone(name, group[0], backbones)]
    shown: set[str] = set()
    chosen: list[Block] = []
    for name in dict.fromkeys((*first, *(n for n in USUAL if n in names), *names)):
        mine = {block: _measured(block, index) for block in blocks if block.backbone == name}
        new = {key for keys in mine.values() for key in keys} - shown
        if new:
            chosen += [block for block, keys in mine.items() if keys]
            shown |= new
    return chosen


def _measured(block: Block, index: Mapping[Key, Sequence[Line]]) -> set[str]:
    """Which lines a block has a cell for, by method and dataset; an average counts when all of it is there."""
    there = {f"{one.method} {one.dataset}" for cell in block.cells for one in beside(cell, index)}
    for cell in block.cells:
        if cell.dataset in paper.AVERAGES:
            parts = [beside(replace(cell, dataset=d), index) for d in block.parts(cell.dataset)]
            if all(parts):
                there.add(f"{cell.method} {cell.dataset}")
    return there


def _sheet(
    block: Block,
    group: Sequence[Line],
    index: Mapping[Key, Sequence[Line]],
    backbones: Mapping[str, str],
) -> Sheet:
    scopes = _scopes(block, index)
    notes, rows = Notes(scopes), []
    for method in block.methods:
        printed = {c.dataset: c for c in block.cells if c.method == method}
        rows += _rows(block, printed, index, notes)
    same = same_backbone(block.backbone, group[0], backbones)
    below = [*notes.told(), TIMES]
    if any(line.method == "rita" for line in group):
        below.insert(-1, VARIANTS)
    if any(name in paper.AVERAGES for name in block.datasets):
        below.insert(0, f"{NOTHING}: not measured; an average of measured cells needs all of its datasets.")  # fmt: skip
    columns = tuple(
        f"{name} of {len(block.parts(name))}" if name in paper.AVERAGES else name
        for name in block.datasets
    )
    strength = attack_words(block.attack, block.budget or 0)
    names = " and ".join(f"“{table}”" for table in block.tables)
    return Sheet(
        f"{group[0].backbone} ({group[0].split}) beside the paper's table{'s' * (len(block.tables) > 1)} {names}, "
        f"{block.backbone}, {strength}",
        _above(block, group, scopes, same),
        ("method", "memory", *columns, "s per picture", "settings"),
        tuple(rows),
        tuple(below),
    )


def _scopes(block: Block, index: Mapping[Key, Sequence[Line]]) -> dict[str, list[str]]:
    """Dataset, as printed -> what its cells are of; more than one sentence where they are of different pictures."""
    found: dict[str, dict[str, str]] = {}
    for cell in _single(block):
        for line in beside(cell, index):
            said = " ".join((line.scope, *untouched(line)))
            found.setdefault(cell.dataset, {}).setdefault(line.scope, said)
    return {name: list(said.values()) for name, said in found.items()}


def _above(
    block: Block, group: Sequence[Line], scopes: Mapping[str, Sequence[str]], same: bool
) -> tuple[str, ...]:
    first = group[0]
    told = [f"{name}: {' '.join(said)}" for name, said in scopes.items()]
    by = "" if block.backbone in paper.BACKBONES else ", by the name of its file"
    if same:
        comparison = f"The backbone is the printed one{by}; a cell is comparable where pictures, class names, attack and settings are as well."  # fmt: skip
    else:
        comparison = f"{first.backbone} is not the {block.backbone} of the print: no number here reproduces a printed one."  # fmt: skip
    unbounded = first.attack in ATTACKS and not ATTACKS[first.attack].bounded
    return (
        f"Measured: {first.backbone} (weights {first.weights[:8]}), split {first.split}. {first.note}".rstrip(),
        *told,
        *first.threat,
        *(("The paper names a strength for this attack; as it is measured here it has none.",) if unbounded and block.budget else ()),
        comparison,
    )  # fmt: skip


def _single(block: Block) -> list[PrintedCell]:
    """A block's cells, averages taken apart."""
    found = []
    for cell in block.cells:
        average = cell.dataset in paper.AVERAGES
        parts = block.parts(cell.dataset) if average else (cell.dataset,)
        found += [replace(cell, dataset=name) for name in parts]
    return found


def _rows(
    block: Block,
    printed: Mapping[str, PrintedCell],
    index: Mapping[Key, Sequence[Line]],
    notes: Notes,
) -> list[tuple[str, ...]]:
    """A method's rows: one for every memory and setting it was measured with, or what is printed alone."""
    cells = {
        c.dataset: beside(c, index) for c in _single(block) if c.method == _any(printed).method
    }
    kinds = dict.fromkeys((one.protocol, one.special) for found in cells.values() for one in found)
    rows = []
    for kind in kinds or [None]:
        mine = {
            name: max(fitting, key=lambda one: (one.finished, one.n))
            for name, found in cells.items()
            if (fitting := [one for one in found if (one.protocol, one.special) == kind])
        }
        told = [_cell(block, name, printed.get(name), mine, notes) for name in block.datasets]
        rows.append((*_who(_any(printed), mine, told),))
    return rows


def _any(printed: Mapping[str, PrintedCell]) -> PrintedCell:
    return next(iter(printed.values()))


def _who(cell: PrintedCell, mine: Mapping[str, Line], told: Sequence[str]) -> tuple[str, ...]:
    """The whole row: method, memory, cells, time, settings."""
    name = paper.METHODS[cell.method]
    title = method_words(name) if cell.table != "components" else f"{cell.method} ({method_words(name)})"  # fmt: skip
    printed = f" (printed {paper.SECONDS[name]:.2f})" if name in paper.SECONDS else ""
    if not mine:
        return (title, "", *told, NOTHING + printed, "not measured")
    some = next(iter(mine.values()))
    mean = replace(
        some,
        looking=fmean(one.looking for one in mine.values()),
        seconds=fmean(one.seconds for one in mine.values()),
    )
    settings = some.special or "recommended"
    return (title, memory_words(some), *told, seconds_words(mean) + printed, settings)


def _cell(
    block: Block,
    name: str,
    printed: PrintedCell | None,
    mine: Mapping[str, Line],
    notes: Notes,
) -> str:
    value = NOTHING
    if name in paper.AVERAGES:
        parts = block.parts(name)
        if all(part in mine for part in parts):
            star = "" if all(mine[part].finished for part in parts) else "*"
            value = f"{fmean(mine[part].accuracy for part in parts):.1f}{star}"
    elif name in mine:
        value = accuracy_words(mine[name]) + notes.n(name, mine[name])
    if printed is None:
        return value
    return f"{value} (printed {printed.accuracy:.1f}{notes.mark(printed.remark)})"
