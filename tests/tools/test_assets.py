"""What ships in assets: the weights load with open_clip alone, the worked examples do what the page says beside them, and the
drawn textures are those that are stored."""

import math
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image

from rita_demo.data import samples, shipped_results
from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.process.assets import ASSETS
from rita_demo.settings import RECOMMENDED
from tools.story.samples import measure_sample
from tools.textures import CLASSES, SEEDS, draw
from tools.textures.__main__ import PER_CLASS, SIDE, exact_pictures

FOLDER = Path(__file__).parents[2] / "assets" / "model"
NAME = f"local-dir:{FOLDER}"


def test_plain_open_clip_gives_finite_features_and_a_temperature() -> None:
    model, _, preprocess = open_clip.create_model_and_transforms(NAME)
    tokenizer = open_clip.get_tokenizer(NAME)
    picture = preprocess(Image.linear_gradient("L").convert("RGB")).unsqueeze(0)
    with torch.no_grad():
        image, text, scale = model.eval()(picture, tokenizer(["a photo of a pizza.", "a banded texture"]))
    assert picture.shape == (1, 3, 128, 128)
    assert (image.shape, text.shape) == ((1, 256), (2, 256))
    assert torch.isfinite(torch.cat([image, text])).all()
    assert 1 < scale <= 100 * (1 + 1e-3)
    assert not math.isclose(float(text[0] @ text[1]), 1, abs_tol=0.05)


TYPICAL = ("coffee",)  # all at night, and the worked example in tests/pipeline
CLEAR_MARGIN = 0.005  # a margin (cosine distance) that another machine's rounding does not turn


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("embedded")


def test_the_stored_outcomes_are_of_the_shipped_weights_and_settings(engine: Engine) -> None:
    found = shipped_results.sample_outcomes()
    assert set(found) == set(samples.SAMPLES)
    for one in found.values():
        assert one.weights == engine.weights_key()[:8]
        assert (one.attack, one.budget, one.steps) == (RECOMMENDED.attack, RECOMMENDED.budget, RECOMMENDED.steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [key if key in TYPICAL else pytest.param(key, marks=pytest.mark.nightly) for key in samples.SAMPLES]
)
def test_an_example_has_the_outcome_in_its_title(engine: Engine, key: str) -> None:
    stored, now = shipped_results.sample_outcomes()[key], measure_sample(engine, key)
    if stored.rita_margin >= CLEAR_MARGIN:
        assert now.kind == stored.kind
    assert abs(now.rita_margin - stored.rita_margin) < 0.05


STORED = ASSETS / "textures"


def test_the_folder_has_the_pictures_that_the_command_writes() -> None:
    pictures = {path.relative_to(STORED).as_posix() for path in STORED.rglob("*.*")}
    wanted = {f"{part}/{name}/{seed}" for part, n in PER_CLASS.items() for name in CLASSES for seed in SEEDS[part][:n]}
    assert {name.rpartition(".")[0] for name in pictures} == wanted
    exact = {name.partition("/")[2].removesuffix(".png") for name in pictures if name.endswith("png")}
    assert exact == exact_pictures()
    for name in CLASSES:
        path, *_ = sorted((STORED / "val" / name).glob("*.png"))
        stored, drawn = np.asarray(Image.open(path), float), draw(name, int(path.stem))
        if len(stored) == SIDE:
            drawn = open_picture(drawn, square="model", side=SIDE).pixels
        assert np.abs(stored - drawn).mean() < 0.01, name
