"""The threat model in plain words: the sentences printed beside every number under an attack."""

from __future__ import annotations

from rita_demo.attacks.rows import HAND, Attack, attack_row, looks_through
from rita_demo.settings import Settings


def threat_sentences(
    settings: Settings, goal: str, where: str, aim: str | None = None
) -> tuple[str, ...]:
    """Who is attacked, how strongly, and what the attacker knows.

    Args:
        settings: name, budget, steps and the rest of the attack; ``hand_prompt`` as a sentence where it is
            not "a photo of a".
        goal: "away from the true class" or "towards ...".
        aim: the name of the class a targeted attack moves towards.
        where: the end of the sentence on strength, such as "on a square of 224 × 224 pixels".
    """
    row = attack_row(settings.attack)
    return (
        f"{row.title}: {row.aimed_at(aim)}",
        f"Attacked: {_victim(settings, row)}; {goal}."
        if row.victim
        else "Attacked: nobody in particular; this is the control.",
        f"Strength: {_strength(settings, row)}, {where}.",
        knowledge(row),
        *_version(settings),
        row.caveat,
    )


def knowledge(row: Attack) -> str:
    """What the attacker knows and what he does not, in one sentence."""
    return f"The attacker knows {_list(row.knows)}; he does not know {_list(row.does_not_know)}."


def _victim(settings: Settings, row: Attack) -> str:
    """Who is attacked, and with which sentence: ``hand_prompt`` where it is one."""
    if "{}" not in settings.hand_prompt:
        return row.victim
    return row.victim.replace(HAND, settings.hand_prompt.replace("{}", "…").rstrip("."))


def _strength(settings: Settings, row: Attack) -> str:
    steps = row.steps(settings.steps)
    taken = f"in {steps} step{'s' * (steps != 1)}"
    if row.name == "autoattack":
        taken = f"in {steps} steps of each gradient attack"
    if looks_through(settings) in ("crops", "defence"):
        crops = settings.attack_views
        taken += f" with {crops} fresh view{'s' * (crops != 1)} each"
    if not row.bounded:
        return f"no limit, {taken}"
    cut = settings.adversarial_roundtrip == "truncate"
    more = " (cutting to 8 bit may add one more)" if cut else ""
    return f"no pixel value moves by more than {settings.budget}/255{more}, {taken}"


def _version(settings: Settings) -> tuple[str, ...]:
    if settings.attack != "autoattack":
        return ()
    if settings.autoattack == "rand":
        return ("Version rand (APGD-CE, APGD-DLR, 20 gradients averaged), against random crops.",)
    return ("Version standard (APGD-CE, APGD-T, FAB-T, Square).",)


def _list(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
