"""CW L-infinity: PGD on the margin of Carlini and Wagner."""

from rita_demo.attacks.contract import Attack

ATTACK = Attack(
    name="cw_linf",
    title="Many steps on the margin (CW L∞)",
    short_title="CW L∞",
    menu_note="lifts the best wrong answer",
    sentence="The same small steps, but they raise the margin of the best wrong class over the right one "
    "instead of the error.",
    cites="Carlini and Wagner 2017",
    url="https://arxiv.org/abs/1608.04644",
    start="uniform",
    goal="margin",
    relative_step_size=0.25,
    iterative=True,
    loss_unit="logits",
)
