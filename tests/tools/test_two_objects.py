"""Pictures with two objects: how they are composed, and every rule against a loop."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.registry import load
from tools.bench import two_objects

SIDE = two_objects.SIDE
RED, BLUE = (np.full((128, 128, 3), colour, np.uint8) for colour in ((200, 0, 0), (0, 0, 100)))


def share(square: np.ndarray, colour: tuple[int, int, int]) -> float:
    return float((square == colour).all(-1).mean())


def test_both_pictures_are_on_the_square_at_the_stated_size() -> None:
    parts = {"diagonal": (1 / 4, 1 / 4), "halves": (1 / 2, 1 / 2), "corner": (1 - 9 / 64, 9 / 64)}
    for layout, (first, second) in parts.items():
        places = set()
        for seed in range(12):
            square = two_objects.compose(RED, BLUE, layout, np.random.default_rng(seed))
            assert square.shape == (SIDE, SIDE, 3)
            assert share(square, (200, 0, 0)) == first
            assert share(square, (0, 0, 100)) == second
            places.add(square[[0, 0, -1, -1], [0, -1, 0, -1]].tobytes())
        assert len(places) == (1 if layout == "halves" else 4)
    rest = two_objects.compose(RED, BLUE, "diagonal", np.random.default_rng(0))
    assert share(rest, (100, 0, 50)) == 1 / 2


def test_every_rule_equals_its_loop() -> None:
    random = torch.Generator().manual_seed(0)
    views, text = (F.normalize(torch.randn(n, 8, generator=random), dim=-1) for n in (20, 5))
    prompts, weight = text[:, None].repeat(1, 2, 1), torch.full((5, 2), 0.5)
    found = two_objects.scores(views, text, prompts, weight, 0.1)
    for k in range(5):
        cosine = [float(view @ text[k]) for view in views]
        chance = [float(torch.tensor([float(view @ one) / 0.1 for one in text]).softmax(0)[k]) for view in views]
        assert found["mean of the answers (Ensemble)"][k] == pytest.approx(sum(chance) / 20, abs=1e-6)
        assert found["surest answer"][k] == pytest.approx(max(chance), abs=1e-6)
        for rho in two_objects.SHARES:
            nearest = sorted(cosine, reverse=True)[: round(20 * rho)]
            assert found[f"nearest {rho:g}"][k] == pytest.approx(sum(nearest) / len(nearest), abs=1e-6)
    # with equal prompts everything that is moved costs 1 - cosine: balanced transport is the mean
    torch.testing.assert_close(found["transport of 1"], found["nearest 1"] - 1, atol=1e-4, rtol=0)
    assert (found["transport of 0.1"] <= found["nearest 0.1"] - 1 + 1e-4).all()  # no plan is cheaper than the nearest


def test_patches_are_the_places_whose_mean_is_the_picture() -> None:
    backbone = load("embedded", None)
    pixels = torch.rand(2, 3, backbone.side, backbone.side, generator=torch.Generator().manual_seed(0))
    patches = two_objects.encode_patches(backbone, pixels)
    assert patches.shape == (2, 16, backbone.info.width)
    torch.testing.assert_close(patches.norm(dim=-1), torch.ones(2, 16))
    unscaled = backbone._visual.trunk.forward_features((pixels - backbone._mean) / backbone._std)
    mean = F.normalize(backbone._visual.head(unscaled.mean((2, 3))), dim=-1)
    torch.testing.assert_close(mean, backbone.encode_pixels(pixels), atol=1e-5, rtol=0)


def test_a_tower_without_a_map_is_refused(tiny_model_dir: Path) -> None:
    tiny = load(f"local-dir:{tiny_model_dir}", device="cpu")
    with pytest.raises(BackboneError, match="no map of patches"):
        two_objects.encode_patches(tiny, torch.rand(1, 3, 32, 32))


@pytest.mark.nightly
def test_the_table_has_a_row_per_rule_and_the_paired_comparison() -> None:
    text = two_objects.table(two_objects.answers(load("embedded", None), "textures", None, "val", 1), "textures")
    assert text.count("\n| ") == 1 + 2 * (2 + 2 * len(two_objects.SHARES))
    assert "only transport of 0.1 is right on" in text
