"""The paper's cells beside the measured ones, and how many of those that a run can measure are measured."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rita_demo.data import paper_results
from rita_demo.evaluation.report.paper_tables import (
    DEFAULT_BACKBONES,
    index_cells,
    is_inside,
    is_printed_backbone,
    measured_for,
    printed_key,
)
from rita_demo.evaluation.report.results import ResultRow
from rita_demo.paper import catalogue
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import PaperResult

CELL_COLUMNS = "table,backbone,method,dataset,attack,budget,printed,measured,low,high,n,difference,inside,remark"


@dataclass(frozen=True)
class Compared:
    """A printed cell and the measured one, None where it was not measured."""

    printed: PaperResult
    measured: ResultRow | None


@dataclass(frozen=True)
class Counted:
    """Printed cells: those of the datasets of a run (``possible``), of these the ``measured`` ones and those whose printed
    number is ``inside`` the measured interval, and those of ``other`` datasets. What several tables repeat counts once."""

    measured: int
    inside: int
    possible: int
    other: int

    @property
    def sentence(self) -> str:
        """What is measured of what can be."""
        if not self.possible:
            return "The paper prints no single cell of these datasets in these tables."
        other = f"; {self.other} more are of datasets that are not measured here" if self.other else ""
        return f"{self.measured} of {self.possible} printed cells of these datasets are measured{other}."


def printed_cells(wanted: Iterable[str]) -> list[PaperResult]:
    """The single cells of the wanted tables, of every model."""
    names = set(wanted)
    single = (one for one in paper_results.paper_results() if one.dataset not in paper_results.AVERAGES)
    return [one for one in single if catalogue.table_name(one.table) in names]


def is_in_paper(backbone: str) -> bool:
    """Whether the paper prints a cell of the model."""
    return any(is_printed_backbone(name, backbone) for name in {one.backbone for one in paper_results.paper_results()})


def compare(wanted: Iterable[str], backbone: str, rows: Sequence[ResultRow]) -> tuple[Compared, ...]:
    """The single printed cells of the wanted tables for the backbone. Where the paper does not have it: every cell once, of
    the first of the paper's models that has it."""
    index, every = index_cells(rows), printed_cells(wanted)
    own = [cell for cell in every if is_printed_backbone(cell.backbone, backbone)]
    if not is_in_paper(backbone):
        rank = {name: place for place, name in enumerate(DEFAULT_BACKBONES)}
        first = sorted(every, key=lambda one: rank.get(one.backbone, len(rank)))
        own = list({printed_key(cell): cell for cell in reversed(first)}.values())[::-1]
    found = []
    for cell in own:
        same = measured_for(cell, index)
        # the paper's RITA keeps its memory
        best = max(same, key=lambda one: (one.protocol == "stream", one.finished, one.n), default=None)
        found.append(Compared(cell, best))
    return tuple(found)


def of_other_models(wanted: Iterable[str], backbone: str) -> list[str]:
    """A sentence for every other model of the wanted tables; none where the paper does not have the backbone."""
    if not is_in_paper(backbone):
        return []
    models = group_by(printed_cells(wanted), lambda one: one.backbone)
    others = {name: cells for name, cells in models.items() if not is_printed_backbone(name, backbone)}
    return [
        f"{name} (`--backbone {paper_results.BACKBONES[name]}`): {len({printed_key(one) for one in cells})} printed cells "
        f"of {', '.join(dict.fromkeys(catalogue.table_name(one.table) for one in cells))}."
        for name, cells in others.items()
    ]


def count(cells: Iterable[Compared], datasets: Iterable[str]) -> Counted:
    """How many there are. ``datasets``: those of the run, also as ``dtd:present``."""
    here = {name.partition(":")[0] for name in datasets}
    distinct = {(key := printed_key(one.printed), one.printed.accuracy): (key[0] in here, one) for one in cells}
    possible = [one for is_here, one in distinct.values() if is_here]
    measured = [one for one in possible if one.measured]
    inside = sum(is_inside(one.measured, one.printed) for one in measured if one.measured)
    return Counted(len(measured), inside, len(possible), len(distinct) - len(possible))


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
