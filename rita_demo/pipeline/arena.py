"""The arena: every defence against every attacker on one picture, from cheap to expensive."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from rita_demo.attacks.adaptive import AGAINST
from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import attack_picture_steps, defend
from rita_demo.records import DefenceFault, ImageResult, Run, Verdict
from rita_demo.records.errors import DemoError

#: Column -> its heading.
COLUMNS = {
    "none": "no attack",
    "pgd": "PGD",
    "transfer": "made for another row",
    "autoattack": "AutoAttack",
    "adaptive": "knows this row",
}
STATIC = ("pgd", "transfer", "autoattack")  # made by attackers who do not know the row's defence
#: Of this defence, and of the second one for its own row, come the attacks of the column "transfer".
TRANSFER = ("ensemble", "rita")
#: The order in which defences are attacked by somebody who knows them: cheap ones first.
CHEAP_FIRST = ("ensemble", "clip", "clipure", "ttc", "csr", "mta", "dbd", "sstpt", "rtpt", "tpt", "ctpt", "rita")

#: (defence, column) -> its answer, or a sentence why there is none.
Cells = Mapping[tuple[str, str], "Verdict | str"]


@dataclass(frozen=True)
class ArenaProgress:
    """What is under way, the share of attacks that are done, and all cells so far."""

    sentence: str
    fraction: float
    cells: Cells = field(default_factory=dict)


def arena_steps(
    engine: Engine, run: Run, methods: Sequence[str], known: Cells | None = None
) -> Generator[ArenaProgress, None, Cells]:
    """Fill the table for the clean picture of ``run`` with its settings, class names and true class.

    Yields after every step of an attack. Args: ``known``: cells of an earlier call for the same run, which are kept.
    """
    cells: dict[tuple[str, str], Verdict | str] = dict(known or {})
    needed = {*methods, *(name for name in TRANSFER if transfer_rows(name, methods))}
    order = sorted(needed, key=lambda name: CHEAP_FIRST.index(name) if name in CHEAP_FIRST else len(CHEAP_FIRST))
    knowing = [("adaptive", name) for name in order]
    early = [job for job in knowing if job[1] == TRANSFER[0]]
    jobs = [("none", ""), ("pgd", ""), *early, ("autoattack", ""), *(job for job in knowing if job not in early)]
    for number, (attack, against) in enumerate(jobs):
        rows = [name for name in methods if against in ("", name)]
        due = [(name, attack) for name in rows if (name, attack) not in cells]
        due += [(name, "transfer") for name in transfer_rows(against, methods) if (name, "transfer") not in cells]
        if not due:
            continue
        try:
            result = yield from _attacked(
                engine, run, attack, against, [name for name, _ in due], number / len(jobs), cells
            )
        except DemoError as error:  # a package that is missing, or a guest without a gradient: the others go on
            cells |= dict.fromkeys(due, error.message)
            continue
        for name, column in due:
            fault = result.faults.get(name, DefenceFault("No answer under these settings."))
            cells[name, column] = result.verdicts.get(name, fault.sentence)
        yield ArenaProgress(f"{len(cells)} answers", (number + 1) / len(jobs), dict(cells))
    return cells


def transfer_rows(against: str, methods: Sequence[str]) -> list[str]:
    """The rows whose column "transfer" takes the attack that was made for ``against``."""
    if against == TRANSFER[0]:
        return [name for name in methods if name != against]
    return [name for name in methods if name == TRANSFER[0] and against == TRANSFER[1]]


def _attacked(
    engine: Engine, run: Run, attack: str, against: str, names: Sequence[str], done: float, cells: Cells
) -> Generator[ArenaProgress, None, ImageResult]:
    """The answers of the defences ``names`` to the picture after one attack."""
    settings = run.settings.replace(attack=attack, **({AGAINST: against} if against else {}))
    prompts, cache, picture = run.class_prompts, run.cache_before, run.clean.picture
    if attack != "none":
        steps = attack_picture_steps(engine, run.clean, prompts, settings, run.label, None, cache)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                picture = picture_of(end.value.pixels)
                break
            yield ArenaProgress(step.sentence, done, dict(cells))
    return defend(engine, picture, prompts, cache, settings, methods=names)[0]


def masked(cells: Cells, name: str, label: int) -> bool:
    """Whether a defence stands against the attacker who knows it, but not against one who does not: then the first is
    too weak, and its cell says nothing."""
    known = cells.get((name, "adaptive"))
    weaker = [cells.get((name, column)) for column in STATIC]
    return (
        isinstance(known, Verdict)
        and known.label == label
        and any(isinstance(one, Verdict) and one.label != label for one in weaker)
    )


def arena_sentence(cells: Cells, methods: Sequence[str], label: int) -> str:
    """One sentence on what the table shows; "" before anything is known.

    A defence stands against attackers who do not know it if it is right in every column of :data:`STATIC`.
    """

    def right(name: str, column: str) -> bool:
        cell = cells.get((name, column))
        return isinstance(cell, Verdict) and cell.label == label

    blind = [name for name in methods if all(isinstance(cells.get((name, column)), Verdict) for column in STATIC)]
    known = [name for name in methods if isinstance(cells.get((name, "adaptive")), Verdict)]
    if not blind:
        return ""
    standing = sum(all(right(name, column) for column in STATIC) for name in blind)
    text = f"{_number(standing)} of {len(blind)} defences {_stand(standing)} against attackers who do not know them"
    if known:
        knowing = sum(right(name, "adaptive") for name in known)
        text += f"; {_number(knowing).lower()} of {len(known)} {_stand(knowing)} against one who does"
    return f"{text}."


def _number(count: int) -> str:
    return "None" if count == 0 else str(count)


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"


def arena_methods() -> tuple[str, ...]:
    """The rows: every defence but RITA's ablations, a guest's own included."""
    return tuple(name for name, one in DEFENCES.items() if not one.ablation)
