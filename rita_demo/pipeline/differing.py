"""The stored pictures on which an attack leaves only RITA right, or only the average of the crops."""

import json
from dataclasses import dataclass, fields

from rita_demo.process.assets import ASSETS, reading_asset

#: Written by ``python -m tools.story.differing``.
STORED = ASSETS / "measured" / "differing.json"


@dataclass(frozen=True)
class Source:
    """A picture that may be shipped: a sample, or a drawn texture of the class ``label``."""

    sample: str  # a key of SAMPLES; "": a texture
    label: str
    seed: int | None  # of the texture


@dataclass(frozen=True)
class Differing:
    """One picture on which only one of the two is right: what the page shows of it. Names, not indices, of classes."""

    right: str  # "rita" or "average"
    source: Source
    budget: int  # in 1/255
    rival: str  # the wrong class of the other one
    answers: dict[str, str]  # average, balanced, rita -> its answer on the attacked picture
    leads: dict[str, float]  # each in its own unit
    clean: tuple[float, ...]  # (N,) the crops' margins between the true class and the rival, without the attack
    attacked: tuple[float, ...]  # (N,) with it
    weight: dict[str, tuple[float, ...]]  # rule -> (N,) the crops' shares in its answer
    drop: float | None  # the law's terms; None: no crop is turned
    rise: float | None
    weights: str  # the first digits of the hash of the model's weights


def stored() -> tuple[Differing, ...]:
    """The stored pictures, one of each kind that was found. Raises DataError: the file is missing or damaged."""
    with reading_asset("The stored pictures on which the methods differ", "measured/differing.json"):
        return tuple(_read(one) for one in json.loads(STORED.read_text("utf-8"))["pictures"])


def tried() -> int:
    """How many pictures and strengths were looked at for the stored ones."""
    return int(json.loads(STORED.read_text("utf-8"))["tried"])


def _read(given: dict) -> Differing:
    parts = {field.name: given[field.name] for field in fields(Differing)}
    parts |= {name: tuple(parts[name]) for name in ("clean", "attacked")}
    parts |= {"source": Source(**parts["source"]), "weight": {n: tuple(w) for n, w in parts["weight"].items()}}
    return Differing(**parts)
