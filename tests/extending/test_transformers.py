"""docs/extending.md, "A model of transformers", where that package is installed: with random weights, as there is no hub."""

import open_clip
import pytest
import torch

from rita_demo.vlm.prompts import encode_sentences
from tests.extending.page import code_blocks

transformers = pytest.importorskip("transformers")


def test_a_model_of_transformers_has_its_own_features_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RITA_DEVICE", "cpu")
    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = transformers.CLIPVisionConfig(**small, image_size=224, patch_size=32)
    config = transformers.CLIPConfig(text_config=small, vision_config=vision.to_dict(), projection_dim=32)
    torch.manual_seed(0)
    model = transformers.CLIPModel(config).eval()
    monkeypatch.setattr(transformers.CLIPModel, "from_pretrained", lambda *_: model)
    (code,) = code_blocks("A model of transformers")
    names: dict = {}
    exec(code, names)
    backbone = names["engine"]._backbone
    pixels, sentences = torch.rand(2, 3, 224, 224), ["a photo of a cat.", "a dog"]
    with torch.no_grad():
        output = model(pixel_values=(pixels - backbone._mean) / backbone._std, input_ids=open_clip.tokenize(sentences))
        torch.testing.assert_close(backbone.encode_pixels(pixels), output.image_embeds, atol=1e-5, rtol=0)
        torch.testing.assert_close(encode_sentences(backbone, sentences), output.text_embeds, atol=1e-5, rtol=0)
