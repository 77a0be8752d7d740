"""Models are loaded by name, a robust vision tower (TeCoA, PMG-AFT, FARE) replaces that of a model, and what fails is a
sentence."""

import io
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch
from open_clip import pretrained
from safetensors.torch import load_file

from rita_demo.records.errors import BackboneError
from rita_demo.settings.models import BACKBONES
from rita_demo.vlm import registry
from rita_demo.vlm.backbone import pick_device
from rita_demo.vlm.catalogue import model_status
from rita_demo.vlm.prompts import encode_sentences
from rita_demo.vlm.registry import load, split_source
from tests.conftest import TINY_CONFIG
from tests.vlm.hub import put_in_cache, random_model, shrink

ARCHITECTURE = "ViT-B-32-quickgelu"
BASE = f"{ARCHITECTURE}:openai"
SENTENCES = ["a photo of a cat.", "a photo of a soy milk carton."]
NO_KEYS = ("+except=proj", "+robust.pt+except=", "+robust.pt+except= , ")  # no vision tower, or no key of one


@pytest.fixture
def tiny_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An open_clip architecture called rita-tiny, with one pretrained tag "here"."""
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "rita-tiny", TINY_CONFIG)
    entry = {"url": "", "hf_hub": "someone/rita-tiny/", "mean": (0, 0, 0), "std": (1, 1, 1)}
    monkeypatch.setitem(pretrained._PRETRAINED, "rita-tiny", {"here": entry})
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return "rita-tiny"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("embeded", "Did you mean embedded"),
        ("ViT-B-32", "names no weights.*laion2b_s34b_b79k"),
        ("ViT-B-32:openia", "no weights called openia.*laion2b_s34b_b79k"),
        ("ViT-B-32:somewhere/none.pt", r"There is no file none\.pt"),
        ("ViT-B-32-quickgelu:openai+tecoa.pt", r"There is no file tecoa\.pt"),
        *((f"ViT-B-32:openai{behind}", r"ARCHITECTURE:WEIGHTS\+VISION\.pt\+except=KEY,KEY") for behind in NO_KEYS),
        ("coca_ViT-B-32:laion2b_s13b_b90k", "captions"),
        ("ViT-B-16-SigLIP:webli", "splits words in its own way"),
        ("local-dir:nowhere", "no readable open_clip_config.json"),
    ],
)
def test_an_unknown_name_gives_an_error_message(spec: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_download", lambda *a: pytest.fail("tried to download"))
    with pytest.raises(BackboneError, match=said):
        load(spec, device="cpu")
    with pytest.raises(BackboneError, match="precision is one of"):
        load(spec, "cpu", "int4")


def test_a_local_checkpoint_gets_the_preprocessing_of_the_architecture_s_tag(
    tiny_architecture: str, tiny_model_dir: Path, tmp_path: Path
) -> None:
    torch.save(load_file(tiny_model_dir / "open_clip_model.safetensors"), tmp_path / "mine.pt")
    ours = load(f"rita-tiny:{tmp_path / 'mine.pt'}", "cpu", "float32")
    pixels = torch.rand(1, 3, 64, 64)
    reference = load(f"local-dir:{tiny_model_dir}", "cpu", "float32")
    # The architecture's tag says that its pictures are not normalised; the folder's are as CLIP's.
    expected = reference.encode_pixels(pixels * reference._std + reference._mean)
    torch.testing.assert_close(ours.encode_pixels(pixels), expected, atol=1e-5, rtol=0)
    assert str(tmp_path) not in repr(ours.info)


def test_openai_weights_are_run_with_the_activation_they_were_trained_with(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def stop(config: dict, name: str) -> None:
        built.append(config["quick_gelu"])
        raise BackboneError("enough")

    monkeypatch.setattr(registry, "_build", stop)
    for spec in ("ViT-B-32:openai", "ViT-B-32-quickgelu:openai", "ViT-B-32:laion2b_s34b_b79k"):
        with pytest.raises(BackboneError, match="enough"):
            load(spec, device="cpu")
    assert built == [True, True, False]


def test_the_requested_device_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RITA_DEVICE", "cpu")
    assert pick_device() == "cpu"
    monkeypatch.setenv("RITA_DEVICE", "toaster")
    with pytest.raises(BackboneError, match="RITA_DEVICE asks for 'toaster'"):
        pick_device()


def test_the_embedded_models_have_the_stated_number_of_parameters_and_the_same_text_tower() -> None:
    plain, robust = (load(name, "cpu") for name in ("embedded", "embedded-robust"))
    for model in (plain, robust):
        assert model.info.parameters == BACKBONES[model.info.name].parameters
    same = [torch.equal(a, b) for a, b in zip(plain.tower.weights().values(), robust.tower.weights().values())]
    assert same
    assert all(same)
    pixels = torch.rand(2, 3, 128, 128, generator=torch.manual_seed(0))
    assert not torch.allclose(plain.encode_pixels(pixels), robust.encode_pixels(pixels), atol=0.1)


# --- another vision tower


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
    row = {row.name: row for row in model_status()}[BASE]
    assert (row.state, row.ready) == (f"needs a download of {BACKBONES[BASE].megabytes} MB", False)
    link = put_in_cache(cache, ARCHITECTURE, "openai", "open_clip_pytorch_model.bin", buffer.getvalue())
    assert {row.name: row for row in model_status()}[BASE].ready
    known = pretrained.get_pretrained_cfg(ARCHITECTURE, "openai")
    theirs = pretrained.download_pretrained(known, cache_dir=str(cache))
    assert link.resolve() == Path(theirs).resolve(), "open_clip's downloader would use the same file"
    return model


def robust_tower() -> dict[str, torch.Tensor]:
    """Another vision tower of the same shape."""
    return random_model(open_clip.get_model_config(ARCHITECTURE), seed=1).visual.state_dict()


def save_checkpoint(folder: Path, content: Any, name: str = "robust.pt") -> Path:
    torch.save(content, folder / name)
    return folder / name


@pytest.mark.parametrize("half", [False, True])
def test_pictures_use_the_new_tower_and_text_the_old_one(half: bool, base: Any, tmp_path: Path) -> None:
    weights = robust_tower()
    file = save_checkpoint(tmp_path, {k: v.half() for k, v in weights.items()} if half else weights)
    plain, ours = load(BASE, "cpu", "float32"), load(f"{BASE}+{file}", "cpu", "float32")

    by_hand = random_model(open_clip.get_model_config(ARCHITECTURE), seed=2)
    by_hand.load_state_dict(base.state_dict() | {f"visual.{key}": value for key, value in weights.items()})
    pixels = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        images = by_hand.encode_image((pixels - ours._mean) / ours._std, normalize=True)
        texts = base.encode_text(open_clip.tokenize(SENTENCES), normalize=True)
    torch.testing.assert_close(ours.encode_pixels(pixels), images, atol=2e-3 if half else 1e-5, rtol=0)
    torch.testing.assert_close(encode_sentences(ours, SENTENCES), texts, atol=1e-5, rtol=0)
    assert ours.temperature == plain.temperature
    assert not torch.allclose(ours.encode_pixels(pixels), plain.encode_pixels(pixels), atol=1e-2)

    assert ours.info.name == f"{BASE}+robust.pt"
    assert "vision tower of robust.pt" in ours.info.title
    assert f"everything else from {BASE}" in ours.info.note
    assert "quick-GELU" in ours.info.note
    assert str(tmp_path) not in repr(ours.info)


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
    over = save_checkpoint(tmp_path, weights | {"ln_post.bias": own, "normalize.mean": torch.ones(3)}, "over.pt")
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


@pytest.mark.parametrize(
    ("source", "weights", "vision"),
    [
        ("OpenAI+x.pt", "OpenAI", "x.pt"),
        ("/a+b/c.pt+/d+e/f.PT", "/a+b/c.pt", "/d+e/f.PT"),
        ("a+b.safetensors", "a+b.safetensors", ""),
        ("/a+b/base.pth.tar+/c/best.pth.tar", "/a+b/base.pth.tar", "/c/best.pth.tar"),
    ],
)
def test_a_plus_sign_separates_behind_a_tag_or_a_suffix_only(source: str, weights: str, vision: str) -> None:
    assert split_source(source, ["openai"])[:2] == (weights, vision)
