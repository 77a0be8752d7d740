"""RITA's ablation without the cache: d_OT alone."""

from dataclasses import replace

from rita_demo.defences import rita

DEFENCE = replace(
    rita.DEFENCE,
    name="rita_prompts",
    title="RITA, prompts only",
    sentence="A part of RITA: the transport cost to the class's sentences alone.",
    input_description="{n} views, without the memory",
    dash="dash",
    symbol="circle-open",
    paper_name="",
    uses_cache=False,
    setting_changes={"protocol": "off"},
)
