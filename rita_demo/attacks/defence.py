"""PGD through RITA as a whole; the engine builds the logits (``engine/attack_models.py``)."""

from rita_demo.attacks.contract import KNOWS_MODEL, Attack

ATTACK = Attack(
    name="defence",
    title="Through the whole defence",
    short_title="through RITA",
    sentence="Many small steps against RITA itself: fresh crops, prompts, transport and memory, "
    "everything but the random seed.",
    cites="Athalye, Carlini and Wagner 2018",
    url="https://arxiv.org/abs/1802.00420",
    victim="RITA itself, on its own answer",
    knows=(*KNOWS_MODEL, "how crops are drawn", "every setting of RITA", "the memory"),
    does_not_know=("the view seed",),
    caveat="The gradient goes through crops, model and transport costs. The transport plans (their "
    "gradient is the plan itself), the prompts as tuned for each draw of crops, the weights of the "
    "views and the memory are computed exactly at every step and held fixed in the backward pass. AugMix "
    "is left out.",
    start="uniform",
    relative_step_size=0.25,
    iterative=True,
    differentiates="defence",
)
