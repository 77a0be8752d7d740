"""Boxes, crops, AugMix and the views made of them. The crops are Pillow's antialiased resize of a fractional box."""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import RandomResizedCrop

from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.views.augmix import augmix
from rita_demo.vlm.views.boxes import draw_boxes
from rita_demo.vlm.views.crops import crop, cut_together, make_views, resize_matrix
from tests.oracles.crops import crop_all


def waves_or_noise(height: int, width: int, kind: str) -> np.ndarray:
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
    (boxes, flipped), pixels = draw_boxes(24, 3), waves_or_noise(height, width, kind)
    ours = crop(torch.tensor(pixels), boxes, flipped, side).numpy()
    # ours is a picture, so it stays inside [0, 1]; Pillow's cubic filter overshoots in float mode
    slow = crop_all(pixels, boxes, flipped, side).clip(0, 1)
    # Same filter, same taps: what is left is float32 against double and box edges in float32.
    np.testing.assert_allclose(ours, slow, atol=2e-4)
    if height == side:
        np.testing.assert_allclose(ours[0], pixels, atol=1e-6)


def test_the_crops_of_a_gpu_are_those_of_a_cpu() -> None:
    """Two products of whole matrices against strips of each view; pixels at 0 and 1 and their gradient included."""
    (boxes, _), pixels = draw_boxes(9, 3), torch.tensor(waves_or_noise(40, 60, "noise")).mul(1.2).clamp(0, 1)
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
    pixels = torch.tensor(waves_or_noise(30, 30, "noise")).round().requires_grad_()
    crop(pixels, *draw_boxes(1, 0), 30).sum().backward()
    torch.testing.assert_close(pixels.grad, torch.ones(3, 30, 30))


def picture(side: int, seed: int = 0) -> np.ndarray:
    """(side, side, 3) uint8 from 64 to 191: smooth blobs with noise on top. Away from black and white, because PIL also
    rounds and clips between its two passes."""
    generator = np.random.default_rng(seed)
    coarse = Image.fromarray(generator.integers(64, 192, (9, 9, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC), dtype=np.int64)
    noisy = smooth + generator.integers(-40, 41, smooth.shape)
    return noisy.clip(64, 191).astype(np.uint8)


def tensor(pixels: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1).float() / 255


def test_boxes_of_a_seed_never_change() -> None:
    boxes, flipped = draw_boxes(4, seed=0)
    golden = [
        [0.0, 0.0, 1.0, 1.0],
        [0.0096782, 0.00211604, 0.77347195, 0.8740854],
        [0.00809417, 0.03802406, 0.9969986, 0.9680787],
        [0.18165763, 0.02624169, 0.9712058, 0.9777771],
    ]
    np.testing.assert_allclose(boxes, golden, atol=1e-7)
    assert flipped.tolist() == [False, False, False, True]
    assert boxes.dtype == np.float32
    assert flipped.dtype == bool


def test_more_views_keep_the_first_ones() -> None:
    few, many = draw_boxes(16, seed=5), draw_boxes(64, seed=5)
    np.testing.assert_array_equal(few[0], many[0][:16])
    np.testing.assert_array_equal(few[1], many[1][:16])


def test_boxes_are_spread_as_torchvisions_are() -> None:
    torch.manual_seed(0)
    square = torch.empty(3, 1000, 1000)
    drawn = [RandomResizedCrop.get_params(square, [0.08, 1.0], [3 / 4, 4 / 3]) for _ in range(4000)]
    top, left, height, width = (torch.tensor(drawn).T / 1000).numpy()
    boxes, _ = draw_boxes(4001, seed=1)
    ours_width, ours_height = boxes[1:, 2] - boxes[1:, 0], boxes[1:, 3] - boxes[1:, 1]
    pairs = [(width * height, ours_width * ours_height), (width / height, ours_width / ours_height)]
    for theirs, ours in [*pairs, (left, boxes[1:, 0]), (top, boxes[1:, 1])]:
        levels = np.linspace(0.05, 0.95, 10)
        difference = np.quantile(theirs, levels) - np.quantile(ours, levels)
        assert np.abs(difference).max() < 0.04


def test_a_box_that_never_fits_becomes_the_whole_square() -> None:
    boxes, _ = draw_boxes(3, 0, 1.0)
    assert (boxes == [0, 0, 1, 1]).all()


def test_views_are_deterministic_per_seed() -> None:
    settings = RECOMMENDED.replace(views=6, views_augmix=True, view_seed=4)
    one, two = (make_views(tensor(picture(80)), settings, 32) for _ in range(2))
    torch.testing.assert_close(one.pixels, two.pixels, atol=0, rtol=0)
    other = make_views(tensor(picture(80)), settings.replace(view_seed=5), 32)
    assert not torch.equal(one.pixels[1:], other.pixels[1:])
    assert torch.equal(one.pixels[0], other.pixels[0])


def test_augmix_does_not_change_view_zero_and_stays_in_range() -> None:
    settings = RECOMMENDED.replace(views=12)
    plain = make_views(tensor(picture(80)), settings, 32)
    mixed = make_views(tensor(picture(80)), settings.replace(views_augmix=True), 32)
    assert torch.equal(plain.pixels[0], mixed.pixels[0])
    assert (plain.pixels[1:] - mixed.pixels[1:]).abs().amax((1, 2, 3)).min() > 0.01
    assert float(mixed.pixels.min()) >= 0
    assert float(mixed.pixels.max()) <= 1
    assert torch.equal(plain.boxes, mixed.boxes)


def test_more_augmix_views_keep_the_first_ones() -> None:
    views = np.stack([picture(24, seed) for seed in range(4)])
    np.testing.assert_array_equal(augmix(views, 7)[:2], augmix(views[:2], 7))
    np.testing.assert_array_equal(augmix(views, 7)[2:], augmix(views[2:], 7, first=2))
