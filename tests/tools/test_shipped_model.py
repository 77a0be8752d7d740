"""The weights in assets/model load with open_clip alone."""

import json
import math
from pathlib import Path

import open_clip
import torch
from PIL import Image

from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.vlm.words import word_list

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
