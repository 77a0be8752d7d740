"""What a reader of measurements is shown, as tables of text that markdown and LaTeX only have to write down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rita_demo.evaluation.files import digest
from rita_demo.evaluation.lines import Line
from rita_demo.evaluation.paired import Paired
from rita_demo.evaluation.together import together
from rita_demo.methods import METHODS

ABOUT = (
    "Intervals: Wilson, 95 %, of n different pictures. Accuracy is the mean over all seeds; several seeds "
    "make no more pictures of the same ones (beside them the lowest and highest accuracy of one seed). A star marks "
    "a cell that is not finished.",
    "Against Ensemble: points of accuracy more or less on the same attacked pictures; in brackets only this method "
    "right / only Ensemble right, and McNemar's exact two-sided p. A picture counts once: with several seeds for "
    "the one that is right under more of them, and for neither where it is a tie. Where another Ensemble than the "
    "plain one (mean probability, every crop alike) or one with other views had to do, it is named.",
    "Seconds per picture: median for cutting and encoding the views, which all methods on the same views share, "
    "+ median for the method itself; the attack is not in it. CLIP needs one view only: its part is one in N of "
    "the views' time, and more when one view is encoded alone.",
)
BARS = {"against": "against Ensemble", "against_alike": "against Ensemble, views as RITA’s"}


@dataclass(frozen=True)
class Sheet:
    """One table: ``above`` and ``below`` are sentences, ``head`` and ``rows`` cells of plain text."""

    title: str
    above: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()


def measured_sheets(found: Sequence[Line]) -> list[Sheet]:
    """One table per dataset and threat model, then all datasets together."""
    return [_measured(group) for group in _grouped(found)] + _together(found)


def attack_words(attack: str, budget: int) -> str:
    """``clean``, or the attack with its strength where it has one."""
    if attack == "none":
        return "clean"
    return f"{attack} {budget}/255" if budget else attack


def method_words(name: str) -> str:
    """A method's title; the name itself where this version does not know it."""
    return METHODS[name].full if name in METHODS else name


def memory_words(line: Line) -> str:
    """The memory's protocol, empty for a method that has none."""
    remembers = METHODS[line.method].remembers if line.method in METHODS else True
    return line.protocol if remembers else ""


def accuracy_words(line: Line) -> str:
    """The accuracy, with a star while it is not finished."""
    return f"{line.accuracy:.1f}{'' if line.finished else '*'}"


def seconds_words(line: Line) -> str:
    """Views + method, in seconds."""
    if line.method == "clip" and line.views:
        return f"≥ {line.looking / line.views:.3f} + {line.seconds:.3f}"
    return f"{line.looking:.3f} + {line.seconds:.3f}"


def _measured(group: Sequence[Line]) -> Sheet:
    first, bars = group[0], _bars(group)
    steps = f", {first.steps} steps" if first.steps > 1 else ""
    attack = attack_words(first.attack, first.budget)
    return Sheet(
        f"{first.dataset} ({first.split}), {first.backbone}, {attack}{steps}",
        (*first.threat, first.scope, _model(first), *untouched(first)),
        ("method", "memory", "accuracy %", "95 %", "n", *(BARS[bar] for bar in bars), "seeds",
         "s per picture", "settings"),
        tuple(_cells(line, bars) for line in group),
    )  # fmt: skip


def _model(line: Line) -> str:
    """Which weights answered, and what is to be known of them, such as how they are run."""
    return f"Model weights {line.weights[:8]}. {line.note}".rstrip()


def _bars(group: Sequence[Line]) -> list[str]:
    """The plain Ensemble always has its column, the one on RITA's own terms where it was measured."""
    return [bar for bar in BARS if bar == "against" or any(getattr(line, bar) for line in group)]


def _cells(line: Line, bars: Sequence[str]) -> tuple[str, ...]:
    spread = f" ({line.spread[0]:.1f} to {line.spread[1]:.1f})" if line.spread else ""
    return (
        method_words(line.method),
        memory_words(line),
        accuracy_words(line),
        f"{line.low:.1f} to {line.high:.1f}",
        str(line.n),
        *(_beside(getattr(line, bar)) for bar in bars),
        line.seeds + spread,
        seconds_words(line),
        (line.special or "recommended") + _reached(line),
    )


def _reached(line: Line) -> str:
    answers = line.n if line.answers is None else line.answers
    return "" if line.reached is None else f"; says the target: {line.reached} of {answers}"


def _beside(against: Paired | None) -> str:
    if against is None:
        return ""
    signed = f"{against.difference:+.1f}".replace("-", "−")
    other = f" than Ensemble with {against.other}" if against.other else ""
    return f"{signed} ({against.gained} / {against.lost}, p {against.p:.2g}){other}"


def _together(found: Sequence[Line]) -> list[Sheet]:
    sheets = []
    for bar, words in BARS.items():
        rows = tuple(
            (
                attack_words(line.attack, line.budget),
                method_words(line.method),
                memory_words(line),
                str(datasets),
                str(paired.n),
                _beside(paired),
                line.special or "recommended",
            )
            for line, datasets, paired in together(found, bar)
        )
        head = ("attack", "method", "memory", "datasets", "n", words, "settings")
        if rows:
            sheets.append(Sheet(f"All datasets together, {words}", (), head, rows))
    return sheets


def untouched(line: Line) -> tuple[str, ...]:
    """AutoAttack counts the pictures it has left alone: what a method scores on them is clean."""
    if line.attack != "autoattack":
        return ()
    return (f"Already wrong, so left untouched: {line.already_wrong} of {line.n} pictures.",)


def _grouped(found: Iterable[Line]) -> list[list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in found:
        key = digest(
            [line.dataset, line.split, line.backbone, line.threat, line.scope, line.weights]
        )
        groups.setdefault(key, []).append(line)
    return list(groups.values())
