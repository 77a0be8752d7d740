"""The attacks by name: a plain dict of rows, definitions in docs/method.md, section 3.

FGSM: Goodfellow et al. 2015. PGD: Madry et al. 2018. CW: Carlini and Wagner 2017. DI: Xie et al. 2019.
AutoAttack: Croce and Hein 2020. EOT: Athalye et al. 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from rita_demo.attacks import holes
from rita_demo.attacks.ascent import Climb, Holes, ascend
from rita_demo.attacks.autoattack import autoattack
from rita_demo.attacks.carlini_wagner import smallest_change
from rita_demo.errors import SettingError
from rita_demo.settings import Settings

_MODEL = ("the model and its weights", "the class names", "the prompt", "the strength")
_BLIND = ("the crops the defence looks at", "the step back", "the memory", "the view seed")
_AWAY = "raises CLIP's error most"  # what the gradient's direction does without a target
HAND = "a photo of a …"  # as the victims below are asked, unless the settings say otherwise
_CLIP = f"frozen CLIP with one view and the prompt “{HAND}”"
_STRONGER = "An attacker who knows the defence as well is stronger than this one."


@dataclass(frozen=True)
class Attack:
    """A row of :data:`ATTACKS`: what a person reads about an attack, and what runs.

    ``victim``: who is attacked, "" when nobody in particular is; ``knows`` and ``does_not_know``: the
    attacker's knowledge in plain words; ``caveat``: a sentence a reader of its numbers needs.
    ``climb``: the loop.
    ``iterative``: takes as many steps as asked (else ``own_steps``); ``targetable``: can be aimed at
    a class; ``drawn``: another seed gives another result; ``bounded``: has a budget; ``through``: what it
    looks through, "" the model itself, "diversity", "crops" or "defence"; ``loss_unit``: of its goal.
    """

    name: str
    title: str
    sentence: str
    victim: str
    knows: tuple[str, ...]
    does_not_know: tuple[str, ...]
    climb: Climb
    caveat: str = _STRONGER
    iterative: bool = False
    targetable: bool = True
    drawn: bool = True
    bounded: bool = True
    through: str = ""
    own_steps: int = 1
    loss_unit: str = "nats"

    @property
    def asks_clip(self) -> bool:
        """Whether it looks at plain CLIP's answer, and so depends on the sentence that CLIP is asked."""
        return bool(self.victim) and self.through != "defence"

    def aimed_at(self, target: str | None) -> str:
        """The sentence for an attack towards the class ``target``; None: away from the label."""
        if target is None:
            return self.sentence
        aimed = self.sentence.replace(_AWAY, f"raises CLIP's probability of “{target}” most")
        return aimed if aimed != self.sentence else f"{aimed} Here it aims at “{target}”."

    def steps(self, asked: int) -> int:
        """How many steps S it takes when ``asked`` are wanted (AutoAttack: of each of its parts)."""
        return asked if self.iterative else self.own_steps


def _loop(**filling: Any) -> Climb:
    return partial(ascend, filling=Holes(**filling))


_PGD = {"start": holes.from_uniform, "stride": 0.25}

ATTACKS: dict[str, Attack] = {
    "none": Attack(
        name="none",
        title="No attack",
        sentence="The picture is taken as it came and only defended.",
        victim="",
        knows=(),
        does_not_know=(),
        climb=_loop(move=holes.by_nothing, uses_gradient=False),
        targetable=False,
        drawn=False,
        own_steps=0,
    ),
    "noise": Attack(
        name="noise",
        title="Random noise",
        sentence="Every pixel value moves up or down by the full strength, by the toss of a coin.",
        victim="",
        knows=("the strength",),
        does_not_know=("the model", "the class names", *_BLIND),
        climb=_loop(start=holes.from_signs, move=holes.by_nothing, uses_gradient=False),
        targetable=False,
    ),
    "fgsm": Attack(
        name="fgsm",
        title="One step (FGSM)",
        sentence="Every pixel value moves once, by the full strength, "
        f"in the direction that {_AWAY}.",
        victim=_CLIP,
        knows=_MODEL,
        does_not_know=_BLIND,
        climb=_loop(),
        drawn=False,
    ),
    "pgd": Attack(
        name="pgd",
        title="Many steps (PGD)",
        sentence=f"Many small steps from a random start, each in the direction that {_AWAY}, "
        "never leaving the allowed strength.",
        victim=_CLIP,
        knows=_MODEL,
        does_not_know=_BLIND,
        climb=_loop(**_PGD),
        iterative=True,
    ),
    "cw_linf": Attack(
        name="cw_linf",
        title="Many steps on the margin (CW L∞)",
        sentence="The same small steps, but they widen the lead of the best wrong class over the right "
        "one instead of raising the error.",
        victim=_CLIP,
        knows=_MODEL,
        does_not_know=_BLIND,
        climb=_loop(**_PGD, goal=holes.margin),
        iterative=True,
        loss_unit="logits",
    ),
    "cw_l2": Attack(
        name="cw_l2",
        title="Smallest change (CW L2)",
        sentence="Looks for the smallest change that fools CLIP; it has no limit on strength and "
        "stops caring once CLIP is fooled.",
        victim=_CLIP,
        knows=_MODEL[:3],
        does_not_know=_BLIND,
        climb=smallest_change,
        caveat="There is no limit on strength: read it together with how far the pixels moved. "
        + _STRONGER,
        drawn=False,
        bounded=False,
        own_steps=50,
        loss_unit="no unit",
    ),
    "di": Attack(
        name="di",
        title="Many steps, made to carry over (DI)",
        sentence="Small steps on pictures that are randomly shrunk and padded, so that the change does "
        "not depend on the exact size and place.",
        victim=_CLIP,
        knows=_MODEL,
        does_not_know=_BLIND,
        climb=_loop(stride=0.25),
        iterative=True,
        through="diversity",
    ),
    "autoattack": Attack(
        name="autoattack",
        title="Four attacks in turn (AutoAttack)",
        sentence="Three gradient attacks and one that only asks questions, one after the other until "
        "one fools CLIP; nothing to tune. It may take minutes.",
        victim=_CLIP,
        knows=_MODEL,
        does_not_know=_BLIND,
        climb=autoattack,
        caveat="Pictures that CLIP already gets wrong are left as they are, as the protocol of "
        "AutoAttack has it; they are counted as “already wrong”. " + _STRONGER,
        targetable=False,
        own_steps=100,
        loss_unit="logits",
    ),
    "eot": Attack(
        name="eot",
        title="Through random crops (EOT)",
        sentence="Many small steps against what CLIP says about fresh random crops, averaged: the change "
        "must survive the crops that the defence looks at.",
        victim=f"frozen CLIP on random crops with the prompt “{HAND}”",
        knows=(*_MODEL, "how crops are drawn"),
        does_not_know=(
            "the step back",
            "the transport and the tuning",
            "the memory",
            "the view seed",
        ),
        climb=_loop(**_PGD),
        caveat="AugMix has no gradient: where the defence uses it, the attacker leaves it out.",
        iterative=True,
        through="crops",
    ),
    "defence": Attack(
        name="defence",
        title="Through the whole defence",
        sentence="Many small steps against RITA itself: fresh crops, prompts, transport and memory, "
        "everything but the dice.",
        victim="RITA itself, on its own answer",
        knows=(*_MODEL, "how crops are drawn", "every setting of RITA", "the memory"),
        does_not_know=("the view seed",),
        climb=_loop(**_PGD),
        caveat="The gradient goes through crops, model and transport costs. The transport plans (their "
        "gradient is the plan itself), the prompts as tuned for each draw of crops, the weights of the "
        "views and the memory are computed exactly at every step and held fixed on the way back. AugMix "
        "is left out.",
        iterative=True,
        through="defence",
    ),
}


def attack_row(name: str) -> Attack:
    """The attack of that name, or a :class:`SettingError` that lists the valid ones."""
    if name not in ATTACKS:
        raise SettingError(f"The attack is one of {', '.join(ATTACKS)}; got {str(name)[:60]!r}.")
    return ATTACKS[name]


def looks_through(settings: Settings) -> str:
    """What the attack of these settings looks through: "", "diversity", "crops" or "defence".

    AutoAttack's version ``rand`` is made for random models: it looks through crops.
    """
    if settings.attack == "autoattack" and settings.autoattack == "rand":
        return "crops"
    return attack_row(settings.attack).through
