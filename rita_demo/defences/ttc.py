"""TTC, test-time counterattack: pixels are changed so that the feature leaves where the attack put it (Xing et al. 2025)."""

from rita_demo.defences.changed_picture import changed_answer, changed_logits, climbed, levels
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput
from rita_demo.process.lazy import Tensor, torch, uniform
from rita_demo.settings.setting import Setting


def counterattack(inputs: DefenceInput, pixels: Tensor) -> Tensor:
    """What is added to pixels (1, 3, S, S), at most ``ttc.budget`` / 255 per value.

    ``delta_0`` is uniform noise. The feature's relative move ``tau = |f(x + delta_0) - f(x)| / |f(x)|`` is large where
    no attack is: then the noise alone is added. Else signed steps raise ``|f(x + delta) - f(x)|^2``, and the deltas of
    step 0 to the last are averaged with weights ``softmax(ttc.beta * step)``."""
    params, radius = inputs.params, inputs.params["budget"] / 255
    generator = torch.Generator().manual_seed(inputs.seed)
    delta = radius * (2 * uniform(pixels.shape, generator) - 1).to(pixels)
    delta = (pixels + delta).clamp(0, 1) - pixels
    with torch.no_grad():
        clean = inputs.encode_images(pixels)
        moved = (inputs.encode_images(pixels + delta) - clean).norm() / clean.norm()
    if float(moved) >= params["threshold"]:
        return delta
    deltas = [delta]
    for _ in range(params["steps"]):
        delta = climbed(lambda at: (inputs.encode_images(at) - clean).square().sum(), pixels, delta, params)
        deltas.append(delta)
    steps = torch.arange(len(deltas), dtype=pixels.dtype, device="cpu")
    weight = (params["beta"] * steps).softmax(0).to(pixels.device)
    return (weight[:, None, None, None] * torch.cat(deltas)).sum(0, keepdim=True)


THRESHOLD_HELP = (
    "Noise that moves the feature by at least this share shows a clean picture: nothing else is added. The paper has "
    "0.2; chosen anew on val."
)
DEFENCE = Defence(
    name="ttc",
    title="TTC",
    sentence="No crops: where noise hardly moves the feature, the defence attacks the picture back, away from that feature.",
    cites="Xing et al. 2025",
    url="https://arxiv.org/abs/2503.03613",
    sees="picture",
    input_description="1 view, changed",
    reads_pixels=True,
    answer=changed_answer(counterattack),
    adaptive=Adaptive(
        "identity",
        changed_logits(counterattack),
        "The counterattack is computed anew on fresh noise in every step and held fixed in the gradient.",
    ),
    uses=("hand_prompt", "view_seed"),
    dash="dashdot",
    symbol="triangle-up",
    attack_seconds=4,
    settings=(
        levels("budget", default=4.0, label="Budget of TTC", help="How far it may move a pixel, in 1/255."),
        levels("step", default=1.0, label="Step of TTC", help="How far one step moves a pixel, in 1/255."),
        Setting("steps", "int", 2, "Steps of TTC", "How many steps it takes.", low=0, high=50),
        Setting("beta", "float", 2.0, "Weight of late steps", "0: all steps count alike.", low=0.0, high=50.0),
        Setting("threshold", "float", 0.4, "Threshold of TTC", THRESHOLD_HELP, low=0.0, high=2.0),
    ),
)
