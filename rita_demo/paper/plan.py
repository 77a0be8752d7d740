"""What has to be measured for the paper's tables and figures, with the datasets that are here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.data.descriptions import BUILT_IN_ALL, descriptions_for
from rita_demo.evaluation.page.small_ablations import BUDGETS, VALUES
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, PictureSet, collect
from rita_demo.evaluation.report.paper_tables import PaperBlock, is_printed_backbone, printed_blocks
from rita_demo.evaluation.request import Request, parse_request
from rita_demo.paper import catalogue
from rita_demo.paper.compared import of_other_models
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import method_and_memory

PRESET, SPLIT, PROTOCOL = "paper", "test", "stream"
FIGURE_BUDGET = 1  # of the ablations, in 1/255: the main table's
FIGURE_DATASET = "dtd"  # of the ablations, where it is among the datasets; else the first
STEPS_SWEEP = "tuning_steps=0,1,2"  # of the figure of budgets by steps
TABLES, FIGURES = "tables", "figures"  # run folders below the output folder


@dataclass(frozen=True)
class Asked:
    """``wanted``: names of :func:`rita_demo.paper.catalogue.names`. ``datasets``: none for all of the paper that are below
    ``data_root``. ``limit``: pictures of each dataset, None for all."""

    wanted: tuple[str, ...]
    backbone: str
    data_root: Path | None
    out: Path
    datasets: tuple[str, ...] = ()
    limit: int | None = None

    def run_folder(self, kind: str) -> Path:
        """Where the measurements of the tables or figures go; those with a limit apart from the others."""
        return self.out / "runs" / (kind if self.limit is None else f"{kind}-{self.limit}")


@dataclass(frozen=True)
class Plan:
    """``requests`` in the order in which they are measured, their ``pictures`` (dataset -> set), and sentences on what
    the paper has and is ``missing`` here."""

    requests: tuple[Request, ...]
    pictures: Mapping[str, PictureSet]
    missing: tuple[str, ...]


def make_plan(asked: Asked) -> Plan:
    """The plan, with every picture opened once.

    Raises:
        DataError: nothing of it can be measured here.
    """
    blocks, missing = _blocks(asked), list[str]()
    needed = list(dict.fromkeys(dataset for dataset, _, _ in _cells(blocks)))
    pictures: dict[str, PictureSet] = {}
    for name in asked.datasets or needed:
        try:
            pictures[name] = collect(name, asked.data_root, SPLIT, limit=asked.limit, allow_partial=True)
        except DataError as error:
            missing.append(f"{name}: {error}")
    requests = [*_table_requests(asked, blocks, pictures), *_figure_requests(asked, list(pictures))]
    if not requests:
        raise DataError(
            f"Nothing of {', '.join(asked.wanted)[:200]} can be measured here. "
            + " ".join([*of_other_models(asked.wanted, asked.backbone), *missing][:3]),
            "Name the folder of the datasets with --data-root, or rehearse with --dataset textures, which needs none.",
        )
    missing += [sentence for one in pictures.values() for sentence in _partial(one)]
    return Plan(tuple(requests), pictures, tuple(missing))


def _blocks(asked: Asked) -> list[PaperBlock]:
    """The parts of the wanted tables that are printed for this backbone, or all where the paper does not have it."""
    every = printed_blocks()
    own = [block for block in every if is_printed_backbone(block.backbone, asked.backbone)] or every
    return [block for block in own if any(catalogue.table_name(table) in asked.wanted for table in block.tables)]


def _cells(blocks: Iterable[PaperBlock]) -> dict[tuple[str, str, int], tuple[str, ...]]:
    """(dataset, attack, budget) -> methods (``rita:off``: with its memory off): every printed cell once, an average as the
    cells that it is of."""
    found: dict[tuple[str, str, int], dict[str, None]] = {}
    for block in blocks:
        attack = paper_results.ATTACKS[block.attack]
        budget = (block.budget or 0) if attack != "none" and ATTACKS[attack].bounded else 0
        for cell in block.cells:
            for name in block.columns[cell.dataset]:
                key = paper_results.DATASETS[name], attack, budget
                found.setdefault(key, {})[paper_results.METHODS[cell.method]] = None
    return {key: tuple(methods) for key, methods in found.items()}


def _table_requests(asked: Asked, blocks: Sequence[PaperBlock], pictures: Iterable[str]) -> list[Request]:
    """One request per dataset, attack and budget. A dataset that the paper does not have gets all that is printed."""
    cells, requests = _cells(blocks), []
    for name in pictures:
        base = name.removesuffix(PRESENT_SUFFIX)
        own = {key: methods for key, methods in cells.items() if key[0] == base} or cells
        merged: dict[tuple[str, int], dict[str, None]] = {}
        for (_, attack, budget), methods in own.items():
            merged.setdefault((attack, budget), {}).update(dict.fromkeys(methods))
        for (attack, budget), names in merged.items():
            requests.append(_request(asked, TABLES, name, tuple(names), attack, str(budget)))
    order = list(dict.fromkeys((attack, budget) for _, attack, budget in cells))
    return sorted(requests, key=lambda r: order.index((r.points[0].attack, _budget(r))))


def _budget(request: Request) -> int:
    point = request.points[0]
    return point.budget if point.attack != "none" and ATTACKS[point.attack].bounded else 0


def figure_dataset(names: Iterable[str]) -> str:
    """The dataset of the ablations and the cloud."""
    return sorted(names, key=lambda name: name.removesuffix(PRESENT_SUFFIX) != FIGURE_DATASET)[0]


def _figure_requests(asked: Asked, names: Sequence[str]) -> list[Request]:
    """RITA by one setting, without an attack and under PGD, on one dataset."""
    if not names:
        return []
    home = figure_dataset(names)
    sweeps = {catalogue.STEPS: (STEPS_SWEEP, BUDGETS)}
    for setting, values in VALUES.items():
        text = f"{setting}={','.join(f'{value:g}' for value in values)}"
        sweeps[catalogue.ablation_name(setting)] = text, BUDGETS if setting == "tuning_steps" else str(FIGURE_BUDGET)
    return [
        _request(asked, FIGURES, home, ("rita",), "none,pgd", budget, sweep)
        for name, (sweep, budget) in sweeps.items()
        if name in asked.wanted
    ]


def _request(
    asked: Asked, kind: str, dataset: str, methods: Sequence[str], attacks: str, budget: str, sweep: str = ""
) -> Request:
    named = [method_and_memory(name) for name in methods]
    protocols = ",".join(dict.fromkeys((PROTOCOL, *(protocol for _, protocol in named if protocol))))
    words = {"start": PRESET, "attacks": attacks, "budget": budget, "protocols": protocols}
    return parse_request(
        *(dataset, [name for name, _ in named], "0", words | {"sweeps": [sweep] if sweep else []}),
        split=SPLIT,
        out=asked.run_folder(kind),
        data_root=asked.data_root,
        limit=asked.limit,
        allow_partial=True,
        backbone=asked.backbone,
    )


def _partial(pictures: PictureSet) -> Iterable[str]:
    """Sentences on what a dataset lacks."""
    name, classes = pictures.dataset, len(pictures.names)
    if pictures.classes_present < classes:
        yield f"{name}: only {pictures.classes_present} of {classes} classes have pictures; all are asked."
    if not any(descriptions_for(pictures.names, BUILT_IN_ALL)):
        yield f"{name}: there are no class descriptions; the paper has some."
    yield from (*pictures.cautions, *pictures.notes)
