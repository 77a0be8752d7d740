"""C-TPT: TPT that keeps the prompts of the classes apart (Yoon et al. 2024)."""

from dataclasses import replace

from rita_demo.defences import tpt
from rita_demo.settings.setting import Setting

WEIGHT_HELP = "How much C-TPT cares for prompts that stay apart; its authors use 20 on ImageNet and its variants."
WEIGHT = Setting("weight", "float", 50.0, "C-TPT's weight", WEIGHT_HELP, low=0.0, high=1000.0)
WEIGHT = replace(WEIGHT, symbol="w", stored_name="ctpt_weight")
DEFENCE = replace(
    tpt.DEFENCE,
    name="ctpt",
    title="C-TPT",
    sentence="TPT that also keeps the classes' prompts apart, so that it does not become too sure of itself.",
    cites="Yoon et al. 2024",
    url="https://arxiv.org/abs/2403.14119",
    dash="longdash",
    symbol="triangle-down",
    paper_name="C-TPT",
    attack_seconds=10,
    settings=(WEIGHT,),
)
