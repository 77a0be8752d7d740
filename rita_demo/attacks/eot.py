"""EOT: PGD on CLIP's mean loss over fresh random crops (expectation over transformation)."""

from rita_demo.attacks.contract import DEFAULT_PROMPT, KNOWS_MODEL, Attack

ATTACK = Attack(
    name="eot",
    title="Through random crops (EOT)",
    short_title="EOT",
    menu_note="fools CLIP on random crops, too",
    sentence="Many small steps against CLIP's mean answer on fresh random crops: the change must survive "
    "the cropping of the defence.",
    cites="Athalye et al. 2018",
    url="https://arxiv.org/abs/1707.07397",
    victim=f"frozen CLIP on random crops with the prompt “{DEFAULT_PROMPT}”",
    knows=(*KNOWS_MODEL, "how crops are drawn"),
    does_not_know=("the transport and the tuning", "the memory", "the view seed"),
    caveat="AugMix has no gradient: where the defence uses it, the attacker leaves it out.",
    start="uniform",
    relative_step_size=0.25,
    iterative=True,
    differentiates="crops",
)
