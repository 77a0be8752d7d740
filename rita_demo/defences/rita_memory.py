"""RITA's ablation without the prompts' cost: d_cOT alone."""

from dataclasses import replace

from rita_demo.defences import rita

DEFENCE = replace(
    rita.DEFENCE,
    name="rita_memory",
    title="RITA, memory only",
    sentence="A part of RITA: the transport cost to the remembered views alone.",
    input_description="{n} views, without the sentences’ cost",
    answer=lambda inputs: inputs.decide(inputs.settings).cache_verdict,
    dash="dot",
    symbol="square-open",
    paper_name="",
    cache_only=True,
)
