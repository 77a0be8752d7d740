"""Signs that a defence hides its gradient instead of resisting (Athalye et al. 2018; Croce et al. 2022)."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from rita_demo.records import MeasuredCell
from rita_demo.records.intervals import wilson

#: What an attack on CLIP leaves is an upper bound for the attacker who knows the method; reverse leaves CLIP right.
STATIC = ("fgsm", "pgd", "cw_linf", "di", "autoattack", "eot")
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
class JudgedCell:
    """An accuracy under any attack, and what says whether another one is of the same method on the same pictures."""

    cell: MeasuredCell
    gradient: float | None = None  # of an attacker who knows the method: the median norm of the first gradients
    by_queries: bool = False  # found by Square instead of the gradient
    variant: Hashable = ""  # the settings of the method and its views in which it differs from the recommended ones
    pictures: Hashable = None  # which pictures; None: a table that has only their number

    def same_pictures(self, other: "JudgedCell") -> bool:
        """Whether both are of the same pictures of one dataset, in one model."""
        places = ((c.dataset, c.backbone, c.split, c.n) for c in (self.cell, other.cell))
        return len(set(places)) == 1 and self.pictures == other.pictures

    def same_method(self, other: "JudgedCell") -> bool:
        """Whether both are of one method with the same settings."""
        here, there = self.cell, other.cell
        return (here.method, here.protocol, self.variant) == (there.method, there.protocol, other.variant)


def masking_signs(
    adaptive: JudgedCell, others: Sequence[JudgedCell], static: Sequence[JudgedCell]
) -> tuple[bool | None, ...]:
    """The answers to :data:`QUESTIONS`: True is a sign of masking, None "not checked", as the measurement is missing.

    Only measurements of the same method with the same settings, on the same pictures, are compared (for the gradient:
    CLIP's on them). Of two accuracies one is the larger if each lies outside the other's 95 % interval.

    ``adaptive``: the number in question, by the gradient; ``others``: further cells against attackers who know a method;
    ``static``: cells under other attacks.
    """
    cell = adaptive.cell
    same_method = [o for o in others if adaptive.same_pictures(o) and adaptive.same_method(o)]
    weaker = [o.cell for o in static if adaptive.same_pictures(o) and adaptive.same_method(o)]
    weaker = [c for c in weaker if c.attack in STATIC and c.budget == cell.budget]
    clip = [o for o in others if o.cell.method == "clip" and o.gradient and adaptive.same_pictures(o)]
    clip_gradient = [o.gradient for o in clip if o.gradient and o.cell.budget == cell.budget]
    queries = [o.cell for o in same_method if o.by_queries and o.cell.budget == cell.budget]
    by_gradient = [o.cell for o in same_method if not o.by_queries]
    large = [c for c in by_gradient if c.budget >= LARGE_BUDGET]
    fewer = [c for c in by_gradient if c.budget == cell.budget and FEWER_STEPS * c.steps <= cell.steps]
    return (
        _any(weaker, lambda c: _above(cell, c)),
        None if adaptive.gradient is None or not clip_gradient else adaptive.gradient < VANISHED * clip_gradient[0],
        _any(queries, lambda c: _above(cell, c)),
        None if not large else min(c.low for c in large) > LITTLE,
        None if not fewer else cell.low > LITTLE and cell.accuracy >= min(c.accuracy for c in fewer),
    )


def _any(cells: Sequence[MeasuredCell], holds: Callable[[MeasuredCell], bool]) -> bool | None:
    return any(map(holds, cells)) if cells else None


def _above(cell: MeasuredCell, other: MeasuredCell) -> bool:
    """Whether an accuracy is larger than another, by more than chance."""
    return cell.low > other.accuracy and cell.accuracy > 100 * wilson(other.accuracy * other.n / 100, other.n)[1]


def masking_sentence(signs: Sequence[bool | None]) -> str:
    """The signs in a sentence: those found, and those that were not checked."""
    questions = [question for question, sign in zip(QUESTIONS, signs) if sign]
    unknown = [question for question, sign in zip(QUESTIONS, signs) if sign is None]
    if len(unknown) == len(QUESTIONS):
        return "Signs of masking: not checked."
    parts = [f"Signs of masking: {' '.join(questions)} Yes." if questions else "No sign of masking was found."]
    if unknown:
        parts.append(f"Not checked: {' '.join(unknown)}")
    return " ".join(parts)
