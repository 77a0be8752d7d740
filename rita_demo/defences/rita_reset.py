"""RITA's ablation with a cache that is emptied before every picture."""

from dataclasses import replace

from rita_demo.defences import rita

DEFENCE = replace(
    rita.DEFENCE,
    name="rita_reset",
    title="RITA, fresh memory",
    sentence="RITA with a memory that is emptied before every picture.",
    input_description="{n} views, memory of this picture only",
    dash="dashdot",
    symbol="diamond-open",
    paper_name="",
    setting_changes={"protocol": "reset"},
)
