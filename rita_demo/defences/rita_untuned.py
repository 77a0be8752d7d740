"""RITA's ablation without the prompt update."""

from dataclasses import replace

from rita_demo.defences import rita

DEFENCE = replace(
    rita.DEFENCE,
    name="rita_untuned",
    title="RITA, untuned",
    sentence="RITA without the prompt update: views, transport and memory only.",
    input_description="{n} views, no prompt update",
    dash="longdash",
    symbol="triangle-up-open",
    paper_name="",
    setting_changes={"tuning_steps": 0},
)
