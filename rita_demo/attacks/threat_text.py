"""The threat model in words: the sentences beside every number under an attack."""

from __future__ import annotations

from rita_demo.attacks.contract import DEFAULT_PROMPT, Attack
from rita_demo.attacks.registry import get_attack
from rita_demo.settings import Settings


def threat_sentences(settings: Settings, goal: str, where: str, aim: str | None = None) -> tuple[str, ...]:
    """The attack, its victim, its strength, and the attacker's knowledge.

    Args:
        settings: name, budget, steps and the rest of the attack; ``hand_prompt`` as a sentence where it is
            not "a photo of a".
        goal: "away from the true class" or "towards ...".
        where: the end of the sentence on strength, such as "on a square of 224 × 224 pixels".
        aim: the name of the class a targeted attack moves towards.
    """
    row = get_attack(settings.attack)
    return (
        f"{row.title}: {row.sentence_for(aim)}",
        f"Attacked: {_victim(settings, row)}; {goal}."
        if row.victim
        else "Attacked: no model; this attack is the control.",
        f"Strength: {_budget_text(settings, row)}, {where}.",
        knowledge_sentence(row),
        *(row.details(settings) if row.details else ()),
        row.caveat,
    )


def knowledge_sentence(row: Attack) -> str:
    """What the attacker knows and does not know, in one sentence."""
    known = f"The attacker knows {_join(row.knows)}" if row.knows else "The attacker knows nothing"
    return f"{known}, but not {_join(row.does_not_know)}." if row.does_not_know else f"{known}."


def _victim(settings: Settings, row: Attack) -> str:
    """The victim, with the prompt of the settings where they name one."""
    if "{}" not in settings.hand_prompt:
        return row.victim
    return row.victim.replace(DEFAULT_PROMPT, settings.hand_prompt.replace("{}", "…").rstrip("."))


def _budget_text(settings: Settings, row: Attack) -> str:
    steps = row.step_count(settings)
    taken = f"in {steps} step{'s' * (steps != 1)}{row.steps_note}"
    if row.access_with(settings) in ("crops", "defence"):
        crops = settings.attack_views
        taken += f" with {crops} fresh view{'s' * (crops != 1)} each"
    if not row.bounded:
        return f"no limit, {taken}"
    cut = settings.adversarial_roundtrip == "truncate"
    more = " (cutting to 8 bit may add one more)" if cut else ""
    return f"no pixel value moves by more than {settings.budget}/255{more}, {taken}"


def _join(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
