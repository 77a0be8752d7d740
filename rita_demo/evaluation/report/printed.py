"""The paper's printed cells beside measured ones.

Dataset, method, attack and budget of both must be the same. The backbone may differ: cells of the printed one come first, and
whatever shows another one names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import PaperResult

if TYPE_CHECKING:
    from pandas import DataFrame

Key = tuple[str, str, str, int]  # dataset, method or method:protocol, attack, budget in 1/255
#: The paper's main backbones: shown beside a backbone that the paper does not have.
DEFAULT_BACKBONES = ("ViT-B/32", "ViT-B/16")
ROUNDED = 0.05  # points: the print has one decimal
COLUMNS = (
    *("table", "backbone", "method", "dataset", "attack", "budget", "printed", "measured", "low", "high", "n"),
    *("difference", "inside", "remark"),
)


def beside(printed: Iterable[PaperResult], cells: DataFrame) -> DataFrame:
    """One line per printed cell: ``COLUMNS``, ``model`` (the measured one), ``finished`` and ``cell``, the measured line of a
    single one; empty where it was not measured.

    Of several measured cells the one of the printed backbone, with its memory kept, finished, and of most pictures. An
    average is that of its datasets, where all are measured; it has no interval. ``inside``: whether the printed number is
    inside the measured 95 % interval, up to the rounding of the print.
    """
    import pandas

    index, lines = _index(cells), []
    for cell in printed:
        parts = []
        for name in parts_of(cell):
            fit = index.get(printed_key(replace(cell, dataset=name)), [])
            if cell.method in paper_results.WITH_MEMORY:
                fit = [measured for measured in fit if measured.protocol != "off"]
            parts += sorted(fit, key=lambda measured: not is_printed_backbone(cell.backbone, measured.backbone))[:1]
        names = ("table", "backbone", "method", "dataset", "attack", "budget", "remark")
        line: dict[str, Any] = {name: getattr(cell, name) for name in names} | {"printed": cell.accuracy}
        if parts and len(parts) == len(parts_of(cell)):
            first, share = parts[0], fmean(measured.accuracy for measured in parts)
            line |= {"measured": share, "difference": share - cell.accuracy}
            line |= {"model": first.backbone, "finished": all(measured.missing == 0 for measured in parts)}
            if cell.dataset not in paper_results.AVERAGES:
                inside = first.low - ROUNDED <= cell.accuracy <= first.high + ROUNDED
                line |= {"low": first.low, "high": first.high, "n": first.n, "inside": inside, "cell": first}
        lines.append(line)
    frame = pandas.DataFrame(lines, columns=[*COLUMNS, "model", "finished", "cell"])
    return frame.astype({"budget": "Int64", "n": "Int64", "inside": "boolean", "finished": "boolean"})


def parts_of(cell: PaperResult) -> tuple[str, ...]:
    """The datasets (the paper's names) that a printed cell is of: those of an average, else its own. The table of components
    prints an average without its datasets; they are those of the main table."""
    if cell.dataset not in paper_results.AVERAGES:
        return (cell.dataset,)
    rows = [row for row in paper_results.paper_results() if paper_results.ROW(row) == paper_results.ROW(cell)]
    if cell.table == "components":
        rows = [row for row in paper_results.paper_results() if row.table == "main"]
    return paper_results.averaged_datasets(cell.dataset, dict.fromkeys(row.dataset for row in rows))


def _index(cells: DataFrame) -> dict[Key, list[Any]]:
    """Measured cells by what they measure, under ``method`` and under ``method:protocol``, the best first; ``dtd`` and
    ``dtd:present`` are the same dataset here."""
    ordered = cells.assign(kept=cells["protocol"] == "stream", whole=cells["missing"] == 0)
    ordered = ordered.sort_values(["kept", "whole", "n"], ascending=False, kind="stable")
    index: dict[Key, list[Any]] = {}
    for line in ordered.itertuples():
        for method in (line.method, f"{line.method}:{line.protocol}"):
            key = _key(line.dataset.partition(":")[0], method, line.attack, line.budget)
            index.setdefault(key, []).append(line)
    return index


def printed_key(cell: PaperResult) -> Key:
    """What a printed single cell measures."""
    dataset, method = paper_results.DATASETS.get(cell.dataset, ""), paper_results.METHODS.get(cell.method, "")
    return _key(dataset, method, paper_results.ATTACKS.get(cell.attack, ""), cell.budget or 0)


def _key(dataset: str, method: str, attack: str, budget: int) -> Key:
    """The paper prints a budget for CW too; an attack without a bound is measured with budget 0."""
    bounded = attack != "none" and attack in ATTACKS and ATTACKS[attack].bounded
    return dataset, method, attack, budget if bounded else 0


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


def is_in_paper(backbone: str) -> bool:
    """Whether the paper prints a cell of the model."""
    names = {cell.backbone for cell in paper_results.paper_results()}
    return any(is_printed_backbone(name, backbone) for name in names)


def printed_for(backbone: str, tables: Sequence[str]) -> list[PaperResult]:
    """The printed cells of the tables (the paper's names) for a backbone. Where the paper does not have it: every cell once,
    of the first of the paper's models that has it."""
    every = [cell for cell in paper_results.paper_results() if cell.table in tables]
    if is_in_paper(backbone):
        return [cell for cell in every if is_printed_backbone(cell.backbone, backbone)]
    every.sort(key=lambda cell: [*DEFAULT_BACKBONES, cell.backbone].index(cell.backbone))
    alike = group_by(every, lambda cell: (cell.dataset, cell.method, cell.attack, cell.budget))
    return [same[0] for same in alike.values()]


def of_other_models(backbone: str, tables: Sequence[str]) -> list[str]:
    """A sentence for every other model of the tables; none where the paper does not have the backbone."""
    if not is_in_paper(backbone):
        return []
    every = [cell for cell in paper_results.paper_results() if cell.dataset in paper_results.DATASETS]
    cells = [cell for cell in every if cell.table in tables]
    return [
        f"{name} (`--backbone {paper_results.BACKBONES[name]}`): {len(set(map(printed_key, same)))} printed cells "
        f"of {', '.join(dict.fromkeys(cell.table for cell in same))}."
        for name, same in group_by(cells, lambda cell: cell.backbone).items()
        if not is_printed_backbone(name, backbone)
    ]


def as_csv(lines: DataFrame) -> str:
    """``COLUMNS`` of the single cells, an average being none; empty where a cell was not measured."""
    single = lines[~lines["dataset"].isin(list(paper_results.AVERAGES))]
    text = single.assign(inside=single["inside"].astype("Int64"), difference=single["difference"].map("{:+.2f}".format))
    text["difference"] = text["difference"].where(single["measured"].notna(), "")
    for name in ("measured", "low", "high"):
        text[name] = single[name].map(lambda value: "" if value != value else f"{value:.2f}")
    return text[list(COLUMNS)].to_csv(index=False, lineterminator="\n")


def counted(lines: DataFrame, datasets: Iterable[str]) -> tuple[int, int, int, int]:
    """Printed single cells that are measured, those whose printed number is inside the measured interval, those of the
    ``datasets`` of a run (also as ``dtd:present``), and those of others. What several tables repeat counts once."""
    here = {name.partition(":")[0] for name in datasets}
    single = lines[~lines["dataset"].isin(list(paper_results.AVERAGES))]
    single = single.drop_duplicates(["backbone", "method", "dataset", "attack", "budget", "printed"])
    possible = single["dataset"].map(paper_results.DATASETS).isin(here)
    mine = single[possible]
    return int(mine["measured"].notna().sum()), int(mine["inside"].sum()), len(mine), int((~possible).sum())
