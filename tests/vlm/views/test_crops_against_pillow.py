"""Batched crops against Pillow's antialiased resize of a fractional box."""

import numpy as np
import pytest
import torch

from rita_demo.vlm.views.boxes import draw_boxes
from rita_demo.vlm.views.crops import crop, cut_together, resize_matrix
from tests.oracles.crops import crop_all

F = np.ndarray


def picture(height: int, width: int, kind: str) -> F:
    """(3, H, W) floats in [0, 1]: ``smooth`` waves, or ``noise`` from 0.2 to 0.8."""
    rng = np.random.default_rng(0)
    if kind == "noise":
        return rng.uniform(0.2, 0.8, size=(3, height, width)).astype(np.float32)
    y, x = np.mgrid[:height, :width] / max(height, width)
    waves = [np.sin(9 * x + 5 * y), np.cos(12 * y), np.sin(7 * x * y + 1)]
    return np.stack([0.5 + 0.3 * wave for wave in waves]).astype(np.float32)


@pytest.mark.parametrize("kind", ["smooth", "noise"])
@pytest.mark.parametrize(("height", "width", "side"), [(96, 96, 32), (64, 64, 64), (40, 40, 64), (50, 50, 70)])
def test_drawn_crops_are_pillows(height: int, width: int, side: int, kind: str) -> None:
    (boxes, flipped), pixels = draw_boxes(24, 3), picture(height, width, kind)
    ours = crop(torch.tensor(pixels), boxes, flipped, side).numpy()
    # ours is a picture, so it stays inside [0, 1]; Pillow's cubic filter overshoots in float mode
    slow = crop_all(pixels, boxes, flipped, side).clip(0, 1)
    # Same filter, same taps: what is left is float32 against double and box edges in float32.
    np.testing.assert_allclose(ours, slow, atol=2e-4)
    if height == side:
        np.testing.assert_allclose(ours[0], pixels, atol=1e-6)


def test_the_crops_of_a_gpu_are_those_of_a_cpu() -> None:
    """Two products of whole matrices against strips of each view; pixels at 0 and 1 and their gradient included."""
    (boxes, _), pixels = draw_boxes(9, 3), torch.tensor(picture(40, 60, "noise")).mul(1.2).clamp(0, 1)
    where, found = torch.as_tensor(boxes).double(), []
    rows, columns = (resize_matrix(where[:, n], where[:, n + 2], size, 24) for n, size in ((1, 40), (0, 60)))
    for cut in (lambda at: cut_together(at, rows, columns), lambda at: crop(at, boxes, np.zeros(9, bool), 24)):
        at = pixels.clone().requires_grad_()
        views = cut(at)
        (slope,) = torch.autograd.grad((views * torch.linspace(0, 1, 24)).sum(), at)
        found.append((views.detach(), slope))
    torch.testing.assert_close(found[0][0], found[1][0], atol=1e-5, rtol=0)
    torch.testing.assert_close(found[0][1], found[1][1], atol=1e-4, rtol=1e-4)


def test_the_gradient_of_a_crop_is_its_filter_transposed() -> None:
    """<crop(u), v> is linear in u: its gradient, applied to a direction, is crop of that direction."""
    rng = np.random.default_rng(1)
    boxes, flipped = draw_boxes(5, 2)
    pixels = torch.full((3, 30, 30), 0.5, requires_grad=True)  # far from 0 and 1: nothing is clipped
    direction = rng.normal(size=(3, 30, 30)).astype(np.float32)
    cotangent = rng.normal(size=(5, 3, 12, 12))
    views = crop(pixels, boxes, flipped, 12)
    (views.double() * torch.tensor(cotangent)).sum().backward()
    ours = float((pixels.grad.double() * torch.tensor(direction)).sum())
    slow = crop_all(direction, np.asarray(boxes), np.asarray(flipped), 12)
    assert ours == pytest.approx(float((slow * cotangent).sum()), abs=2e-3)


def test_pixels_at_0_and_1_have_a_gradient() -> None:
    """The whole square at its own size is the identity, and so is its gradient: an attack moves black and white pixels."""
    pixels = torch.tensor(picture(30, 30, "noise")).round().requires_grad_()
    crop(pixels, *draw_boxes(1, 0), 30).sum().backward()
    torch.testing.assert_close(pixels.grad, torch.ones(3, 30, 30))
