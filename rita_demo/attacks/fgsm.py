"""FGSM: one step along the sign of the gradient."""

from rita_demo.attacks.contract import RAISES_ERROR, Attack

ATTACK = Attack(
    name="fgsm",
    title="One step (FGSM)",
    short_title="FGSM",
    menu_note="one push along the gradient",
    sentence=f"Every pixel value moves once, by the full strength, in the direction that {RAISES_ERROR}.",
    cites="Goodfellow, Shlens and Szegedy 2015",
    url="https://arxiv.org/abs/1412.6572",
    stochastic=False,
)
