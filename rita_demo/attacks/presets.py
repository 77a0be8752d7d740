"""The attacks by name: a plain dict of rows, and ``attack`` for one picture.

Definitions: method.md section 3. FGSM: Goodfellow et al. 2015. PGD: Madry et al. 2018.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor

from rita_demo.attacks import holes
from rita_demo.attacks.ascent import Ascent, Holes, Logits, Progress, ascend
from rita_demo.errors import SettingError
from rita_demo.records import AttackTrace

_WHITE_BOX = ("the model and its weights", "the class names", "the prompt", "the strength")
_AWAY = "raises CLIP's error most"  # what the gradient's direction does without a target
_BLIND = ("the crops the defence looks at", "the memory", "the view seed")


@dataclass(frozen=True)
class Attack:
    """A row of :data:`ATTACKS`: what a person reads about an attack, and what the loop runs.

    ``iterative``: takes as many steps as asked (else ``own_steps``); ``targetable``: can be aimed at
    a class; ``knows`` and ``does_not_know`` are the attacker's knowledge in plain words.
    """

    name: str
    title: str
    sentence: str
    knows: tuple[str, ...]
    does_not_know: tuple[str, ...]
    filling: Holes
    iterative: bool = False
    targetable: bool = True
    own_steps: int = 1

    @property
    def uses_gradient(self) -> bool:
        """Whether the model's gradient is asked for."""
        return self.filling.uses_gradient

    def aimed_at(self, target: str | None) -> str:
        """The sentence for an attack towards the class ``target``; None: away from the label."""
        if target is None:
            return self.sentence
        return self.sentence.replace(_AWAY, f"raises CLIP's probability of “{target}” most")

    def steps(self, asked: int) -> int:
        """How many steps S it takes when ``asked`` are wanted."""
        return asked if self.iterative else self.own_steps


_STILL = Holes(move=holes.by_nothing, uses_gradient=False)

ATTACKS: dict[str, Attack] = {
    "none": Attack(
        name="none",
        title="No attack",
        sentence="The picture is taken as it came and only defended.",
        knows=(),
        does_not_know=(),
        filling=_STILL,
        targetable=False,
        own_steps=0,
    ),
    "noise": Attack(
        name="noise",
        title="Random noise",
        sentence="Every pixel value moves up or down by the full strength, by the toss of a coin.",
        knows=("the strength",),
        does_not_know=("the model", "the class names", *_BLIND),
        filling=Holes(start=holes.from_signs, move=holes.by_nothing, uses_gradient=False),
        targetable=False,
    ),
    "fgsm": Attack(
        name="fgsm",
        title="One step (FGSM)",
        sentence="Every pixel value moves once, by the full strength, "
        f"in the direction that {_AWAY}.",
        knows=_WHITE_BOX,
        does_not_know=_BLIND,
        filling=Holes(),
    ),
    "pgd": Attack(
        name="pgd",
        title="Many steps (PGD)",
        sentence=f"Many small steps from a random start, each in the direction that {_AWAY}, "
        "never leaving the allowed strength.",
        knows=_WHITE_BOX,
        does_not_know=_BLIND,
        filling=Holes(start=holes.from_uniform, stride=0.25),
        iterative=True,
    ),
}


def attack_row(name: str) -> Attack:
    """The attack of that name, or a :class:`SettingError` that lists the valid ones."""
    if name not in ATTACKS:
        raise SettingError(f"The attack is one of {', '.join(ATTACKS)}; got {str(name)[:60]!r}.")
    return ATTACKS[name]


def attack(
    logits: Logits,
    pixels: Tensor,
    label: int | None,
    *,
    name: str,
    budget: int,
    steps: int,
    seed: int,
    target: int | None = None,
    roundtrip: str = "round",
) -> Generator[Progress, None, AttackTrace]:
    """Attack one square: yields a :class:`Progress` after every step, returns the trace.

    Args:
        logits: (B, 3, H, W) in [0, 1] to (B, K), differentiable; called with B = 1.
        pixels: (3, H, W) float in [0, 1] on the 8-bit grid, on the model's device.
        label: the class to leave, or None for the model's own answer on the clean square.
        name: a key of :data:`ATTACKS`.
        budget: whole number of 1/255, 0 to 255; 0 delivers the same pixels.
        steps: for iterative attacks, at least 1; the others take their own number.
        seed: fixes the random start; the same on every device.
        target: the class to reach instead of merely leaving the label.
        roundtrip: ``round`` or ``truncate`` (may leave the ball by one level; ``linf`` says so).

    Raises:
        SettingError: before the first step, naming what is allowed and what came.
    """
    row = attack_row(name)
    _check(row, budget, steps, target, roundtrip)
    if pixels.ndim != 3 or pixels.shape[0] != 3 or not pixels.is_floating_point():
        raise ValueError(f"pixels are (3, H, W) float in [0, 1]; got {tuple(pixels.shape)}")
    return _attack(logits, pixels, label, row, budget, row.steps(steps), seed, target, roundtrip)


def _attack(
    logits: Logits,
    pixels: Tensor,
    label: int | None,
    row: Attack,
    budget: int,
    steps: int,
    seed: int,
    target: int | None,
    roundtrip: str,
) -> Generator[Progress, None, AttackTrace]:
    started = time.perf_counter()

    def one(value: int | None) -> Tensor | None:
        return None if value is None else torch.tensor([int(value)], device=pixels.device)

    climb = ascend(
        logits, pixels[None], one(label), one(target), filling=row.filling,
        budget=budget, steps=steps, seeds=[seed], roundtrip=roundtrip,
    )  # fmt: skip
    while True:
        try:
            at = next(climb)
        except StopIteration as done:
            seconds = time.perf_counter() - started
            return _trace(done.value, row.name, budget, target, seconds)
        yield Progress(
            at.step, at.steps, float(at.loss), at.probability[0], at.frame[0].permute(1, 2, 0)
        )


def _trace(
    ascent: Ascent, name: str, budget: int, target: int | None, seconds: float
) -> AttackTrace:
    """The record of a batch of one: norms and verdict of the delivered 8-bit square."""
    frames = ascent.frames[:, 0].permute(0, 2, 3, 1).contiguous()
    moved = frames[-1].float() - frames[0].float()
    label = int(ascent.label[0])
    before, after = (int(ascent.probability[i, 0].argmax()) for i in (0, -1))
    reached = after == target if target is not None else after != label
    return AttackTrace(
        name=name,
        pixels=frames[-1],
        frames=frames,
        loss=ascent.loss[:, 0],
        probability=ascent.probability[:, 0],
        label=label,
        target=target,
        budget=budget,
        linf=float(moved.abs().max()),
        l2=float((moved / 255.0).norm()),
        fooled=before == label and reached,
        already_wrong=before != label,
        seconds=seconds,
    )


def _check(row: Attack, budget: int, steps: int, target: int | None, roundtrip: str) -> None:
    for name, value, low, high in (("budget", budget, 0, 255), ("steps", steps, 1, 10_000)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            unit = " of 1/255" if name == "budget" else ""
            raise SettingError(
                f"{name} is a whole number{unit} from {low} to {high}; got {str(value)[:60]}."
            )
    if roundtrip not in ("round", "truncate"):
        raise SettingError(f"roundtrip is round or truncate; got {str(roundtrip)[:60]!r}.")
    if target is not None and not row.targetable:
        raise SettingError(
            f"The attack {row.name!r} cannot be aimed at a class.",
            "Leave the target out, or choose fgsm or pgd.",
        )
