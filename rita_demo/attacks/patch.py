"""A patch: any pixels inside one square, nothing outside it (Brown et al. 2017, here made for one picture)."""

from collections.abc import Sequence
from dataclasses import replace

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.loop.components import start_uniform
from rita_demo.attacks.loop.gradient_loop import gradient_attack
from rita_demo.attacks.loop.request import AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor, torch
from rita_demo.settings.setting import Setting

STEP_SIZE = 16 / 255  # of a pixel value in [0, 1]


def patch_mask(height: int, width: int, area: float, seed: int) -> Tensor:
    """(1, H, W) bool: a square with the share ``area`` of the picture, at a place drawn from the seed."""
    side = max(1, min(round((area * height * width) ** 0.5), height, width))
    generator = torch.Generator().manual_seed(seed)
    top, left = (int(torch.randint(room - side + 1, (), generator=generator, device="cpu")) for room in (height, width))
    mask = torch.zeros(1, height, width, dtype=torch.bool, device="cpu")
    mask[:, top : top + side, left : left + side] = True
    return mask


def patch(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop``: sign ascent on the error, from uniform noise inside the square."""
    height, width = pixels.shape[2:]
    mask = torch.stack([patch_mask(height, width, request.params["area"], seed) for seed in request.seeds])
    mask = mask.to(pixels.device)

    def start(clean: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
        return start_uniform(torch.full_like(clean, 0.5), 0.5, seeds)

    def step(iterate: Tensor, gradient: Tensor, step_size: float) -> Tensor:
        return iterate + STEP_SIZE * gradient.sign()

    def project(iterate: Tensor, clean: Tensor, radius: float) -> Tensor:
        return torch.where(mask, iterate.clamp(0, 1), clean)

    parts = replace(ATTACK, loop=None, start=start, step=step, project=project)
    return (yield from gradient_attack(logits, pixels, request, attack=parts))


AREA_HELP = "The share of the picture's area that the patch covers."
ATTACK = Attack(
    name="patch",
    title="A patch",
    menu_note="a small square takes any pixels",
    sentence="A small square of the picture gets any pixels at all, chosen in many steps; the rest stays as it was.",
    cites="Brown et al. 2017",
    url="https://arxiv.org/abs/1712.09665",
    caveat="There is no limit inside the square: everybody sees the patch.",
    loop=patch,
    bounded=False,
    iterative=True,
    steps_setting="patch.steps",
    details=lambda settings: (
        f"Only a square of {getattr(settings, 'patch.area'):.0%} of the picture's area changes, at a random place.",
    ),
    settings=(
        Setting("area", "float", 0.15, "Size of the patch", AREA_HELP, low=0.01, high=0.5),
        Setting("steps", "int", 60, "Steps of the patch", "How many gradient steps.", low=1, high=1000),
    ),
)
