"""CLIP itself: view 0 and one prompt per class (docs/method.md, definition 1)."""

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of
from rita_demo.process.lazy import Tensor


def logits(inputs: DefenceInput) -> Tensor:
    """``cos(x_0, z_k) / tau`` (K,), whose softmax is ``p(k|x_0)``."""
    return inputs.views[0] @ inputs.template_features.T / inputs.temperature


DEFENCE = Defence(
    name="clip",
    title="CLIP",
    sentence="A model that compares a picture with sentences; the class whose sentence fits best wins.",
    cites="Radford et al. 2021",
    url="https://arxiv.org/abs/2103.00020",
    sees="picture",
    input_description="1 view",
    answer=answer_of(logits),
    adaptive=Adaptive("exact", logits),
    role="text",
    dash="dot",
    symbol="square",
    paper_name="CLIP",
    attack_seconds=2,
)
