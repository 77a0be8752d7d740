"""The accuracies that the paper prints, cell by cell, with what is known to be wrong with some of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from rita_demo.errors import DataError
from rita_demo.surveys import PrintedCell

TABLES = Path(__file__).resolve().parents[2] / "assets" / "paper_tables.csv"
AVERAGES = {"Avg": None, "OOD Avg": {"ImageNet-A", "ImageNet-V2", "ImageNet-R", "ImageNet-S"}}
ROUNDING = 0.11  # points that a mean of cells, each rounded to one decimal, may be off

#: Name in the print -> name in measured tables.
DATASETS = {
    "Caltech101": "caltech101", "DTD": "dtd", "Pets": "pets", "Cars": "cars", "EuroSAT": "eurosat",
    "Flower102": "flowers102", "Aircraft": "aircraft", "UCF101": "ucf101", "SUN397": "sun397",
    "Food101": "food101", "ImageNet": "imagenet", "ImageNet-A": "imagenet_a",
    "ImageNet-V2": "imagenet_v2", "ImageNet-R": "imagenet_r", "ImageNet-S": "imagenet_sketch",
}  # fmt: skip
METHODS = {
    "CLIP": "clip", "Ensemble": "ensemble", "TPT": "tpt", "C-TPT": "ctpt", "MTA": "mta",
    "R-TPT": "rtpt", "RITA": "rita",
    # the component table: the two costs off and on
    "d_OT no, d_cOT no": "clip", "d_OT yes, d_cOT no": "rita_prompts",
    "d_OT no, d_cOT yes": "rita_memory", "d_OT yes, d_cOT yes": "rita",
}  # fmt: skip
ATTACKS = {"none": "none", "PGD": "pgd", "CW": "cw_l2", "DI": "di", "AA": "autoattack",
           "FGSM": "fgsm", "adaptive": "eot"}  # fmt: skip
#: Printed run time in seconds per picture: ViT-B/16, budget 1/255; the GPU is not named.
SECONDS = {"tpt": 1.52, "ctpt": 1.64, "mta": 1.20, "rtpt": 1.70, "rita": 1.76}

#: Name in the print -> what ``--backbone`` wants. The fine-tuned vision towers are files that everybody has to fetch
#: from their authors: put the path of one in the place of its name.
BACKBONES: dict[str, str] = {
    "ViT-B/32": "ViT-B-32-quickgelu:openai",
    "ViT-B/16": "ViT-B-16-quickgelu:openai",
    "RN50": "RN50-quickgelu:openai",
    "OpenCLIP": "ViT-B-32:laion2b_s34b_b79k",
    "EVA-CLIP": "EVA02-B-16:merged2b_s8b_b131k",
    "ViT-B/32 TeCoA": "ViT-B-32-quickgelu:openai+tecoa.pt",
    "ViT-B/32 PMG": "ViT-B-32-quickgelu:openai+pmg.pt",
    "ViT-B/32 FARE": "ViT-B-32-quickgelu:openai+fare.pt",
}


@cache
def printed(path: Path = TABLES) -> tuple[PrintedCell, ...]:
    """Every printed cell in the order of the print, with remarks.

    Raises:
        DataError: the file is missing or damaged.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            cells = tuple(_cell(row) for row in csv.DictReader(file))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path.name} is not the table of printed results.", "Copy it from the project again."
        ) from error
    rows: dict[tuple, list[PrintedCell]] = {}
    for cell in cells:
        rows.setdefault(_row(cell), []).append(cell)
    return tuple(replace(cell, remark=_remark(cell, rows[_row(cell)])) for cell in cells)


def averaged(average: str, datasets: Iterable[str]) -> tuple[str, ...]:
    """Which of a row's ``datasets`` (names in the print) a column of :data:`AVERAGES` is the mean of."""
    chosen = AVERAGES[average]
    single = (name for name in datasets if name not in AVERAGES)
    return tuple(name for name in single if chosen is None or name in chosen)


def _cell(row: dict[str, str]) -> PrintedCell:
    return PrintedCell(
        row["table"], row["backbone"], row["method"], row["dataset"], row["attack"],
        int(row["budget_255"]) if row["budget_255"] else None, float(row["accuracy"]),
    )  # fmt: skip


def _row(cell: PrintedCell) -> tuple:
    return (cell.table, cell.backbone, cell.method, cell.attack, cell.budget)


def _remark(cell: PrintedCell, row: Sequence[PrintedCell]) -> str:
    """What is wrong with a cell, from the print itself: ``row`` are its neighbours in the table."""
    said = []
    if (cell.backbone, cell.method, cell.attack) == ("ViT-B/16", "CLIP", "none") and _is_rn50(row):
        said.append("almost certainly the row of CLIP-RN50, not of ViT-B/16")
    if cell.table == "components":
        said.append("the component table disagrees with the main ViT-B/32 table (58.6 / 49.7)")
        if cell.dataset == "ImageNet" and cell.method == "d_OT no, d_cOT no":
            said.append("this cell is the average over the ImageNet variants")
    if cell.dataset in AVERAGES:
        over = averaged(cell.dataset, [c.dataset for c in row])
        parts = [c.accuracy for c in row if c.dataset in over]
        mean = sum(parts) / len(parts) if parts else cell.accuracy
        if abs(mean - cell.accuracy) > ROUNDING:
            said.append(f"its row averages {mean:.2f}")
    return "; ".join(said)


def _is_rn50(row: Sequence[PrintedCell]) -> bool:
    """Whether a row has RN50's well-known clean accuracies on Caltech101 and Flowers."""
    known = {c.dataset: c.accuracy for c in row}
    return (known.get("Caltech101"), known.get("Flower102")) == (85.9, 61.7)
