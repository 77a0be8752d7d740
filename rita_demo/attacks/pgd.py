"""PGD: projected gradient ascent from a random start."""

from rita_demo.attacks.contract import RAISES_ERROR, Attack

ATTACK = Attack(
    name="pgd",
    title="Many steps (PGD)",
    short_title="PGD",
    menu_note="many small pushes along the gradient",
    sentence=f"Many small steps from a random start, each in the direction that {RAISES_ERROR}, "
    "always within the allowed strength.",
    cites="Madry et al. 2018",
    url="https://arxiv.org/abs/1706.06083",
    start="uniform",
    relative_step_size=0.25,
    iterative=True,
)
