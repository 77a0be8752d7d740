"""What ships in assets: the weights load with open_clip alone, the worked examples do what the page says beside them, and the
drawn textures are those that are stored."""

import json
import math
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image

from rita_demo.data import samples, shipped_results
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.engine.engine import Engine
from rita_demo.process.assets import ASSETS
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.words import word_list
from tools.story.samples import measure_sample
from tools.textures import CLASSES, SEEDS, draw
from tools.textures.__main__ import PER_CLASS, SIDE, exact_pictures, main

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


def test_seen_words_are_those_of_the_training_names_and_not_what_their_pieces_could_spell() -> None:
    listed = json.loads((FOLDER / "seen_words.json").read_text())
    seen, words = set(json.loads((FOLDER / "seen_tokens.json").read_text())), set(listed)
    assert listed == sorted(words)
    tokenizer = open_clip.SimpleTokenizer()
    assert all(seen.issuperset(tokenizer.encode(word)) for word in words), "each was met in training"
    for name in ("caltech101", "dtd"):
        assert set(word_list(VOCABULARIES[name].names)) <= words, name
    assert len(set(word_list(VOCABULARIES["imagenet"].names)) - words) < 20, "a few were never drawn"
    assert words.isdisjoint({"cow", "cows", "pferd", "hund", "yxcv", "rocket", "cats"})
    assert all(seen.issuperset(tokenizer.encode(word)) for word in ("Pferd", "Hund")), "although their pieces were met"


TYPICAL = ("coffee", "brick")  # an object and a texture; all at night, and the worked example in tests/pipeline
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


def difference(path: Path) -> float:
    """Mean over the pixels of a stored picture, between it and the one of its class and seed that is drawn now."""
    stored, drawn = np.asarray(Image.open(path), float), draw(path.parent.name, int(path.stem))
    if len(stored) == SIDE:
        drawn = open_picture(drawn, square="model", side=SIDE).pixels
    return float(np.abs(stored - drawn).mean())


def test_every_word_of_dtd_is_drawn_as_it_is_stored() -> None:
    assert VOCABULARIES["dtd"].names == CLASSES
    for name in CLASSES:
        exact, *_ = sorted((STORED / "val" / name).glob("*.png"))
        assert difference(exact) < 0.01, f"{name}: more than the rounding of another processor"


def test_the_folder_has_the_pictures_that_the_command_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pictures = {path.relative_to(STORED).as_posix() for path in STORED.rglob("*.*")}
    wanted = {f"{part}/{name}/{seed}" for part, n in PER_CLASS.items() for name in CLASSES for seed in SEEDS[part][:n]}
    assert {name.rpartition(".")[0] for name in pictures} == wanted
    assert sum((STORED / name).stat().st_size for name in pictures) < 10_000_000
    exact = {name.partition("/")[2].removesuffix(".png") for name in pictures if name.endswith("png")}
    assert exact == exact_pictures()
    monkeypatch.setattr("tools.textures.__main__.PER_CLASS", {"val": 2, "test": 1})
    monkeypatch.setattr("tools.textures.CLASSES", ("banded", "knitted"))
    monkeypatch.setattr("sys.argv", ["tools.textures", "--out", str(tmp_path / "out")])
    main()
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert len(written & pictures) == len(written) == 6
    for path in (folder / name for folder in (STORED, tmp_path / "out") for name in written):
        assert difference(path) < (0.01 if path.suffix == ".png" else 12)
