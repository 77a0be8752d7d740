"""DI: signed gradient steps on randomly resized and padded pictures (input diversity)."""

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.loop.request import Logits, SampledLogits
from rita_demo.process.lazy import Tensor, torch, uniform

PROBABILITY = 0.5  # of changing a picture at all
MIN_SIZE_FRACTION = 0.9  # of the side


def input_diversity_logits(logits: Logits) -> SampledLogits:
    """The model behind :func:`resized_and_padded`, with new sizes and places for every picture and step."""

    return lambda pixels, seeds: logits(torch.stack([random_resize(p, s) for p, s in zip(pixels, seeds)]))[:, None]


def random_resize(pixels: Tensor, seed: int) -> Tensor:
    """:func:`resized_and_padded` with size and place drawn from the seed; half of the pictures stay."""
    generator = torch.Generator().manual_seed(seed)
    chance, size, top, left = uniform([4], generator).tolist()
    if chance >= PROBABILITY:
        return pixels
    side = pixels.shape[-1]
    smallest = round(MIN_SIZE_FRACTION * side)
    small = smallest + int(size * (side - smallest + 1))
    room = side - small + 1
    return resized_and_padded(pixels, small, int(top * room), int(left * room))


def resized_and_padded(pixels: Tensor, small: int, top: int, left: int) -> Tensor:
    """(3, H, H) shrunk to ``small`` x ``small`` (bilinear), at (top, left) of a black picture of H x H."""
    side = pixels.shape[-1]
    shrunk = torch.nn.functional.interpolate(pixels[None], size=(small, small), mode="bilinear")[0]
    return torch.nn.functional.pad(shrunk, (left, side - small - left, top, side - small - top))


ATTACK = Attack(
    name="di",
    title="Many steps, made to carry over (DI)",
    short_title="DI",
    menu_note="survives shrinking and shifting the picture",
    sentence="Small steps on pictures that are randomly shrunk and padded, so that the change does "
    "not depend on the exact size and place.",
    cites="Xie et al. 2019",
    url="https://arxiv.org/abs/1803.06978",
    relative_step_size=0.25,
    transform=input_diversity_logits,
    iterative=True,
)
