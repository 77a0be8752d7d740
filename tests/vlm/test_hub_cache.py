"""Weights that the hub's client has downloaded are found without a network."""

import io
from pathlib import Path

import open_clip
import pytest
import torch
from safetensors.torch import save

from rita_demo.vlm import registry
from rita_demo.vlm.catalogue import model_status
from rita_demo.vlm.prompts import encode_sentences
from rita_demo.vlm.registry import load
from tests.vlm.hub import put_in_cache, random_model, shrink

NAMES = ["ViT-B-32-quickgelu:openai", "ViT-B-16-quickgelu:openai", "ViT-B-32:laion2b_s34b_b79k"]
SENTENCES = ["a photo of a cat.", "a photo of a soy milk carton."]


@pytest.mark.parametrize("file", ["open_clip_model.safetensors", "open_clip_pytorch_model.bin"])
@pytest.mark.parametrize("name", NAMES)
def test_a_pretrained_model_is_loaded_from_a_hub_cache(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    architecture, _, tag = name.partition(":")
    model = random_model(shrink(monkeypatch, architecture), seed=0)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    content = save(model.state_dict()) if file.endswith("safetensors") else buffer.getvalue()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not {row.name: row for row in model_status()}[name].ready
    link = put_in_cache(tmp_path, architecture, tag, file, content)
    assert link.is_symlink()
    assert {row.name: row for row in model_status()}[name].ready
    known = open_clip.pretrained.get_pretrained_cfg(architecture, tag)
    theirs = open_clip.pretrained.download_pretrained(known, cache_dir=str(tmp_path))
    assert link.resolve() == Path(theirs).resolve(), "open_clip's downloader would use the same file"
    monkeypatch.setattr(registry, "fetch", lambda *a: pytest.fail("used the network"))

    ours = load(name, "cpu", "float32")
    with torch.no_grad():
        pixels = torch.rand(2, 3, 64, 64)
        images = model.encode_image((pixels - ours._mean) / ours._std, normalize=True)
        texts = model.encode_text(open_clip.tokenize(SENTENCES), normalize=True)
    torch.testing.assert_close(ours.encode_pixels(pixels), images, atol=1e-5, rtol=0)
    torch.testing.assert_close(encode_sentences(ours, SENTENCES), texts, atol=1e-5, rtol=0)
