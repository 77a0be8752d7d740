"""Signs that a defence hides its gradient instead of resisting (Athalye et al. 2018; Croce et al. 2022)."""

from collections.abc import Sequence
from dataclasses import dataclass

from rita_demo.records import MeasuredCell

#: What an attack on CLIP leaves is an upper bound for the attacker who knows the method; reverse leaves CLIP right.
STATIC = ("fgsm", "pgd", "cw_linf", "di", "autoattack", "eot", "defence")
VANISHED = 0.01  # of CLIP's gradient norm
LARGE_BUDGET = 32  # in 1/255: a picture can be changed into another one
LITTLE = 10.0  # percent right that any method may keep
FEWER_STEPS = 4  # times fewer
QUESTIONS = (
    "is the attacker who knows it weaker than one who does not?",
    "is its gradient far smaller than CLIP's?",
    "do queries alone (Square) do more harm than the gradient?",
    "does it stand at a budget at which nothing can?",
    "do more steps do no more harm?",
)


@dataclass(frozen=True)
class AdaptiveCell:
    """An accuracy under the attacker who knows the method."""

    cell: MeasuredCell
    gradient: float | None = None  # the median norm of the first gradients, None if unknown
    by_queries: bool = False  # found by Square instead of the gradient


def masking_signs(
    adaptive: AdaptiveCell, others: Sequence[AdaptiveCell], static: Sequence[MeasuredCell]
) -> tuple[bool | None, ...]:
    """The answers to :data:`QUESTIONS`: True is a sign of masking, None "not checked", as the measurement is missing.

    ``adaptive``: the number in question, by the gradient; ``others``: further cells against attackers who know a method;
    ``static``: cells under other attacks, all of the same pictures. Accuracies differ only beyond Wilson's 95 % interval.
    """
    cell = adaptive.cell

    def alike(other: MeasuredCell, *columns: str) -> bool:
        return all(getattr(other, name) == getattr(cell, name) for name in ("dataset", "backbone", "split", *columns))

    own = [o for o in others if alike(o.cell, "protocol", "method")]
    weaker = [c.accuracy for c in static if c.attack in STATIC and alike(c, "protocol", "method", "budget")]
    clip = [o.gradient for o in others if o.cell.method == "clip" and o.gradient and alike(o.cell, "budget")]
    queries = [o.cell for o in own if o.by_queries and alike(o.cell, "budget")]
    by_gradient = [o.cell for o in own if not o.by_queries]
    large = [c for c in by_gradient if c.budget >= LARGE_BUDGET]
    fewer = [c for c in by_gradient if c.budget == cell.budget and FEWER_STEPS * c.steps <= cell.steps]
    return (
        None if not weaker else cell.low > min(weaker),
        None if adaptive.gradient is None or not clip else adaptive.gradient < VANISHED * clip[0],
        None if not queries else min(q.high for q in queries) < cell.accuracy,
        None if not large else min(c.low for c in large) > LITTLE,
        None if not fewer else cell.low > LITTLE and cell.accuracy >= min(c.accuracy for c in fewer),
    )


def masking_sentence(signs: Sequence[bool | None]) -> str:
    """The signs in a sentence: those found, and those that were not checked."""
    found = [question for question, sign in zip(QUESTIONS, signs) if sign]
    unknown = [question for question, sign in zip(QUESTIONS, signs) if sign is None]
    parts = [f"Signs of masking: {' '.join(found)} Yes." if found else "No sign of masking was found."]
    if unknown:
        parts.append(f"Not checked: {' '.join(unknown)}")
    return " ".join(parts)
