"""How much of a plan is stored, for a report that is written while the measurement goes on or after it was killed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rita_demo.evaluation.page.small_ablations import VALUES
from rita_demo.evaluation.pictures import PictureSet
from rita_demo.evaluation.planned_cells import ModelFacts
from rita_demo.evaluation.report.tables import attack_text
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.store.run_folder import RunFolder, StoredCell
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import MEMORY_TEXT


@dataclass(frozen=True)
class Stored:
    """``share`` of the pictures that are stored, 0 to 1, each counted once per group of cells as a pace counts them; and a
    sentence per dataset, attack and number of pictures on the cells that lack some (``unfinished``), each named once."""

    share: float
    unfinished: tuple[str, ...]


def stored(requests: Iterable[Request], pictures: Mapping[str, PictureSet], facts: ModelFacts) -> Stored:
    """What is stored of the requests. Nothing is changed, and nothing locked."""
    done, total, unfinished, named = 0.0, 0, list[str](), set[Path]()
    for request in requests:
        folder = RunFolder(request, pictures, facts)
        groups = list(folder.stored())
        done += sum(sum(one.done for one in group) / len(group) for group in groups)
        total += sum(group[0].total for group in groups)
        cells = {folder.cell_folder(one.dataset, one.cell): one for group in groups for one in group}
        unfinished += _unfinished(cells.values(), [one for place, one in cells.items() if place not in named])
        named |= cells.keys()
    return Stored(done / max(1, total), tuple(unfinished))


def _unfinished(cells: Iterable[StoredCell], unnamed: Iterable[StoredCell]) -> Iterator[str]:
    """``dtd, pgd 1/255, 3 of 20 pictures: clip, ensemble``; a cell of a figure with the setting that it varies, one of a
    method that is measured with several memories with its own. ``unnamed``: those of the cells that no earlier request has."""
    cells = list(cells)
    memories = group_by({(one.cell.method, one.cell.settings.protocol) for one in cells}, lambda pair: pair[0])
    varied = [name for name in VALUES if len({getattr(one.cell.requested, name) for one in cells}) > 1]
    lacking = group_by((one for one in unnamed if one.done < one.total), _where)
    for (dataset, attack, done, total), same in lacking.items():
        names = (
            " ".join(
                [
                    one.cell.method,
                    *([f"({MEMORY_TEXT[one.cell.settings.protocol]})"] if len(memories[one.cell.method]) > 1 else []),
                    *(f"{n}={getattr(one.cell.requested, n):g}" for n in varied),
                ]
            )
            for one in same
        )
        yield f"{dataset}, {attack}, {done} of {total} pictures: {', '.join(names)}"


def _where(one: StoredCell) -> tuple[str, str, int, int]:
    return one.dataset, attack_text(one.cell.attack_label, one.cell.settings.budget), one.done, one.total
