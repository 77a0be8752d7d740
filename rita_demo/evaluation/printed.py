"""Which measured cells stand beside a printed one: for the tables and for the page.

The same dataset, method, attack and strength. The backbone need not be the same, but a cell of the printed
backbone comes first, and whoever shows another one has to name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper
from rita_demo.records import MeasuredCell
from rita_demo.surveys import PrintedCell

C = TypeVar("C", bound=MeasuredCell)
Key = tuple[str, str, str, int]  # dataset, method, attack, budget in 1/255


def indexed(found: Iterable[C]) -> dict[Key, list[C]]:
    """Measured cells by what they measure, in their order; asked about all class names or those present."""
    index: dict[Key, list[C]] = {}
    for cell in found:
        key = _key(cell.dataset.partition(":")[0], cell.method, cell.attack, cell.budget)
        index.setdefault(key, []).append(cell)
    return index


def beside(
    cell: PrintedCell,
    index: Mapping[Key, Sequence[C]],
    backbones: Mapping[str, str] = paper.BACKBONES,
) -> list[C]:
    """The measured cells of :func:`indexed` for a printed one, those of the same backbone first; none for an average.

    ``backbones``: name in the print -> name in measured tables.
    """
    if cell.dataset not in paper.DATASETS or cell.method not in paper.METHODS:
        return []
    key = _key(
        paper.DATASETS[cell.dataset],
        paper.METHODS[cell.method],
        paper.ATTACKS.get(cell.attack, ""),
        cell.budget or 0,
    )
    return sorted(
        index.get(key, []), key=lambda one: not same_backbone(cell.backbone, one, backbones)
    )


def same_backbone(
    printed: str, cell: MeasuredCell, backbones: Mapping[str, str] = paper.BACKBONES
) -> bool:
    """Whether a cell was measured on the backbone of that name in the print.

    A fine-tuned vision tower is a file of one's own: it is the printed one when its file is called so.
    """
    spec = backbones.get(printed, "+")
    if "+" not in spec:
        return spec == cell.backbone
    base, _, tuned = printed.partition(" ")
    architecture, _, source = cell.backbone.partition(":")
    source = source.partition("+except=")[0]  # keys that may be missing, not a file
    file = PurePath(source.partition("+")[2] or source).name.lower()
    return bool(tuned) and architecture.startswith(base.replace("/", "-")) and tuned.lower() in file


def _key(dataset: str, method: str, attack: str, budget: int) -> Key:
    """The paper prints a strength for CW too; an attack that has no bound is measured without one."""
    strength = budget if attack in ATTACKS and ATTACKS[attack].bounded else 0
    return dataset, method, attack, 0 if attack == "none" else strength
