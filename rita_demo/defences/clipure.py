"""CLIPure-Cos: the feature is moved towards the mean text direction before CLIP answers (Zhang et al. 2025)."""

from rita_demo.defences import clip
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.process.lazy import Tensor
from rita_demo.settings.setting import Setting


def purified(x: Tensor, direction: Tensor, step: float, steps: int) -> Tensor:
    """``x <- unit(x + step (g - (x g) x))``, ``steps`` times: ascent of the cosine between a unit feature (D,) and
    ``g``. Each step turns x towards g by ``atan(step sin(angle))`` in the plane of both."""
    for _ in range(steps):
        x = method.unit(x + step * (direction - (x @ direction) * x))
    return x


def logits(inputs: DefenceInput) -> Tensor:
    """CLIP's logits (K,) of the purified feature, differentiable in it."""
    z = inputs.template_features
    x = purified(inputs.views[0], method.unit(z.mean(0)), inputs.params["step"], inputs.params["steps"])
    return x @ z.T / inputs.temperature


STEP_HELP = (
    "How far a step goes, on features of unit length; chosen on val. The paper's 30 is for features and gradients of "
    "another length."
)
DEFENCE = Defence(
    name="clipure",
    title="CLIPure-Cos",
    sentence="No crops: the feature of the picture takes ten steps towards the mean of all class sentences.",
    cites="Zhang et al. 2025",
    url="https://arxiv.org/abs/2502.18176",
    sees="picture",
    input_description="1 view, purified",
    answer=answer_of(logits),
    adaptive=Adaptive(
        "exact",
        logits,
        "The gradient goes through all steps; every second restart takes them for the identity.",
        clip.logits,
    ),
    dash="dot",
    symbol="hexagon",
    attack_seconds=2,
    settings=(
        Setting("step", "float", 0.02, "Step of CLIPure", STEP_HELP, low=0.0, high=100.0),
        Setting("steps", "int", 10, "Steps of CLIPure", "How many steps the feature takes.", low=0, high=100),
    ),
)
