"""docs/extending.md, "A model of transformers", where that package is installed: with random weights, as there is no hub."""

from math import log
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch

from rita_demo import Engine, run
from rita_demo.vlm.prompts import encode_sentences
from tests.extending.page import code_blocks
from tests.textures import texture
from tools.convert_clip import convert

transformers = pytest.importorskip("transformers")


@pytest.fixture
def model() -> Any:
    """A small CLIPModel with random weights and CLIP's temperature, 0.01."""
    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = transformers.CLIPVisionConfig(**small, image_size=224, patch_size=32)
    config = transformers.CLIPConfig(text_config=small, vision_config=vision.to_dict(), projection_dim=32)
    torch.manual_seed(0)
    made = transformers.CLIPModel(config).eval()
    made.logit_scale.data.fill_(log(100))
    return made


@pytest.fixture
def engine(model: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the five lines of the page make of it."""
    monkeypatch.setenv("RITA_DEVICE", "cpu")
    monkeypatch.setattr(transformers.CLIPModel, "from_pretrained", lambda *_: model)
    (code,) = code_blocks("A model of transformers")
    names: dict = {}
    exec(code, names)
    return names["engine"]


def test_a_model_of_transformers_has_its_own_features_here(engine: Any, model: Any) -> None:
    backbone = engine._backbone
    pixels, sentences = torch.rand(2, 3, 224, 224), ["a photo of a cat.", "a dog"]
    with torch.no_grad():
        output = model(pixel_values=(pixels - backbone._mean) / backbone._std, input_ids=open_clip.tokenize(sentences))
        torch.testing.assert_close(backbone.encode_pixels(pixels), output.image_embeds, atol=1e-5, rtol=0)
        torch.testing.assert_close(encode_sentences(backbone, sentences), output.text_embeds, atol=1e-5, rtol=0)


def test_its_attack_and_its_learned_prompts_are_those_of_its_weights_in_open_clip(
    engine: Any, model: Any, tmp_path: Path
) -> None:
    model.save_pretrained(tmp_path / "downloaded")
    convert(tmp_path / "downloaded", tmp_path / "folder")
    asked: dict[str, Any] = {"label": "woven", "methods": ["tpt"], "settings": {"views": 8, "steps": 3}}
    runs = [
        run(texture("woven", 3), ["banded", "dotted", "woven"], engine=one, **asked).run
        for one in (engine, Engine(f"local-dir:{tmp_path / 'folder'}"))
    ]
    for side, tolerance in (("clean", 2e-5), ("attacked", 1e-3)):  # PGD takes signs of gradients near zero
        mine, theirs = (getattr(one, side) for one in runs)
        np.testing.assert_allclose(mine.trace.total, theirs.trace.total, atol=tolerance)
        for method in ("clip", "tpt", "rita"):
            probabilities = [one.verdicts[method].probability for one in (mine, theirs)]
            np.testing.assert_allclose(*probabilities, atol=5 * tolerance)
