"""The accuracies of the paper's tables, cell by cell, with remarks on known misprints."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path

from rita_demo.data.shipped_results import read_records
from rita_demo.process.assets import ASSETS
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import PaperResult

TABLES = ASSETS / "paper_tables.csv"
AVERAGES = {"Avg": None, "OOD Avg": {"ImageNet-A", "ImageNet-V2", "ImageNet-R", "ImageNet-S"}}
ROW = attrgetter("table", "backbone", "method", "attack", "budget")
ROUNDING = 0.11  # largest error of a mean of cells that are rounded to one decimal, in points

#: Datasets, methods and attacks: name in the paper -> name in measured tables.
_LOWERED = "Caltech101 DTD Pets Cars EuroSAT Aircraft UCF101 SUN397 Food101 ImageNet ImageNet-A ImageNet-V2 ImageNet-R"
DATASETS = {name: name.lower().replace("-", "_") for name in _LOWERED.split()}
DATASETS |= {"Flower102": "flowers102", "ImageNet-S": "imagenet_sketch"}
METHODS = {name: name.lower().replace("-", "") for name in ("CLIP", "Ensemble", "TPT", "C-TPT", "MTA", "R-TPT", "RITA")}
METHODS |= {  # the component table: the two distances off and on; rita:off is RITA with its memory off
    "d_OT no, d_cOT no": "clip",
    "d_OT yes, d_cOT no": "rita:off",
    "d_OT no, d_cOT yes": "rita_memory",
    "d_OT yes, d_cOT yes": "rita",
}
WITH_MEMORY = ("d_OT no, d_cOT yes", "d_OT yes, d_cOT yes")  # no cell without memory is measured for these
ATTACKS = {name: name.lower() for name in ("none", "PGD", "DI", "FGSM")}
ATTACKS |= {"CW": "cw_l2", "AA": "autoattack", "adaptive": "eot"}
#: The paper's run times in seconds per picture: ViT-B/16, budget 1/255; the GPU is not named.
SECONDS = {"tpt": 1.52, "ctpt": 1.64, "mta": 1.20, "rtpt": 1.70, "rita": 1.76}

#: Name in the paper -> value of ``--backbone``. The fine-tuned vision towers are files of their authors: replace the
#: file name by the path of your copy.
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
def paper_results(path: Path = TABLES) -> tuple[PaperResult, ...]:
    """Every cell in the order of the paper, with remarks. One that a table prints twice alike, as the clean accuracies
    beside each attack, is one cell. Raises DataError: the file is missing or damaged."""
    cells = tuple(dict.fromkeys(read_records(path, PaperResult, "the paper's tables")))
    rows = group_by(cells, ROW)
    return tuple(replace(cell, remark=_remark(cell, rows[ROW(cell)])) for cell in cells)


def averaged_datasets(average: str, datasets: Iterable[str]) -> tuple[str, ...]:
    """The ``datasets`` of a row (names in the paper) that a column of :data:`AVERAGES` is the mean of."""
    chosen = AVERAGES[average]
    single = (name for name in datasets if name not in AVERAGES)
    return tuple(name for name in single if chosen is None or name in chosen)


def _remark(cell: PaperResult, row: Sequence[PaperResult]) -> str:
    """What is wrong with a cell; ``row``: all cells of its row."""
    remarks = []
    accuracies = {c.dataset: c.accuracy for c in row}
    is_rn50 = (accuracies.get("Caltech101"), accuracies.get("Flower102")) == (85.9, 61.7)
    if (cell.backbone, cell.method, cell.attack) == ("ViT-B/16", "CLIP", "none") and is_rn50:
        remarks.append("almost certainly the row of CLIP-RN50, not of ViT-B/16")
    if cell.table == "components":
        remarks.append("the component table disagrees with the main ViT-B/32 table (58.6 / 49.7)")
        if cell.dataset == "ImageNet" and cell.method == "d_OT no, d_cOT no":
            remarks.append("this cell is the average over the ImageNet variants")
    if cell.dataset in AVERAGES:
        parts = [accuracies[name] for name in averaged_datasets(cell.dataset, accuracies)]
        mean = sum(parts) / len(parts) if parts else cell.accuracy
        if abs(mean - cell.accuracy) > ROUNDING:
            remarks.append(f"its row averages {mean:.2f}")
    return "; ".join(remarks)
