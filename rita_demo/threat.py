"""The threat model of one picture: who was attacked, what the attacker knew, and how strong he was."""

from __future__ import annotations

from rita_demo.attacks import attack_row, threat_sentences
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
        budget=settings.budget if row.bounded else 0,
        steps=row.steps(settings.steps),
        seed=settings.attack_seed,
        square=settings.square,
        side=side,
        goal=goal if settings.attack != "none" else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=_sentences(settings.but(hand_prompt=bank.hand_sentence), side, goal, aim),
    )


def _sentences(settings: Settings, side: int, goal: str, aim: str | None) -> tuple[str, ...]:
    if settings.attack == "none":
        return ("No attack was made here; if the picture was attacked before, we cannot know how.",)
    square = f"on a square of {side} × {side} pixels ({settings.square} protocol)"
    return threat_sentences(settings, goal, f"{square}, seed {settings.attack_seed}", aim)
