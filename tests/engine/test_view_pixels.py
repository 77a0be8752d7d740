"""The pixels of the views: drawn once with the features where they are kept, and bit for bit those drawn again."""

from pathlib import Path

import numpy as np
import pytest

from rita_demo import Engine, vlm
from rita_demo.data.pictures import picture_of
from rita_demo.settings import RECOMMENDED
from tests.data.hostile import photo

PICTURE = picture_of(photo(64, 64))


@pytest.mark.parametrize("augmix", [False, True])
def test_kept_pixels_equal_those_drawn_again(
    tiny_model_dir: Path, augmix: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = vlm.registry.load(f"local-dir:{tiny_model_dir}", "cpu", "float32")
    settings = RECOMMENDED.replace(views=8, views_augmix=augmix)
    drawn = Engine(backbone).view_pixels(PICTURE, settings)
    keeping = Engine(backbone, view_pixel_bytes=drawn.nbytes + 1)
    keeping.encode_views(PICTURE, settings)
    monkeypatch.setattr("rita_demo.engine.encoding.make_views", None)  # the views are there by now
    assert np.array_equal(keeping.view_pixels(PICTURE, settings), drawn)
    monkeypatch.undo()
    keeping.encode_views(PICTURE, settings.replace(view_seed=1))  # there is room for one
    assert len(keeping._encoder._view_pixels._items) == 1
