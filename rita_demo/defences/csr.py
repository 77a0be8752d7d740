"""CSR: where a low-pass version disagrees, pixels are changed towards it (arXiv 2601.19210)."""

from rita_demo.defences.changed_picture import changed_answer, changed_logits, climbed, levels
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput
from rita_demo.process.lazy import Tensor, torch
from rita_demo.settings.setting import Setting

REFERENCE_SIDE = 224  # the radius is stated for this side


def low_pass(pixels: Tensor, radius: float) -> Tensor:
    """Pixels (1, 3, S, S) times ``exp(-d^2 / (2 r^2))`` in the Fourier domain, ``d`` the distance from frequency 0 and
    ``r = radius S / 224``."""
    side = pixels.shape[-1]
    frequency = torch.fft.fftfreq(side, 1 / side, dtype=pixels.dtype, device=pixels.device)
    squared = frequency.square()[:, None] + frequency.square()
    gain = (-squared / (2 * (radius * side / REFERENCE_SIDE) ** 2)).exp()
    return torch.fft.ifft2(torch.fft.fft2(pixels) * gain).real.clamp(0, 1).to(pixels)


def repair(inputs: DefenceInput, pixels: Tensor) -> Tensor:
    """What is added to pixels (1, 3, S, S), at most ``csr.budget`` / 255 per value; zero where both versions agree.
    Signed steps raise ``cos(f(x + delta), f(low)) - cos(f(x + delta), f(x))``."""
    params = inputs.params
    with torch.no_grad():
        clean, smooth = inputs.encode_images(torch.cat([pixels, low_pass(pixels, params["radius"])])).unbind()
    delta = torch.zeros_like(pixels)
    if float(clean @ smooth) >= params["threshold"]:
        return delta
    for _ in range(params["steps"]):
        delta = climbed(lambda at: inputs.encode_images(at)[0] @ (smooth - clean), pixels, delta, params)
    return delta


RADIUS_HELP = "Width of the Gaussian in the Fourier domain, for a picture of 224 pixels; it is scaled with the side."
THRESHOLD_HELP = (
    "A picture whose blurred version has at least this cosine with it is left alone. The paper has 0.85; chosen anew "
    "on val."
)
DEFENCE = Defence(
    name="csr",
    title="CSR",
    sentence="No crops: where a blurred version of the picture has another feature, pixels are moved towards that one.",
    cites="CSR 2026",
    url="https://arxiv.org/abs/2601.19210",
    sees="picture",
    input_description="1 view, changed",
    reads_pixels=True,
    answer=changed_answer(repair),
    adaptive=Adaptive(
        "identity", changed_logits(repair), "The repair is computed anew in every step and held fixed in the gradient."
    ),
    dash="longdash",
    symbol="triangle-down",
    attack_seconds=4,
    settings=(
        levels("budget", default=4.0, label="Budget of CSR", help="How far it may move a pixel, in 1/255."),
        levels("step", default=2.0, label="Step of CSR", help="How far one step moves a pixel, in 1/255."),
        Setting("steps", "int", 3, "Steps of CSR", "How many steps it takes.", low=0, high=50),
        Setting("radius", "float", 40.0, "Low-pass radius", RADIUS_HELP, low=1.0, high=1000.0),
        Setting("threshold", "float", 0.75, "Threshold of CSR", THRESHOLD_HELP, low=-1.0, high=1.0),
    ),
)
