"""DBD: the answer from a feature that is moved along the mean offset of its views (Liu et al. 2026)."""

from io import BytesIO

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.process.lazy import Tensor, normal, torch
from rita_demo.settings.setting import Setting

CROPS, SMALLEST_CROP = 16, 0.5  # of the picture's area
BITS = (3, 4, 5)  # per colour
JPEG_QUALITIES = (30, 50, 75)
NOISES = (0.02, 0.02, 0.04, 0.04, 0.08, 0.08)  # standard deviations, pixels in [0, 1]
BLURS = (0.5, 1.0, 1.5)  # standard deviations in pixels


def versions(picture: Tensor, seed: int) -> Tensor:
    """32 versions (32, 3, S, S) of a picture (3, S, S): itself, crops, fewer bits, JPEG, noise, blur. Differentiable in
    the pixels; fewer bits and JPEG pass the gradient as if they did nothing."""
    from torchvision.transforms.v2.functional import gaussian_blur

    from rita_demo.vlm.views.boxes import draw_boxes
    from rita_demo.vlm.views.crops import crop

    generator = torch.Generator().manual_seed(seed)
    boxes, flipped = draw_boxes(CROPS + 1, seed, SMALLEST_CROP)
    groups = [crop(picture, boxes, flipped, picture.shape[-1])]  # box 0 is the whole picture
    hard = [(picture.detach() * (2**bits - 1)).round() / (2**bits - 1) for bits in BITS]
    hard += [_jpeg(picture.detach(), quality) for quality in JPEG_QUALITIES]
    groups.append(torch.stack([picture + (version - picture.detach()) for version in hard]))
    noise = [deviation * normal(picture.shape, generator).to(picture) for deviation in NOISES]
    groups.append(torch.stack([(picture + drawn).clamp(0, 1) for drawn in noise]))
    groups.append(torch.stack([gaussian_blur(picture, [7, 7], [width, width]) for width in BLURS]))
    return torch.cat(groups)


def _jpeg(picture: Tensor, quality: int) -> Tensor:
    """A picture (3, S, S) after JPEG."""
    import numpy as np
    from PIL import Image

    levels = (picture * 255).round().clamp(0, 255).byte().permute(1, 2, 0).cpu().numpy()
    file = BytesIO()
    Image.fromarray(levels).save(file, "JPEG", quality=quality)
    decoded = torch.from_numpy(np.array(Image.open(file)))
    return decoded.permute(2, 0, 1).to(picture) / 255


def moved_feature(x: Tensor, z: Tensor, temperature: float, surest: int, threshold: float, far: float) -> Tensor:
    """The feature (D,) that answers, from versions (N, D), version 0 the picture, and class sentences (K, D). ``d``:
    mean of ``x_n - x_0`` over the ``surest`` other versions (of lowest entropy). ``s``: mean of ``cos(x_n - x_0, d)``
    over the same. The answer's feature is ``x_0 + far d`` where ``s > threshold``, else ``x_0 + d``, of unit length."""
    entropy = method.entropy_of((x[1:] @ z.T / temperature).log_softmax(-1))
    rows = entropy.topk(min(surest, len(entropy)), largest=False).indices
    offset = x[1:][rows] - x[0]
    d = offset.mean(0)
    agreement = torch.nn.functional.cosine_similarity(offset, d[None], dim=-1).mean()
    return method.unit(x[0] + (far if float(agreement.detach()) > threshold else 1.0) * d)


def logits(inputs: DefenceInput) -> Tensor:
    """CLIP's logits (K,) of the moved feature, differentiable in the picture."""
    params, z = inputs.params, inputs.template_features
    x = inputs.encode_images(versions(inputs.draw_views(1)[0], inputs.seed))
    moved = moved_feature(x, z, inputs.temperature, params["surest"], params["threshold"], params["far"])
    return moved @ z.T / inputs.temperature


THRESHOLD_HELP = (
    "Versions whose offsets have a higher mean cosine with their mean show an attack. The paper has 0.8; chosen anew "
    "on val."
)
DEFENCE = Defence(
    name="dbd",
    title="DBD",
    sentence="The feature of the picture is moved along the mean offset of 31 changed versions of it, further where they agree.",
    cites="Liu et al. 2026",
    url="https://arxiv.org/abs/2606.06186",
    sees="picture",
    input_description="32 versions of its own",
    reads_pixels=True,
    answer=answer_of(logits),
    adaptive=Adaptive(
        "straight-through",
        logits,
        "The gradient is exact on the features; fewer bits, JPEG, the choice of versions and the threshold are passed.",
    ),
    uses=("hand_prompt", "view_seed"),
    dash="dash",
    symbol="square",
    attack_seconds=13,
    settings=(
        Setting("surest", "int", 16, "Surest versions", "How many versions the offset is the mean of.", low=1, high=31),
        Setting("threshold", "float", 0.5, "Threshold of DBD", THRESHOLD_HELP, low=-1.0, high=1.0),
        Setting("far", "float", 2.5, "Step of DBD", "How far the feature moves then, in offsets.", low=0.0, high=100.0),
    ),
)
