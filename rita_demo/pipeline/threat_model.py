"""The threat model of one picture: what is attacked, what the attacker knows, and the budget."""

from collections.abc import Sequence

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import attacker_sentences, guest_sentences
from rita_demo.records import ClassPrompts, Picture, ThreatModel
from rita_demo.settings import Settings


def threat_model(
    settings: Settings,
    class_prompts: ClassPrompts,
    picture: Picture,
    label: int,
    label_given: bool,
    target: int | None,
    methods: Sequence[str],
) -> ThreatModel:
    """The threat model that is printed beside every number. ``methods``: the defences that answer."""
    aim = None if target is None else class_prompts.names[target]
    whose = "the true class" if label_given else "CLIP’s own answer"
    goal = f"away from {whose} “{class_prompts.names[label]}”" if aim is None else f"towards “{aim}”"
    row, side = get_attack(settings.attack), int(picture.pixels.shape[0])
    sentences: tuple[str, ...] = ("No attack was made here; if the picture was attacked before, we cannot know how.",)
    if settings.attack != "none":
        where = f"on a square of {side} × {side} pixels ({settings.square} protocol), seed {settings.attack_seed}"
        sentences = row.threat_sentences(settings.replace(hand_prompt=class_prompts.prompt_template), goal, where, aim)
    return ThreatModel(
        attack=settings.attack,
        budget=settings.budget if row.bounded else 0,
        steps=row.step_count(settings),
        seed=settings.attack_seed,
        square=settings.square,
        side=side,
        goal=goal if settings.attack != "none" else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=sentences + attacker_sentences(settings) + guest_sentences(methods, settings),
    )
