"""Random noise: the control of every attack."""

from rita_demo.attacks.contract import DEFENCE_UNKNOWN, Attack

ATTACK = Attack(
    name="noise",
    title="Random noise",
    short_title="noise",
    menu_note="every pixel jumps at random",
    sentence="Every pixel value moves up or down at random, by the full strength.",
    victim="",
    knows=("the strength",),
    does_not_know=("the model", "the class names", *DEFENCE_UNKNOWN),
    start="signs",
    step="none",
    uses_gradient=False,
    targetable=False,
)
