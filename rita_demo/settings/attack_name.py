"""The name of an attack as a terminal gives it, and which defence its attacker knows."""

from rita_demo.settings import Settings

ADAPTIVE, AGAINST, EACH = "adaptive", "adaptive.against", "each"


def attacked_defence(settings: Settings) -> str:
    """The name of the defence that the attacker knows; RITA where a table has not chosen one for every row."""
    name = getattr(settings, AGAINST)
    return "rita" if name == EACH else name


def parse_attack(text: str) -> dict[str, str]:
    """Settings of an attack as a terminal names it: ``pgd``, or ``adaptive:mta`` for the attacker who knows MTA."""
    name, _, against = text.partition(":")
    return {"attack": name, AGAINST: against} if name == ADAPTIVE and against else {"attack": text}


def attack_text(settings: Settings) -> str:
    """The attack as a terminal names it; the inverse of :func:`parse_attack`."""
    against = getattr(settings, AGAINST)
    return f"{settings.attack}:{against}" if settings.attack == ADAPTIVE and against != EACH else settings.attack
