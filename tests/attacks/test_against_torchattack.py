"""FGSM and PGD pixel for pixel against the torchattack package, from the same random start."""

from typing import Any

import pytest
import torch
import torchattack
from torch import Tensor

from rita_demo.attacks.loop.run import attack_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace
from rita_demo.settings import RECOMMENDED
from tests.attacks.test_attacks import SIDE, TinyModel


class RecordingModel(TinyModel):
    """It remembers every square it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.eval().requires_grad_(False)
        self.seen: list[Tensor] = []

    def forward(self, pixels: Tensor) -> Tensor:
        self.seen.append(pixels.detach().clone())
        return super().forward(pixels)


def square(seed: int, kind: str) -> Tensor:
    """(3, SIDE, SIDE) on the 8-bit grid; ``edges`` has many pixels at 0 and 1, where clipping matters."""
    noise = torch.rand(3, SIDE, SIDE, generator=torch.manual_seed(seed))
    levels = noise if kind == "grey" else (2 * noise - 0.5).clamp(0, 1)
    return (levels * 255).round() / 255


def drain(model: RecordingModel, pixels: Tensor, seed: int = 0, target: int | None = None, **asked: Any) -> AttackTrace:
    return run_to_end(attack_steps(model, pixels[None], RECOMMENDED.replace(**asked), [2], [seed], [target]))[0]


def first_perturbed(model: RecordingModel, pixels: Tensor) -> Tensor:
    """The first square shown to the model that is not the clean one: where PGD starts."""
    return next(s for s in model.seen if not torch.equal(s[0], pixels))


def to_bytes(pixels: Tensor) -> Tensor:
    """(1, 3, H, W) floats -> (H, W, 3) whole levels."""
    return (pixels[0].detach() * 255).round().to(torch.uint8).permute(1, 2, 0)


@pytest.mark.parametrize("budget", [1, 4, 8])
@pytest.mark.parametrize("kind", ["grey", "edges"])
@pytest.mark.parametrize("target", [None, 3])
def test_fgsm_pixels_equal_torchattack(budget: int, kind: str, target: int | None) -> None:
    model, pixels = RecordingModel(), square(1, kind)
    ours = drain(model, pixels, target=target, attack="fgsm", budget=budget)
    theirs = torchattack.FGSM(model, device=torch.device("cpu"), eps=budget / 255, targeted=target is not None)
    expected = theirs(pixels[None], torch.tensor([2 if target is None else target]))
    assert torch.equal(ours.pixels, to_bytes(expected))
    assert not torch.equal(ours.pixels, to_bytes(pixels[None]))


@pytest.mark.parametrize("steps", [1, 7, 10])
@pytest.mark.parametrize(("budget", "kind"), [(1, "grey"), (4, "grey"), (4, "edges"), (8, "edges")])
@pytest.mark.parametrize("target", [None, 3])
def test_pgd_pixels_equal_torchattack_from_the_same_start(
    monkeypatch: pytest.MonkeyPatch, steps: int, budget: int, kind: str, target: int | None
) -> None:
    model, pixels = RecordingModel(), square(4, kind)
    ours = drain(model, pixels, 5, target, budget=budget, steps=steps)
    start = first_perturbed(model, pixels) - pixels[None]
    assert float(start.abs().max()) <= budget / 255 + 1e-7
    monkeypatch.setattr(Tensor, "uniform_", lambda self, low, high: self.copy_(start))
    radius = {"eps": budget / 255, "alpha": budget / 255 / 4}
    theirs = torchattack.PGD(model, device=torch.device("cpu"), steps=steps, targeted=target is not None, **radius)
    expected = theirs(pixels[None], torch.tensor([2 if target is None else target]))
    assert torch.equal(ours.pixels, to_bytes(expected))
    moved = (ours.pixels.int() - to_bytes(pixels[None]).int()).abs().max()
    assert moved <= budget
    assert ours.linf == moved


def test_the_random_start_fills_the_ball_evenly_and_follows_the_seed() -> None:
    starts = []
    for seed in (0, 0, 1):
        model, pixels = RecordingModel(), square(4, "grey") * 0.8 + 0.1
        pixels = (pixels * 255).round() / 255
        drain(model, pixels, seed, steps=1)
        starts.append((first_perturbed(model, pixels)[0] - pixels) * 255 / 4)
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])
    # 432 uniform draws in [-1, 1]: mean 0 +- 0.028, standard deviation 0.577 +- 0.012
    for start in starts:
        assert abs(float(start.mean())) < 0.08
        assert float(start.std()) == pytest.approx(3**-0.5, abs=0.04)
        assert float(start.abs().max()) == pytest.approx(1, abs=0.02)
