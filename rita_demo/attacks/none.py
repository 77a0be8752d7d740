"""No attack: the picture is only defended."""

from rita_demo.attacks.contract import Attack

ATTACK = Attack(
    name="none",
    title="No attack",
    short_title="no attack",
    sentence="The picture is taken as it is and only defended.",
    victim="",
    knows=(),
    does_not_know=(),
    step="none",
    uses_gradient=False,
    targetable=False,
    stochastic=False,
    default_steps=0,
)
