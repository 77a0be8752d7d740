"""Which measured cells belong beside a cell that the paper prints, for the tables and for the page.

Dataset, method, attack and budget must be the same. The backbone may differ; cells of the printed backbone come first,
and whatever shows another one names it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.evaluation.grouping import group_by
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import PaperResult

AnyCell = TypeVar("AnyCell", bound=MeasuredCell)
Key = tuple[str, str, str, int]  # dataset, method, attack, budget in 1/255


def index_cells(cells: Iterable[AnyCell]) -> dict[Key, list[AnyCell]]:
    """Measured cells by what they measure; ``dtd`` and ``dtd:present`` are the same dataset here."""
    return group_by(cells, lambda one: _key(one.dataset.partition(":")[0], one.method, one.attack, one.budget))


def matching(cell: PaperResult, index: Mapping[Key, Sequence[AnyCell]]) -> list[AnyCell]:
    """The measured cells of :func:`index_cells` for a printed one, those of its backbone first; none for an average."""
    if cell.dataset not in paper_results.DATASETS or cell.method not in paper_results.METHODS:
        return []
    dataset, method = paper_results.DATASETS[cell.dataset], paper_results.METHODS[cell.method]
    key = _key(dataset, method, paper_results.ATTACKS.get(cell.attack, ""), cell.budget or 0)
    return sorted(index.get(key, []), key=lambda one: not same_backbone(cell.backbone, one))


def same_backbone(printed: str, cell: MeasuredCell) -> bool:
    """Whether a cell was measured on the backbone that the paper calls ``printed``.

    A fine-tuned vision tower is a local file, recognised by its file name.
    """
    name = paper_results.BACKBONES.get(printed, "+")
    if "+" not in name:
        return name == cell.backbone
    base, _, tuned = printed.partition(" ")
    architecture, _, source = cell.backbone.partition(":")
    source = source.partition("+except=")[0]  # keys that may be missing, not a file
    file = PurePath(source.partition("+")[2] or source).name.lower()
    return bool(tuned) and architecture.startswith(base.replace("/", "-")) and tuned.lower() in file


def _key(dataset: str, method: str, attack: str, budget: int) -> Key:
    """The paper prints a budget for CW too; an attack without a bound is measured with budget 0."""
    bounded = attack != "none" and attack in ATTACKS and ATTACKS[attack].bounded
    return dataset, method, attack, budget if bounded else 0
