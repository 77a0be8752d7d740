"""The arena: every defence against every attacker on one picture, in one model or two, from cheap to expensive."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rita_demo.attacks import ATTACKS
from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import attack_picture_steps, defend
from rita_demo.process.generators import Steps
from rita_demo.records import BackboneInfo, CacheState, DefenceFault, Run, Verdict
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.settings.attack_name import AGAINST, EACH
from rita_demo.settings.models import EMBEDDED, EMBEDDED_ROBUST

#: Column -> its heading.
COLUMNS = {
    "none": "no attack",
    "pgd": "PGD",
    "transfer": "made for another row",
    "autoattack": "AutoAttack",
    "adaptive": "knows this row",
}
STATIC = ("pgd", "transfer", "autoattack")  # made by attackers who do not know the row's defence


def own_columns() -> dict[str, str]:
    """Name -> title of the attacks that the owner or a script loaded: none of them knows the row's defence."""
    return {name: attack.column_title for name, attack in ATTACKS.items() if attack.plugin}


def columns() -> dict[str, str]:
    """All columns, the attacker who knows the row last."""
    last = "adaptive"
    return {name: title for name, title in COLUMNS.items() if name != last} | own_columns() | {last: COLUMNS[last]}


def static_columns() -> tuple[str, ...]:
    """:data:`STATIC` and :func:`own_columns`."""
    return (*STATIC, *own_columns())


#: Against this defence, and for its own row against the second one, the attacks of the column "transfer" are made.
TRANSFER = ("ensemble", "rita")
STEP_SECONDS = 0.04  # of PGD, one view, on the machine of docs/performance.md
#: The towers that stand side by side: the shipped one, and the one that was trained against attacks.
TOWERS = (EMBEDDED, EMBEDDED_ROBUST)

#: (defence, column) -> its answer, or a sentence why there is none.
Cells = Mapping[tuple[str, str], "Verdict | str"]


@dataclass(frozen=True)
class TowerTable:
    """One model's cells."""

    backbone: BackboneInfo
    label: int  # the true class, or CLIP's answer in this model where none was given
    cache: CacheState  # the memory that the model decides from
    cells: Cells = field(default_factory=dict)

    @property
    def right(self) -> dict[tuple[str, str], bool]:
        """Whether the answer of a cell is the true class, for the cells that have one."""
        return {at: cell.label == self.label for at, cell in self.cells.items() if isinstance(cell, Verdict)}


@dataclass(frozen=True)
class ArenaTable:
    """The table of the picture of ``run`` with its settings, class names and true class; ``towers`` by model name.
    ``stored``: it comes with this project."""

    run: Run
    methods: tuple[str, ...]
    towers: Mapping[str, TowerTable] = field(default_factory=dict)
    stored: bool = False

    def fits(self, run: Run | None) -> bool:
        """Whether ``run`` asks the same, with any attack of the table, and decides from the same memory."""
        own = None if run is None else self.towers.get(run.backbone.name)
        if run is None or own is None:
            return run is self.run
        first, second = (
            (run.clean.picture.key, run.class_prompts.names, run.label_given and run.label, unattacked(run.settings))
            for run in (self.run, run)
        )
        same_memory = (
            np.array_equal(getattr(own.cache, part), getattr(run.cache_before, part)) for part in ("count", "features")
        )
        return first == second and all(same_memory)


@dataclass(frozen=True)
class TableProgress:
    """What is under way, the share of the work that is done, the table so far, and the cells (model, defence, column) that
    are measured now."""

    sentence: str
    fraction: float
    table: ArenaTable
    cells: frozenset[tuple[str, str, str]] = frozenset()


def attacker_of(name: str, column: str) -> tuple[str, str]:
    """The attack of a cell, and the defence that it is made against; "" for CLIP."""
    if column == "transfer":
        return "adaptive", TRANSFER[name == TRANSFER[0]]
    return column, name if column == "adaptive" else ""


def cell_settings(settings: Settings, name: str, column: str) -> Settings:
    """The settings of a run that gives this cell."""
    attack, against = attacker_of(name, column)
    return settings.replace(attack=attack, **({AGAINST: against} if against else {}))


def unattacked(settings: Settings) -> Settings:
    """The settings without the attack that each cell brings itself."""
    return settings.replace(attack="none", **{AGAINST: EACH})


Job = tuple[str, str, str]  # an attack, the defence that it is made against ("" for CLIP), and the model


def due_jobs(
    names: Iterable[str], methods: Sequence[str], attackers: Sequence[str], known: ArenaTable | None
) -> dict[Job, list[tuple[str, str]]]:
    """The attacks that fill the cells of ``methods`` and ``attackers`` in the models of these names -> the cells that each
    fills. What ``known`` has is not due."""
    due: dict[Job, list[tuple[str, str]]] = {}
    for name in names:
        tower = None if known is None else known.towers.get(name)
        for cell in ((method, column) for method in methods for column in columns() if column in attackers):
            if tower is None or cell not in tower.cells:
                due.setdefault((*attacker_of(*cell), name), []).append(cell)
    return due


def expected_seconds(jobs: Iterable[Job], run: Run) -> float:
    """About how long these attacks take: what they took on the machine of docs/performance.md, times the passes that are
    asked now, times how much slower the attack of ``run`` was here than there (at most eight times: one attack that waited
    says no more)."""
    settings, own = run.settings, run.settings.attack
    passes = _passes(settings) / _passes(RECOMMENDED)
    pace = 1.0
    if run.attack is not None:
        against = getattr(settings, AGAINST)
        if own == "adaptive" and against in DEFENCES:
            pace = run.attack.seconds / (passes * DEFENCES[against].attack_seconds)
        elif own != "autoattack":  # one pass of one view a step
            pace = run.attack.seconds / (STEP_SECONDS * max(settings.steps, 1))
    return min(max(pace, 1 / 8), 8) * sum(_seconds(job) * (passes if job[0] == "adaptive" else 1) for job in jobs)


def arena_steps(
    engines: Sequence[Engine],
    run: Run,
    methods: Sequence[str],
    known: ArenaTable | None = None,
    attackers: Sequence[str] | None = None,
) -> Generator[TableProgress, None, ArenaTable]:
    """Fill the cells of ``methods`` and ``attackers`` (None: all columns), from cheap to expensive, in every engine; yields
    after every step of an attack.

    ``known``: a table that fits the run; its cells are kept."""
    by_name = {engine.info.name: engine for engine in engines}
    due = due_jobs(by_name, methods, tuple(columns()) if attackers is None else attackers, known)
    kept, rows = ({}, ()) if known is None else (known.towers, known.methods)
    towers = {name: kept.get(name) or _new_tower(engine, run) for name, engine in by_name.items()}
    asked = [name for name in DEFENCES if name in {*rows, *methods}] if rows else methods
    table = ArenaTable(run, tuple(asked), {**kept, **towers}, stored=known is not None and known.stored)
    order = list(dict.fromkeys(job[:2] for job in due))
    jobs = sorted(due, key=lambda job: (_seconds(job), order.index(job[:2])))
    total, done = sum(map(_seconds, jobs)), 0.0
    for job in jobs:
        attack, against, name = job
        steps = Steps(_job_steps(by_name[name], table.run, table.towers[name], attack, against, due[job]))
        cells = frozenset((name, *cell) for cell in due[job])
        for sentence, share in steps:
            yield TableProgress(sentence, (done + share * _seconds(job)) / total, table, cells)
        table = replace(table, towers={**table.towers, name: steps.value})
        done += _seconds(job)
        answers = sum(len(tower.cells) for tower in table.towers.values())
        yield TableProgress(f"{answers} answers", done / total, table)
    return table


def _seconds(job: Job) -> float:
    """Processor seconds with the recommended settings (docs/performance.md). An attack that ends where it succeeds takes
    longer in the tower that it does not fool."""
    attack, against, model = job
    stands = model == EMBEDDED_ROBUST
    if against:
        return DEFENCES[against].attack_seconds * (2 if stands else 1)
    return ATTACKS[attack].seconds * (2 if stands else 0.05) if attack == "autoattack" else ATTACKS[attack].seconds


def _passes(settings: Settings) -> float:
    """Of one picture through the vision tower, for a start of the attacker who knows a defence."""
    return float(getattr(settings, "adaptive.steps") * settings.attack_views)


def _new_tower(engine: Engine, run: Run) -> TowerTable:
    if engine.info.name == run.backbone.name:
        return TowerTable(engine.info, run.label, run.cache_before)
    settings = unattacked(run.settings)
    prompts, label = engine.encode_classes(run.class_prompts.names, settings), run.label
    if not run.label_given:
        views = engine.encode_views(run.clean.picture, settings)
        clip = engine.answers(views, prompts, settings, ["clip"])["clip"]
        assert isinstance(clip, Verdict), "a built-in defence has no fault"
        label = clip.label
    return TowerTable(engine.info, label, engine.empty_cache(prompts, settings))


def _job_steps(
    engine: Engine, run: Run, tower: TowerTable, attack: str, against: str, due: Sequence[tuple[str, str]]
) -> Generator[tuple[str, float], None, TowerTable]:
    """Make one attack and fill the cells ``due``; yields a sentence and the share that is done."""
    yield f"{tower.backbone.title}: {f'knows {DEFENCES[against].title}' if against else columns()[attack]}", 0.0
    cells: dict[tuple[str, str], Verdict | str] = {}
    settings, picture = cell_settings(run.settings, *due[0]), run.clean.picture
    try:
        prompts = engine.encode_classes(run.class_prompts.names, settings)
        if attack != "none":
            steps = Steps(attack_picture_steps(engine, run.clean, prompts, settings, tower.label, None, tower.cache))
            for step in steps:
                yield f"{tower.backbone.title}: {step.sentence}", (step.fraction - 0.3) / 0.5
            picture = picture_of(steps.value.pixels)
        result, _ = defend(engine, picture, prompts, tower.cache, settings, methods=[name for name, _ in due])
        for name, column in due:
            fault = result.faults.get(name, DefenceFault("No answer under these settings."))
            verdict = result.verdicts.get(name)
            cells[name, column] = fault.sentence if verdict is None else replace(verdict, added=None)
    except DemoError as error:  # a package that is missing, or a plugin without a gradient: the others go on
        cells = dict.fromkeys(due, error.message)
    return replace(tower, cells={**tower.cells, **cells})


def masked(tower: TowerTable, name: str) -> bool:
    """Whether a defence stands against the attacker who knows it, but not against one who does not: then the first is
    too weak, and its cell says nothing."""
    right = tower.right
    unaware = (right.get((name, column), True) for column in static_columns())
    return right.get((name, "adaptive"), False) and not all(unaware)


def wrong_before(tower: TowerTable, name: str) -> bool:
    """Whether a defence is wrong without an attack: that it is wrong under one is no success of the attack."""
    return not tower.right.get((name, "none"), True)


def standing(tower: TowerTable, methods: Iterable[str], column: str) -> tuple[int, int]:
    """How many defences are right under the attacker of a column, and of how many: those with an answer there, without those
    that are :func:`wrong_before` and, under the attacker who knows them, those whose cell is :func:`masked`."""
    judged = [
        right
        for name in methods
        if (right := tower.right.get((name, column))) is not None
        and not (column != "none" and wrong_before(tower, name))
        and not (column == "adaptive" and masked(tower, name))
    ]
    return sum(judged), len(judged)
