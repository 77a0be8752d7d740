"""The reference implementation and the engine give the same answers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from rita_demo.vlm.registry import load
from tests.oracles.algorithm1 import ReferenceRita, cut_views

NAMES = ("cat", "dog", "cup", "a brick", "grass lawn", "polka-dotted")
SMALL = {"views": 12, "prompts": 3, "subset_size": 8, "slots": 2}
PLAIN = SMALL | {"completion": "svd", "descriptions": "none"}
CASES = {
    "paper": PAPER.replace(**SMALL),
    "recommended": RECOMMENDED.replace(**PLAIN),
    "all mass, zero when empty": RECOMMENDED.replace(**PLAIN, transported_mass=1.0, empty_class="zero"),
}


def squares(count: int) -> list[np.ndarray]:
    """Coarse coloured patterns (96, 96, 3), so that views differ from one another."""
    generator = np.random.default_rng(3)
    return [
        np.kron(generator.integers(0, 256, (8, 8, 3), np.uint8), np.ones((12, 12, 1), np.uint8)) for _ in range(count)
    ]


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_labels_and_distances_agree_with_the_engine_over_a_stream(tiny_model_dir: Path, settings: Settings) -> None:
    """Both decide from the reference's features; the test below covers the rounding of the views.

    Where a class holds several views, an SVD fills the free dimensions of the rotation with rounding
    noise, hence the wider tolerance of the cache distance.
    """
    name = f"local-dir:{tiny_model_dir}"
    engine, plain = Engine(name, "cpu"), ReferenceRita(load(name, "cpu"), NAMES, settings)
    class_prompts = engine.encode_classes(NAMES, settings)
    np.testing.assert_allclose(plain.initial_prompts, class_prompts.features, atol=1e-5)
    cache = engine.empty_cache(class_prompts, settings)
    for square in squares(4):
        features = plain.encode_image(cut_views(square, settings, engine.info.side)).astype(np.float32)
        encoded_views = replace(engine.encode_views(picture_of(square), settings), features=features)
        trace, cache = engine.decide(encoded_views, class_prompts, cache, settings)
        prompt_distance, cache_distance, total = plain(square)
        assert total.argmin() == trace.verdict.label
        np.testing.assert_allclose(prompt_distance, trace.prompt_transport.distance, atol=2e-5)
        np.testing.assert_allclose(cache_distance, trace.cache_distance, atol=1e-3)
        np.testing.assert_allclose(total, trace.total, atol=1e-3)
    assert [len(items) for items in plain.cache.classes] == cache.count.tolist()


@pytest.mark.parametrize("settings", [PAPER, RECOMMENDED], ids=["augmix", "crops"])
def test_reference_views_equal_engine_views_rounded_to_8_bit(tiny_model_dir: Path, settings: Settings) -> None:
    engine = Engine(f"local-dir:{tiny_model_dir}", "cpu")
    (square,) = squares(1)
    ours = cut_views(square, settings.replace(views=12), engine.info.side)
    theirs = engine.view_pixels(picture_of(square), settings.replace(views=12))
    difference = np.abs(np.stack([np.asarray(v) for v in ours]).astype(int) - theirs)
    assert np.quantile(difference, 0.99) <= 1
