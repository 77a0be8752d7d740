"""Who is right before and after the attack: terminal, page and Story take it from here."""

from dataclasses import dataclass

from rita_demo.records import Run
from rita_demo.settings.attack_name import attacked_defence


@dataclass(frozen=True)
class Outcome:
    """What became of one method's answer; without a true class no answer is right or wrong."""

    before: int  # the class that it answers on the clean picture
    now: int  # and on the attacked one
    wrong_before: bool  # then a wrong answer is no success of the attack; without a true class it is not known
    right: bool | None  # None: no true class was given
    reached: bool  # the answer is the attack's target
    known: bool  # the attacker knows this method
    word: str


def outcome(run: Run) -> dict[str, Outcome]:
    """The outcome of every method that answers on both pictures.

    A targeted attack has fooled a method, in words, only when the answer is the target (as in ``AttackTrace.fooled``)."""
    truth, target = run.given_label, None if run.attack is None else run.attack.target
    known = attacked_defence(run.settings) if run.settings.attack == "adaptive" else ""
    outcomes = {}
    for name in run.answered:
        before, now = run.clean.verdicts[name].label, run.attacked.verdicts[name].label
        reached = now == target
        if truth is None:
            word = "unchanged" if now == before else f"changed{' to the target' * reached}"
        elif now == truth:
            word = "holds" if before == truth else "was wrong, now right"
        elif before == truth:
            word = "fooled" if reached or target is None else "wrong now, but not the target"
        elif now == before:
            word = "was already wrong"
        else:
            word = f"was already wrong, now {'the target' if reached else 'another'}"
        outcomes[name] = Outcome(
            before=before,
            now=now,
            wrong_before=truth not in (None, before),
            right=None if truth is None else now == truth,
            reached=reached,
            known=name == known,
            word=word,
        )
    return outcomes
