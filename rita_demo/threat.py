"""The threat model of one picture: who was attacked, what the attacker knew, and how strong he was."""

from __future__ import annotations

from rita_demo.attacks import Attack, attack_row
from rita_demo.records import Picture, TextBank, ThreatModel
from rita_demo.settings import Settings


def threat_model(
    settings: Settings,
    bank: TextBank,
    picture: Picture,
    label: int,
    label_given: bool,
    target: int | None,
) -> ThreatModel:
    """Who is attacked, what the attacker knows, and how strong he is: printed beside every number."""
    truth, aim = bank.names[label], None if target is None else bank.names[target]
    goal = f"away from {'the true class' if label_given else 'CLIP’s own answer'} “{truth}”"
    if aim is not None:
        goal = f"towards “{aim}”"
    row = attack_row(settings.attack)
    side = int(picture.pixels.shape[0])
    return ThreatModel(
        attack=settings.attack,
        budget=settings.budget,
        steps=row.steps(settings.steps),
        seed=settings.attack_seed,
        square=settings.square,
        side=side,
        goal=goal if settings.attack != "none" else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=_sentences(settings, row, side, goal, aim),
    )


def _sentences(
    settings: Settings, row: Attack, side: int, goal: str, aim: str | None
) -> tuple[str, ...]:
    if row.name == "none":
        return ("No attack was made here; if the picture was attacked before, we cannot know how.",)
    steps = row.steps(settings.steps)
    cut = settings.adversarial_roundtrip == "truncate"
    more = " (cutting to 8 bit may add one more)" if cut else ""
    return (
        f"{row.title}: {row.aimed_at(aim)}",
        f"Attacked: frozen CLIP with one view and the prompt “a photo of a …”; {goal}."
        if row.uses_gradient
        else "Attacked: nobody in particular; this is the control.",
        f"Strength: no pixel value moves by more than {settings.budget}/255{more}, in {steps} "
        f"step{'s' if steps > 1 else ''}, on a square of {side} × {side} pixels "
        f"({settings.square} protocol), seed {settings.attack_seed}.",
        f"The attacker knows {_list(row.knows)}; he does not know {_list(row.does_not_know)}.",
        "An attacker who knows the defence as well is stronger than this one.",
    )


def _list(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
