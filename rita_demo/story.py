"""One picture attacked and defended, from first to last: what the page shows and ``explain`` exports.

Clean and attacked are two visitors: both are decided from the same earlier memory, and only the picture
that was delivered (the attacked one, when there is an attack) enters it (method, section 0).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.errors import SettingError
from rita_demo.methods import ALWAYS, METHODS, chosen
from rita_demo.records import (
    AttackTrace,
    CacheState,
    Glance,
    LeftOut,
    Picture,
    Side,
    Story,
    TextBank,
    Trace,
    Verdict,
)
from rita_demo.settings import Settings
from rita_demo.threat import threat_model

P = ParamSpec("P")
Y = TypeVar("Y")
R = TypeVar("R")


@dataclass(frozen=True)
class Progress:
    """What is ready so far: a sentence on what happens now, the share done in [0, 1], finished parts."""

    sentence: str
    fraction: float
    bank: TextBank | None = None
    clean: Side | None = None
    attack: AttackTrace | None = None


def telling(
    engine: Engine,
    picture: Picture,
    names: Sequence[str],
    settings: Settings,
    *,
    label: int | None = None,
    target: int | None = None,
    cache: CacheState | None = None,
    previous: Story | None = None,
    methods: Sequence[str] = ALWAYS,
) -> Generator[Progress, None, Story]:
    """Attack a picture and defend it, yielding whenever something is finished; returns the story.

    Args:
        label: index of the true class; None means CLIP's own answer on the clean square.
        target: index of the class a targeted attack moves towards.
        cache: the visitor's memory; None means ``previous``'s, or an empty one.
        previous: the visitor's last story. Trying again on the same picture decides from the memory
            as it was *before* that picture, so that nothing is committed twice.
        methods: who is asked beside CLIP, Ensemble and RITA: names of ``methods.METHODS``.

    Raises:
        SettingError: a label or target outside the vocabulary, a target that is the label, or an
            unknown method.
    """
    asked, seconds = chosen(methods), dict[str, float]()
    with _timed(seconds, "prompts"):
        bank = engine.classes(names, settings)
    check_index("label", label, bank)
    check_index("target", target, bank)
    before = _memory(engine, bank, settings, picture, cache, previous)
    yield Progress("Cutting the picture into views", 0.1, bank)
    with _timed(seconds, "views and encoding"):
        engine.look(picture, settings)  # kept: the next line finds it done
    yield Progress("Tuning the prompts and deciding on the clean picture", 0.2, bank)
    clean, committed = defend(engine, picture, bank, before, settings, seconds, methods=asked)
    given = label is not None
    truth = label if label is not None else clean.verdicts["clip"].label
    if target is not None and target == truth:
        raise SettingError(
            f"The attack cannot move towards {bank.names[truth]!r}: that is already the answer.",
            "Choose another target class.",
        )
    attack, attacked = None, clean
    if settings.attack != "none":
        attack = yield from attacking(engine, clean, bank, settings, truth, target, before)
        seconds["attack"] = attack.seconds
        yield Progress("Defending the attacked picture", 0.8, bank, clean, attack)
        delivered = picture_of(attack.pixels)
        attacked, committed = defend(
            engine, delivered, bank, before, settings, seconds, methods=asked
        )
    return Story(
        bank=bank,
        settings=settings,
        backbone=engine.info,
        clean=clean,
        attacked=attacked,
        attack=attack,
        label=truth,
        label_given=given,
        threat=threat_model(settings, bank, picture, truth, given, target),
        cache_before=before,
        cache_after=committed,
        seconds=seconds,
        methods=asked,
    )


def finish(steps: Generator[Y, None, R], each: Callable[[Y], object] = lambda _: None) -> R:
    """Run :func:`telling`, or another job that says how far it is, to its end, handing every progress to
    ``each``."""
    while True:
        try:
            each(next(steps))
        except StopIteration as end:
            return end.value


def _at_once(steps: Callable[P, Generator[Progress, None, Story]]) -> Callable[P, Story]:
    def told(*args: P.args, **named: P.kwargs) -> Story:
        """The whole story at once; arguments and errors as of :func:`telling`."""
        return finish(steps(*args, **named))

    return told


tell = _at_once(telling)


def defend(
    engine: Engine,
    picture: Picture,
    bank: TextBank,
    cache: CacheState,
    settings: Settings,
    seconds: dict[str, float] | None = None,
    *,
    methods: Sequence[str] = ALWAYS,
) -> tuple[Side, CacheState]:
    """Look, decide and compare: one visitor, and the memory as it would be afterwards.

    Stage times are added to ``seconds``; ``methods`` are asked beside RITA.
    """
    seconds = {} if seconds is None else seconds
    with _timed(seconds, "views and encoding"):
        glance = engine.look(picture, settings)
    with _timed(seconds, "decision"):
        trace, after = engine.decide(glance, bank, cache, settings)
    with _timed(seconds, "other methods"):
        baselines = [name for name in methods if METHODS[name].baseline]
        verdicts = engine.compare(glance, bank, settings, baselines) | {"rita": trace.verdict}
        verdicts |= ablations(engine, glance, bank, cache, settings, trace, methods)
    return Side(picture, glance, trace, ordered(verdicts)), after


def outcome(clean: Verdict, attacked: Verdict, label: int, target: int | None = None) -> str:
    """What the attack did to one method's answer, one of ``OUTCOMES``.

    Without a given true class, ``label`` is CLIP's own answer on the clean square. An attack with a
    ``target`` has fooled a method when it answers that class (as ``AttackTrace.fooled`` of CLIP); any
    other wrong answer is not what the attacker wanted.
    """
    aimed = target is not None and attacked.label == target
    if attacked.label == label:
        return "holds" if clean.label == label else "was wrong, now right"
    if clean.label == label:
        return "fooled" if aimed or target is None else "wrong now, but not the target"
    if attacked.label == clean.label:
        return "was already wrong"
    return f"was already wrong, now {'the target' if aimed else 'another'}"


OUTCOMES = (
    "holds",
    "fooled",
    "wrong now, but not the target",
    "was already wrong",
    "was already wrong, now another",
    "was already wrong, now the target",
    "was wrong, now right",
)


def attacking(
    engine: Engine,
    clean: Side,
    bank: TextBank,
    settings: Settings,
    label: int,
    target: int | None,
    cache: CacheState,
) -> Generator[Progress, None, AttackTrace]:
    steps = engine.attacking(clean.picture, bank, settings, label, target, cache)
    victim = "RITA" if settings.attack == "defence" else "CLIP"
    unit = "query" if settings.attack == "autoattack" else "step"
    while True:
        try:
            done, total = next(steps)
        except StopIteration as end:
            return end.value
        yield Progress(
            f"Attacking {victim}: {unit} {done} of {total}",
            0.3 + 0.5 * done / max(total, 1),
            bank,
            clean,
        )


def ablations(
    engine: Engine,
    glance: Glance,
    bank: TextBank,
    cache: CacheState,
    settings: Settings,
    trace: Trace,
    methods: Sequence[str],
    left_out: LeftOut | None = None,
) -> dict[str, Verdict]:
    """The answers of RITA's parts, from the same views and memory; none for a memory that is off."""
    found = {}
    for method in (METHODS[name] for name in methods if METHODS[name].ablation):
        changed, part = settings.but(**method.changes), trace
        if changed != settings:
            kept = None if "tuning_steps" in method.changes else trace.tuning
            part, _ = engine.decide(glance, bank, cache, changed, kept, left_out)
        verdict = part.memory_verdict if method.memory_alone else part.verdict
        if verdict is not None:
            found[method.name] = verdict
    return found


def ordered(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    return {name: verdicts[name] for name in METHODS if name in verdicts}


def _memory(
    engine: Engine,
    bank: TextBank,
    settings: Settings,
    picture: Picture,
    cache: CacheState | None,
    previous: Story | None,
) -> CacheState:
    """The memory both sides are decided from."""
    if cache is None and previous is not None:
        again = previous.clean.picture.key == picture.key
        cache = previous.cache_before if again else previous.cache_after
    return engine.fitting(cache, bank, settings)


def check_index(what: str, index: int | None, bank: TextBank) -> None:
    if index is not None and not 0 <= index < len(bank.names):
        raise SettingError(
            f"The {what} is one of the {len(bank.names)} classes, 0 to {len(bank.names) - 1}; got {index}."
        )


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Adds the wall time of a block to ``seconds[name]``."""
    begin = time.perf_counter()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin
