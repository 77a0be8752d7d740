"""The plain reading and the engine are two roads to the same answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.reference import PlainRita
from rita_demo.reference.views import cut_views
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from rita_demo.vlm import load

NAMES = ("cat", "dog", "cup", "a brick", "grass lawn", "polka-dotted")
SMALL = {"views": 12, "prompts": 3, "subset_size": 8, "slots": 2}
PLAIN = SMALL | {"completion": "svd", "descriptions": "none"}
CASES = {
    "paper": PAPER.but(**SMALL),
    "recommended": RECOMMENDED.but(**PLAIN),
    "views alike": RECOMMENDED.but(**PLAIN, view_weight="uniform"),
    "weights by area": RECOMMENDED.but(**PLAIN, view_weight="area", step_back=2.0),
    "large views more": RECOMMENDED.but(**PLAIN, view_weight="shown"),
    "without memory": RECOMMENDED.but(**PLAIN, protocol="off"),
    "all mass, zero when empty": RECOMMENDED.but(**PLAIN, transported_mass=1.0, empty_class="zero"),
}


def squares(count: int) -> list[np.ndarray]:
    """Coarse coloured patterns (96, 96, 3), so that views differ from one another."""
    generator = np.random.default_rng(3)
    return [
        np.kron(generator.integers(0, 256, (8, 8, 3), np.uint8), np.ones((12, 12, 1), np.uint8))
        for _ in range(count)
    ]


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_labels_and_distances_agree_over_a_short_stream(
    tiny_model_dir: Path, settings: Settings
) -> None:
    """Both decide from the plain reading's features; what the views' rounding does is the test below.

    Where a class holds several views, an SVD fills the free dimensions of the rotation with rounding
    noise, hence the wider tolerance of the memory's distance.
    """
    name = f"local-dir:{tiny_model_dir}"
    engine, plain = Engine(name, "cpu"), PlainRita(load(name, "cpu"), NAMES, settings)
    bank = engine.classes(NAMES, settings)
    np.testing.assert_allclose(plain.initial, bank.features, atol=1e-5)
    cache = engine.empty_cache(bank, settings)
    for square in squares(4):
        features = plain.encode_image(cut_views(square, settings, engine.info.side)).numpy()
        glance = replace(engine.look(picture_of(square), settings), features=features)
        trace, cache = engine.decide(glance, bank, cache, settings)
        answer = plain(square)
        assert answer.label == trace.verdict.label
        np.testing.assert_allclose(answer.prompt_distance, trace.prompt.distance, atol=2e-5)
        np.testing.assert_allclose(answer.cache_distance, trace.cache_distance, atol=1e-3)
        np.testing.assert_allclose(answer.total, trace.total, atol=1e-3)
    assert [len(held) for held in plain.memory] == cache.count.tolist()


@pytest.mark.parametrize("settings", [PAPER, RECOMMENDED], ids=["augmix", "crops"])
def test_its_views_are_the_engines_rounded_to_8_bit(
    tiny_model_dir: Path, settings: Settings
) -> None:
    engine = Engine(f"local-dir:{tiny_model_dir}", "cpu")
    (square,) = squares(1)
    ours = cut_views(square, settings.but(views=12), engine.info.side)
    theirs = engine.view_pixels(picture_of(square), settings.but(views=12))
    difference = np.abs(np.stack([np.asarray(v) for v in ours]).astype(int) - theirs)
    assert np.quantile(difference, 0.99) <= 1


def test_a_setting_it_does_not_know_is_refused(tiny_model_dir: Path) -> None:
    backbone = load(f"local-dir:{tiny_model_dir}", "cpu")
    with pytest.raises(ValueError, match="completion=svd"):
        PlainRita(backbone, NAMES, RECOMMENDED)
