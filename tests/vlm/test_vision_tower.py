"""A robust vision tower (TeCoA, PMG-AFT, FARE) replaces that of a model."""

import io
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
from safetensors.torch import save_file

from rita_demo.records.errors import BackboneError
from rita_demo.vlm import registry
from rita_demo.vlm.catalogue import model_status
from rita_demo.vlm.prompts import encode_sentences
from rita_demo.vlm.registry import load, split_source
from tests.vlm.hub import put_in_cache, random_model, shrink

ARCHITECTURE = "ViT-B-32-quickgelu"
BASE = f"{ARCHITECTURE}:openai"
SENTENCES = ["a photo of a cat.", "a photo of a soy milk carton."]
SAVED = {
    # the prompter's weights beside them are another network's, and come first in TeCoA's files
    "TeCoA": lambda w: {
        "epoch": 9,
        "state_dict": {"pad": torch.ones(3)},
        "vision_encoder_state_dict": w,
        "optimizer": {"state": {}, "param_groups": [{"lr": 0.1}]},
    },
    "in half precision": lambda w: {k: v.half() for k, v in w.items()},
}


def starts_with(weights: dict[str, torch.Tensor], start: str) -> dict[str, torch.Tensor]:
    return {start + key: value for key, value in weights.items()}


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """OpenAI's ViT-B/32, very small and with random weights, in the hub's cache."""
    model = random_model(shrink(monkeypatch, ARCHITECTURE), seed=0)
    cache, buffer = tmp_path / "hub", io.BytesIO()
    torch.save(model.state_dict(), buffer)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(registry, "fetch", lambda *_: pytest.fail("used the network"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not {row.name: row for row in model_status()}[BASE].ready
    link = put_in_cache(cache, ARCHITECTURE, "openai", "open_clip_pytorch_model.bin", buffer.getvalue())
    assert {row.name: row for row in model_status()}[BASE].ready
    known = open_clip.pretrained.get_pretrained_cfg(ARCHITECTURE, "openai")
    theirs = open_clip.pretrained.download_pretrained(known, cache_dir=str(cache))
    assert link.resolve() == Path(theirs).resolve(), "open_clip's downloader would use the same file"
    return model


def robust_tower() -> dict[str, torch.Tensor]:
    """Another vision tower of the same shape."""
    config = open_clip.get_model_config(ARCHITECTURE)
    return random_model(config, seed=1).visual.state_dict()


def save_checkpoint(folder: Path, content: Any, name: str = "robust.pt") -> Path:
    torch.save(content, folder / name)
    return folder / name


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_pictures_use_the_new_tower_and_text_the_old_one(saved: Any, base: Any, tmp_path: Path) -> None:
    weights = robust_tower()
    file = save_checkpoint(tmp_path, saved(weights))
    plain, ours = load(BASE, "cpu", "float32"), load(f"{BASE}+{file}", "cpu", "float32")

    by_hand = random_model(open_clip.get_model_config(ARCHITECTURE), seed=2)
    by_hand.load_state_dict(base.state_dict() | starts_with(weights, "visual."))
    pixels = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        images = by_hand.encode_image((pixels - ours._mean) / ours._std, normalize=True)
        texts = base.encode_text(open_clip.tokenize(SENTENCES), normalize=True)
    rough = 2e-3 if saved is SAVED["in half precision"] else 1e-5
    torch.testing.assert_close(ours.encode_pixels(pixels), images, atol=rough, rtol=0)
    torch.testing.assert_close(encode_sentences(ours, SENTENCES), texts, atol=1e-5, rtol=0)
    assert ours.temperature == plain.temperature
    assert not torch.allclose(ours.encode_pixels(pixels), plain.encode_pixels(pixels), atol=1e-2)

    assert ours.info.name == f"{BASE}+robust.pt"
    assert "vision tower of robust.pt" in ours.info.title
    assert f"everything else from {BASE}" in ours.info.note
    assert "quick-GELU" in ours.info.note
    assert str(tmp_path) not in repr(ours.info)


def test_the_text_tower_may_come_from_a_second_local_file(base: Any, tmp_path: Path) -> None:
    weights = robust_tower()
    save_file(base.state_dict(), tmp_path / "open+ai.safetensors")
    save_file(weights, tmp_path / "robust.safetensors")
    spec = f"{ARCHITECTURE}:{tmp_path}/open+ai.safetensors+{tmp_path}/robust.safetensors"
    ours, same = load(spec, "cpu"), load(f"{BASE}+{save_checkpoint(tmp_path, weights)}", "cpu")
    assert ours.info.name == f"{ARCHITECTURE}:open+ai.safetensors+robust.safetensors"
    assert ours.weights_key() == same.weights_key()


@pytest.mark.parametrize(
    "name", ["logit_scale", "positional_embedding", "text_projection", "ln_final.weight", "visual.proj"]
)
def test_a_single_changed_weight_changes_the_key(name: str, base: Any, tmp_path: Path) -> None:
    weights = {key: value.clone() for key, value in base.state_dict().items()}
    same = save_checkpoint(tmp_path, weights, "same.pt")
    weights[name].view(-1)[0] += 0.25
    other = save_checkpoint(tmp_path, weights, "other.pt")
    ours, same_again, others = (load(f"{ARCHITECTURE}:{file}", "cpu").weights_key() for file in (same, same, other))
    assert ours == same_again != others


def test_missing_and_left_over_keys_are_an_error_unless_they_are_named(base: Any, tmp_path: Path) -> None:
    weights = robust_tower()
    own = base.visual.state_dict()["ln_post.bias"].clone()
    del weights["ln_post.bias"]
    missing = save_checkpoint(tmp_path, {"vision_encoder_state_dict": weights}, "missing.pt")
    over = {**weights, "ln_post.bias": own, "normalize.mean": torch.ones(3)}
    over = save_checkpoint(tmp_path, {"vision_encoder_state_dict": over}, "over.pt")
    with pytest.raises(BackboneError, match=r"missing\.pt does not.*missing: ln_post\.bias.*\+except="):
        load(f"{BASE}+{missing}", "cpu")
    with pytest.raises(BackboneError, match=r"over\.pt does not.*unexpected: normalize\.mean"):
        load(f"{BASE}+{over}", "cpu")
    ours = load(f"{BASE}+{missing}+except=ln_post.bias", "cpu")
    assert torch.equal(ours._visual.state_dict()["ln_post.bias"], own)
    assert ours.info.name == f"{BASE}+missing.pt+except=ln_post.bias"
    same = load(f"{BASE}+{over}+except=normalize.mean", "cpu")
    assert same.weights_key() == ours.weights_key()
    for file, keys in ((over, "normalize.mean,conv1.weight"), (missing, "ln_post.bias,ln_pots.bias")):
        with pytest.raises(BackboneError, match="neither missing nor left over"):
            load(f"{BASE}+{file}+except={keys}", "cpu")


def test_a_tower_of_another_shape_gives_an_error_with_its_keys(base: Any, tmp_path: Path) -> None:
    config = open_clip.get_model_config(ARCHITECTURE)
    config["vision_cfg"]["patch_size"] = 16
    file = save_checkpoint(tmp_path, random_model(config, seed=1).visual.state_dict())
    with pytest.raises(BackboneError, match=r"other size: positional_embedding, conv1\.weight"):
        load(f"{BASE}+{file}", "cpu")


@pytest.mark.parametrize(
    ("source", "weights", "vision"),
    [
        ("openai", "openai", ""),
        ("OpenAI+x.pt", "OpenAI", "x.pt"),
        ("/a+b/c.pt", "/a+b/c.pt", ""),
        ("/a+b/c.pt+/d+e/f.PT", "/a+b/c.pt", "/d+e/f.PT"),
        ("a+b.safetensors", "a+b.safetensors", ""),
        ("/a+b/base.pth.tar+/c/best.pth.tar", "/a+b/base.pth.tar", "/c/best.pth.tar"),
    ],
)
def test_a_plus_sign_separates_behind_a_tag_or_a_suffix_only(source: str, weights: str, vision: str) -> None:
    assert split_source(source, ["openai"])[:2] == (weights, vision)
