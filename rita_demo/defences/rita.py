"""RITA: optimal transport from the views to each class's prompts and cache. The method is in ``rita_demo/method``."""

from __future__ import annotations

from rita_demo.defences.contract import Defence, DefenceInput
from rita_demo.records import Verdict


def answer(inputs: DefenceInput) -> Verdict:
    """The decision by the lowest total cost."""
    return inputs.decide(inputs.settings).verdict


DEFENCE = Defence(
    name="rita",
    title="RITA",
    sentence="The defence shown here: it asks which class's sentences the whole cloud of crops can be "
    "moved onto at the lowest cost.",
    sees="prompts",
    input_description="{n} views, transport",
    answer=answer,
    uses=(),
    role="defence",
    dash="solid",
    symbol="circle",
    paper_name="RITA",
    uses_decision=True,
    uses_cache=True,
)
