"""AGC: the feature is turned towards the mean of distorted copies, further where it is an outlier (Li et al. 2026)."""

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.process.lazy import Tensor, torch, uniform
from rita_demo.settings.setting import Setting

DISTORTION = 0.5  # each corner moves inwards by up to half of this share of the side
SMALLEST_SINE = 1e-6  # of the angle between a feature and its anchor: below, there is nothing to turn


def distorted(picture: Tensor, count: int, seed: int) -> Tensor:
    """``count`` copies (count, 3, S, S) of a picture (3, S, S), each seen in another random perspective; black where it
    shows nothing. Differentiable in the pixels."""
    from torchvision.transforms.v2.functional import perspective

    generator, last = torch.Generator().manual_seed(seed), picture.shape[-1] - 1
    corners = torch.tensor([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=torch.long, device="cpu")
    moves = uniform([count, 4, 2], generator) * DISTORTION / 2
    ends = (corners + moves * (1 - 2 * corners)) * last  # inwards
    start = (corners * last).tolist()
    coefficients = [_coefficients(start, end.tolist()) for end in ends]
    return torch.stack([perspective(picture, None, None, coefficients=eight) for eight in coefficients])


def _coefficients(start: list[list[float]], end: list[list[float]]) -> list[float]:
    """torchvision's eight coefficients of the perspective that moves four corners, which it finds in the default dtype of
    torch."""
    rows = []
    for (x, y), (u, v) in zip(end, start, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    matrix = torch.tensor(rows, dtype=torch.float32, device="cpu").double()
    corners = torch.tensor(start, dtype=torch.float64, device="cpu").view(8)
    coefficients: list[float] = torch.linalg.lstsq(matrix, corners, driver="gels").solution.float().tolist()
    return coefficients


def corrected(x: Tensor, copies: Tensor, base: float, gain: float, power: float) -> Tensor:
    """The feature (D,) that answers, from that of the picture (D,) and of its copies (n, D), all unit. ``a``: unit mean of
    the copies. ``outlier``: mean of ``1 - cos(x, copy)``; ``trust``: (mean cosine of two different copies + 1) / 2.
    ``beta = base + gain clip(outlier^power trust, 0, 1)``; x moves by ``beta`` times its angle to ``a`` on the great
    circle through both, past ``a`` where beta > 1."""
    a, count = method.unit(copies.mean(0)), len(copies)
    outlier = (1 - copies @ x).mean().clamp(min=0)
    pairs = copies @ copies.T
    agreement = (pairs.sum() - pairs.diagonal().sum()) / max(count * (count - 1), 1) if count > 1 else pairs.sum()
    beta = base + gain * (outlier**power * (agreement + 1) / 2).clamp(0, 1)
    across = a - (a @ x) * x
    sine = across.norm()
    if float(sine.detach()) < SMALLEST_SINE:
        return x
    angle = torch.atan2(sine, a @ x)
    return (beta * angle).cos() * x + (beta * angle).sin() * across / sine


def logits(inputs: DefenceInput) -> Tensor:
    """CLIP's logits (K,) of the corrected feature, differentiable in the picture."""
    params, picture = inputs.params, inputs.draw_views(1)
    copies = inputs.encode_images(distorted(picture[0], params["copies"], inputs.seed))
    x = corrected(method.unit(inputs.views[0]), copies, params["base"], params["gain"], params["power"])
    return x @ inputs.template_features.T / inputs.temperature


BASE_HELP = "Share of the angle that every feature turns. The paper has 0.45; chosen anew on val."
DEFENCE = Defence(
    name="agc",
    title="AGC",
    sentence="The feature of the picture is turned towards the mean of 32 copies in other perspectives, further where it "
    "lies apart from them.",
    cites="Li et al. 2026",
    url="https://arxiv.org/abs/2605.15584",
    sees="picture",
    input_description="32 distorted copies of its own",
    reads_pixels=True,
    answer=answer_of(logits),
    adaptive=Adaptive(
        "exact", logits, "The gradient goes through fresh copies in every step and through how far it turns."
    ),
    uses=("hand_prompt", "view_seed"),
    dash="dash",
    symbol="diamond-tall",
    attack_seconds=13,
    on_request=True,
    settings=(
        Setting("copies", "int", 32, "Copies of AGC", "How many distorted copies it makes.", low=1, high=256),
        Setting("base", "float", 0.0, "Least turn of AGC", BASE_HELP, low=0.0, high=4.0),
        Setting("gain", "float", 1.8, "Gain of AGC", "How much further an outlier turns.", low=0.0, high=10.0),
        Setting("power", "float", 0.9, "Power of AGC", "Of the outlier's distance.", low=0.1, high=4.0),
    ),
)
