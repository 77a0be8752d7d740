"""The arena: every defence against every attacker on one picture, in one model or two, from cheap to expensive."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rita_demo.attacks.adaptive import AGAINST, EACH
from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import attack_picture_steps, defend
from rita_demo.records import BackboneInfo, CacheState, DefenceFault, ImageResult, Run, Verdict
from rita_demo.records.errors import DemoError
from rita_demo.settings import Settings
from rita_demo.vlm.catalogue import EMBEDDED, EMBEDDED_ROBUST

#: Column -> its heading.
COLUMNS = {
    "none": "no attack",
    "pgd": "PGD",
    "transfer": "made for another row",
    "autoattack": "AutoAttack",
    "adaptive": "knows this row",
}
STATIC = ("pgd", "transfer", "autoattack")  # made by attackers who do not know the row's defence
#: Against this defence, and for its own row against the second one, the attacks of the column "transfer" are made.
TRANSFER = ("ensemble", "rita")
#: The towers that stand side by side: the shipped one, and the one that was trained against attacks.
TOWERS = (EMBEDDED, EMBEDDED_ROBUST)
#: Seconds of processor time of an attack, or of the adaptive attack against a defence, with the embedded model
#: (docs/performance.md): cheap ones first, and the time left. A guest takes as long as SS-TPT.
SECONDS = {"none": 1, "pgd": 1, "clip": 2, "clipure": 2, "ttc": 4, "csr": 4, "ensemble": 7, "mta": 7, "rtpt": 10}
SECONDS |= {"tpt": 10, "ctpt": 10, "dbd": 13, "sstpt": 14, "rita": 15, "autoattack": 90}

#: (defence, column) -> its answer, or a sentence why there is none.
Cells = Mapping[tuple[str, str], "Verdict | str"]


@dataclass(frozen=True)
class TowerTable:
    """One model's cells; ``label`` is the true class, or CLIP's answer in this model where none was given, and
    ``cache`` the memory that the model decides from."""

    backbone: BackboneInfo
    label: int
    cache: CacheState
    cells: Cells = field(default_factory=dict)


@dataclass(frozen=True)
class ArenaTable:
    """The table of the picture of ``run`` with its settings, class names and true class; ``towers`` by model name."""

    run: Run
    methods: tuple[str, ...]
    towers: Mapping[str, TowerTable] = field(default_factory=dict)

    def fits(self, run: Run | None) -> bool:
        """Whether ``run`` asks the same, with any attack of the table, and decides from the same memory."""
        own = None if run is None else self.towers.get(run.backbone.name)
        if run is None or own is None:
            return run is self.run
        mine, its = (
            (one.clean.picture.key, one.class_prompts.names, one.label_given and one.label, unattacked(one.settings))
            for one in (self.run, run)
        )
        return mine == its and all(
            np.array_equal(getattr(own.cache, part), getattr(run.cache_before, part)) for part in ("count", "features")
        )


@dataclass(frozen=True)
class ArenaProgress:
    """What is under way, the share of the work that is done, and the table so far."""

    sentence: str
    fraction: float
    table: ArenaTable


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


def arena_steps(
    engines: Sequence[Engine], run: Run, methods: Sequence[str], known: ArenaTable | None = None
) -> Generator[ArenaProgress, None, ArenaTable]:
    """Fill the table, from cheap to expensive, for every engine in turn.

    Yields after every step of an attack. Args: ``known``: a table that fits the run; its cells are kept.
    """
    by_name = {engine.info.name: engine for engine in engines}
    kept = {} if known is None else known.towers
    towers = {name: kept.get(name) or _new_tower(engine, run) for name, engine in by_name.items()}
    table = ArenaTable(run, tuple(methods), {**kept, **towers})
    due: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for name in by_name:
        for cell in ((name, column) for name in methods for column in COLUMNS):
            if cell not in towers[name].cells:
                due.setdefault((*attacker_of(*cell), name), []).append(cell)
    order = list(dict.fromkeys(job[:2] for job in due))
    jobs = sorted(due, key=lambda job: (_seconds(job), order.index(job[:2])))
    total, done = sum(map(_seconds, jobs)), 0.0
    for job in jobs:
        attack, against, name = job
        steps = _job_steps(by_name[name], table.run, table.towers[name], attack, against, due[job])
        while True:
            try:
                sentence, share = next(steps)
            except StopIteration as end:
                table = replace(table, towers={**table.towers, name: end.value})
                break
            yield ArenaProgress(sentence, (done + share * _seconds(job)) / total, table)
        done += _seconds(job)
        answers = sum(len(one.cells) for one in table.towers.values())
        yield ArenaProgress(f"{answers} answers", done / total, table)
    return table


def _seconds(job: tuple[str, str, str]) -> float:
    attack, against, _ = job
    return SECONDS.get(against or attack, SECONDS["sstpt"])


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
    yield f"{tower.backbone.title}: {f'knows {DEFENCES[against].title}' if against else COLUMNS[attack]}", 0.0
    found: dict[tuple[str, str], Verdict | str] = {}
    try:
        result = yield from _attacked(engine, run, tower, cell_settings(run.settings, *due[0]), [n for n, _ in due])
        for name, column in due:
            fault = result.faults.get(name, DefenceFault("No answer under these settings."))
            verdict = result.verdicts.get(name)
            found[name, column] = fault.sentence if verdict is None else replace(verdict, added=None)
    except DemoError as error:  # a package that is missing, or a guest without a gradient: the others go on
        found = dict.fromkeys(due, error.message)
    return replace(tower, cells={**tower.cells, **found})


def _attacked(
    engine: Engine, run: Run, tower: TowerTable, settings: Settings, names: Sequence[str]
) -> Generator[tuple[str, float], None, ImageResult]:
    """The answers of the defences ``names`` to the picture after one attack."""
    prompts, picture = engine.encode_classes(run.class_prompts.names, settings), run.clean.picture
    if settings.attack != "none":
        steps = attack_picture_steps(engine, run.clean, prompts, settings, tower.label, None, tower.cache)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                picture = picture_of(end.value.pixels)
                break
            yield f"{tower.backbone.title}: {step.sentence}", (step.fraction - 0.3) / 0.5
    return defend(engine, picture, prompts, tower.cache, settings, methods=names)[0]


def right(tower: TowerTable, name: str, column: str) -> bool | None:
    """Whether a cell's answer is the true class; None where there is no answer."""
    cell = tower.cells.get((name, column))
    return cell.label == tower.label if isinstance(cell, Verdict) else None


def masked(tower: TowerTable, name: str) -> bool:
    """Whether a defence stands against the attacker who knows it, but not against one who does not: then the first is
    too weak, and its cell says nothing."""
    return right(tower, name, "adaptive") is True and any(right(tower, name, column) is False for column in STATIC)


def tower_sentence(tower: TowerTable, methods: Sequence[str]) -> str:
    """One sentence on what a model's table shows; "" before anything is known.

    A defence stands against attackers who do not know it if it is right in every column of :data:`STATIC`.
    """
    blind = [all(right(tower, name, column) for column in STATIC) for name in _answered(tower, methods, STATIC)]
    known = [right(tower, name, "adaptive") is True for name in _answered(tower, methods, ["adaptive"])]
    if not blind:
        return ""
    text = f"{_number(sum(blind))} of {len(blind)} defences {_stand(sum(blind))} against attackers who do not know them"
    if known:
        text += f"; {_number(sum(known)).lower()} of {len(known)} {_stand(sum(known))} against one who does"
    return f"{text}."


def tower_comparison(table: ArenaTable) -> tuple[str, ...]:
    """What training against attacks costs and keeps, and what defences add: two sentences, from the cells that both
    towers of :data:`TOWERS` have; none before that."""
    if not all(name in table.towers for name in TOWERS):
        return ()
    plain, robust = (table.towers[name] for name in TOWERS)
    both = [
        (name, column)
        for name in table.methods
        for column in COLUMNS
        if right(plain, name, column) is not None and right(robust, name, column) is not None
    ]
    counts = {
        words: f"{_count(robust, cells)} instead of {_count(plain, cells)} of {len(cells)}"
        for words, columns in (
            ("without an attack", ["none"]),
            ("against attackers who do not know the row", STATIC),
            ("against one who knows it", ["adaptive"]),
        )
        if (cells := [cell for cell in both if cell[1] in columns])
    }
    clean = [cell for cell in both if cell[1] == "none"]
    cost = max(_count(plain, clean) - _count(robust, clean), 0)
    answers = ", ".join(f"{words} {text}" for words, text in counts.items())
    trained = (
        f"Training against attacks costs {cost or 'no'} right answer{'s' * (cost != 1)} here: {answers} are right."
    )
    return tuple(text for text in (trained * bool(clean), _added(table)) if text)


def _added(table: ArenaTable) -> str:
    """How many defences have more attacked cells right than CLIP alone, in both towers."""
    said = []
    for name, words in zip(TOWERS, ("the shipped tower", "the robust tower")):
        tower = table.towers[name]
        columns = [column for column in COLUMNS if column != "none" and right(tower, "clip", column) is not None]
        others = [name for name in _answered(tower, table.methods, columns) if name != "clip"]
        alone = _count(tower, [("clip", column) for column in columns])
        more = sum(_count(tower, [(name, column) for column in columns]) > alone for name in others)
        if columns and others:
            said.append(
                f"on {words} CLIP alone is right after {alone} of {len(columns)} attacks, and {_number(more).lower()} "
                f"of {len(others)} defences after more"
            )
    return f"What defences add: {'; '.join(said)}." if len(said) == len(TOWERS) else ""


def _answered(tower: TowerTable, methods: Iterable[str], columns: Iterable[str]) -> list[str]:
    columns = list(columns)
    return [name for name in methods if all(right(tower, name, column) is not None for column in columns)]


def _count(tower: TowerTable, cells: Iterable[tuple[str, str]]) -> int:
    return sum(right(tower, *cell) is True for cell in cells)


def _number(count: int) -> str:
    return "None" if count == 0 else str(count)


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"
