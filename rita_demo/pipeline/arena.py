"""The arena: every defence against every attacker on one picture, in one model or two, from cheap to expensive."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rita_demo.attacks import ATTACKS
from rita_demo.attacks.adaptive import AGAINST, EACH
from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import attack_picture_steps, defend
from rita_demo.process.generators import Steps
from rita_demo.records import BackboneInfo, CacheState, DefenceFault, Run, Verdict
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
            (one.clean.picture.key, one.class_prompts.names, one.label_given and one.label, unattacked(one.settings))
            for one in (self.run, run)
        )
        same_memory = (
            np.array_equal(getattr(own.cache, part), getattr(run.cache_before, part)) for part in ("count", "features")
        )
        return first == second and all(same_memory)


@dataclass(frozen=True)
class TableProgress:
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
) -> Generator[TableProgress, None, ArenaTable]:
    """Fill the table, from cheap to expensive, for every engine in turn; yields after every step of an attack.

    ``known``: a table that fits the run; its cells are kept."""
    by_name = {engine.info.name: engine for engine in engines}
    kept = {} if known is None else known.towers
    towers = {name: kept.get(name) or _new_tower(engine, run) for name, engine in by_name.items()}
    table = ArenaTable(run, tuple(methods), {**kept, **towers})
    due: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for name in by_name:
        for cell in ((name, column) for name in methods for column in columns()):
            if cell not in towers[name].cells:
                due.setdefault((*attacker_of(*cell), name), []).append(cell)
    order = list(dict.fromkeys(job[:2] for job in due))
    jobs = sorted(due, key=lambda job: (_seconds(job), order.index(job[:2])))
    total, done = sum(map(_seconds, jobs)), 0.0
    for job in jobs:
        attack, against, name = job
        steps = Steps(_job_steps(by_name[name], table.run, table.towers[name], attack, against, due[job]))
        for sentence, share in steps:
            yield TableProgress(sentence, (done + share * _seconds(job)) / total, table)
        table = replace(table, towers={**table.towers, name: steps.value})
        done += _seconds(job)
        answers = sum(len(one.cells) for one in table.towers.values())
        yield TableProgress(f"{answers} answers", done / total, table)
    return table


def _seconds(job: tuple[str, str, str]) -> float:
    attack, against, _ = job
    return DEFENCES[against].attack_seconds if against else ATTACKS[attack].seconds


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
    return right.get((name, "adaptive"), False) and not all(
        right.get((name, column), True) for column in static_columns()
    )


def wrong_before(tower: TowerTable, name: str) -> bool:
    """Whether a defence is wrong without an attack: that it is wrong under one is no success of the attack."""
    return not tower.right.get((name, "none"), True)


def tower_sentence(tower: TowerTable, methods: Sequence[str]) -> str:
    """What a model's table shows; "" before anything is known. While rows are incomplete it says so far.

    A defence stands against attackers who do not know it if it is right in every column of :data:`STATIC`. Those that
    are :func:`wrong_before` are not counted, and a cell that is :func:`masked` neither."""
    able = [name for name in methods if not wrong_before(tower, name)]
    weak = [name for name in able if masked(tower, name)]
    judged = [name for name in able if name not in weak]
    blind = [all(answers) for answers in _answers(tower, able, static_columns()).values()]
    informed = [all(answers) for answers in _answers(tower, judged, ("adaptive",)).values()]
    if not able:
        return "Every defence is wrong without an attack already."
    if not blind:
        return ""
    counts = [
        f"{'so far ' * (len(right) < len(asked))}{sum(right) or 'none'} of {len(right)}"
        for right, asked in ((blind, able), (informed, judged))
    ]
    stand = ["stands" if sum(right) == 1 else "stand" for right in (blind, informed)]
    text = f"{counts[0]} defences {stand[0]} against all attackers who do not know them"
    if informed:
        text += f"; {counts[1]} {stand[1]} against one who does"
    text = f"{text.capitalize()}."
    if wrong := len(methods) - len(able):
        text += f" Not counted: {wrong} that {'is' if wrong == 1 else 'are'} wrong without an attack."
    if weak:
        text += f" Too weak to count (†): the attacker who knows {' and '.join(DEFENCES[name].title for name in weak)}."
    return text


def tower_comparison(table: ArenaTable) -> tuple[str, ...]:
    """What training against attacks costs and keeps, and what defences add: two sentences, from the cells that both
    towers of :data:`TOWERS` have; none before that."""
    if not all(name in table.towers for name in TOWERS):
        return ()
    towers = [table.towers[name] for name in TOWERS]
    plain, robust = (tower.right for tower in towers)
    counts: dict[str, tuple[int, int, int]] = {}  # right in the plain tower, in the robust one, of how many
    for words, attackers in (
        ("without an attack", ("none",)),
        ("against attackers who do not know the row", static_columns()),
        ("against one who knows it", ("adaptive",)),
    ):
        both = [(n, c) for n in table.methods for c in attackers if (n, c) in plain and (n, c) in robust]
        both = [(n, c) for n, c in both if c != "adaptive" or not any(masked(one, n) for one in towers)]
        cells = [tower.cells for tower in towers]
        if any((n, c) not in one for one in cells for n in table.methods for c in attackers):
            titles = [columns()[column] for column in attackers if any(c == column for _, c in both)]
            several = attackers == static_columns()
            words = f"so far, under {' and '.join(titles)}," if several else f"so far, {words},"
        if both:
            counts[words] = sum(plain[cell] for cell in both), sum(robust[cell] for cell in both), len(both)
    sentences = []
    if "without an attack" in counts:
        before, after, _ = counts["without an attack"]
        if not before + after:
            return ("Every answer is wrong without an attack already: another picture shows more.",)
        cost = max(before - after, 0)
        parts = "; ".join(f"{words} {now} instead of {then} of {n}" for words, (then, now, n) in counts.items())
        lost = f"{cost or 'no'} right answer{'s' * (cost != 1)}"
        sentences.append(f"Training against attacks costs {lost} here: {parts} are right.")
    return tuple(filter(None, [*sentences, _added(table)]))


def _added(table: ArenaTable) -> str:
    """How many defences have more attacked cells right than CLIP alone, in both towers; only full columns count, and as in
    :func:`tower_sentence` no defence that is wrong before and no cell that is masked."""
    sentences = []
    for name, words in zip(TOWERS, ("Embedded model", "Robust model")):
        tower = table.towers[name]
        if wrong_before(tower, "clip"):
            sentences.append(f"{words}: CLIP is wrong without an attack already.")
            continue
        attacks = [column for column in columns() if column != "none" and ("clip", column) in tower.right]
        full = [column for column in attacks if all((name, column) in tower.cells for name in table.methods)]
        able = ["clip", *(name for name in table.methods if not wrong_before(tower, name))]
        counts = {
            name: sum(answers) - ("adaptive" in full and masked(tower, name))
            for name, answers in _answers(tower, able, full).items()
        }
        alone = counts.pop("clip")
        more = sum(count > alone for count in counts.values())
        if full and counts:
            rest = f"{more or 'none'} of the {len(counts)} defences measured withstand{'s' * (more == 1)} more"
            if len(counts) == 1:
                rest = f"the 1 defence measured withstands {'more' if more else 'no more'}"
            elif alone == len(full):  # nothing can withstand more
                rest = (
                    f"{sum(count == alone for count in counts.values())} of the {len(counts)} defences measured as well"
                )
            sentences.append(f"{words}: CLIP withstands {alone} of {len(full)} attacks; {rest}.")
    return " ".join(sentences) if len(sentences) == len(TOWERS) else ""


def _answers(tower: TowerTable, methods: Iterable[str], columns: Sequence[str]) -> dict[str, list[bool]]:
    """Defence -> whether its answers in these columns are right, for those with an answer in each."""
    right = tower.right
    cells_of = {name: [(name, column) for column in columns] for name in methods}
    return {name: [right[cell] for cell in cells] for name, cells in cells_of.items() if all(c in right for c in cells)}
