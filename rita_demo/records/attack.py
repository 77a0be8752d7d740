"""What an attack did, and its threat model."""

from dataclasses import dataclass

from rita_demo.records.arrays import Array


@dataclass(frozen=True)
class AttackTrace:
    """What one attack did to one square.

    ``pixels`` (H, W, 3) uint8 after rounding. ``frames`` (S+1, H, W, 3) uint8: the square before the first step and
    after each step (AutoAttack: only the first and the last, S = 1). ``loss`` (S+1,): the attacker's objective in
    ``loss_unit``, which the attack raises. ``probability`` (S+1, K): CLIP's single-view answer at every step. ``budget``
    in 1/255, 0 for an attack without one. ``linf`` in 1/255 and ``l2`` with pixels in [0, 1], both after rounding.
    ``fooled``: CLIP's answer on the clean square was the label and no longer is (targeted: it is now the target).
    ``already_wrong``: CLIP's answer on the clean square was not the label. ``gradient``: the L2 norm of the first
    gradient of the objective with respect to pixels in [0, 1]; None where there is none.
    """

    name: str
    pixels: Array
    frames: Array
    loss: Array
    probability: Array
    label: int
    target: int | None
    budget: int  # in 1/255
    linf: float
    l2: float
    fooled: bool
    already_wrong: bool
    seconds: float = 0.0
    loss_unit: str = "nats"
    gradient: float | None = None


@dataclass(frozen=True)
class ThreatModel:
    """Printed beside every robust number. ``sentences`` is the same in plain words."""

    attack: str
    budget: int  # in 1/255
    steps: int
    seed: int
    square: str  # "picture" or "model"
    side: int  # pixels of the attacked square
    goal: str  # "away from the true class 'cup'", "away from CLIP's own answer 'cup'", "towards 'crab'"
    knows: tuple[str, ...]
    does_not_know: tuple[str, ...]
    sentences: tuple[str, ...]
