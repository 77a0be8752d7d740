"""Models are loaded by name; every failure gives an error message."""

import logging
from pathlib import Path

import open_clip
import pytest
import torch
from open_clip import pretrained
from safetensors.torch import load_file, save_file

from rita_demo.records.errors import BackboneError
from rita_demo.vlm import registry
from rita_demo.vlm.backbone import pick_device
from rita_demo.vlm.catalogue import BACKBONES, model_status
from rita_demo.vlm.checkpoint import load_weights
from rita_demo.vlm.registry import activation_name, load
from tests.conftest import TINY_CONFIG
from tests.vlm.hub import random_model, shrink


@pytest.fixture
def tiny_architecture(tmp_path: Path, monkeypatch) -> str:
    """An open_clip architecture called rita-tiny, with one pretrained tag "here"."""
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "rita-tiny", TINY_CONFIG)
    entry = {"url": "", "hf_hub": "someone/rita-tiny/", "mean": (0, 0, 0), "std": (1, 1, 1)}
    monkeypatch.setitem(pretrained._PRETRAINED, "rita-tiny", {"here": entry})
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return "rita-tiny"


HALF_PRECISION = ("EVA02-B-16:merged2b_s8b_b131k",)  # 299 MB on the hub
NO_KEYS = ("+except=proj", "+robust.pt+except=", "+robust.pt+except= , ")  # no vision tower, or no key of one


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("embeded", "Did you mean embedded"),
        ("", "There is no model called"),
        ("ViT-B-61:openai", "Did you mean ViT-B-16"),
        ("ViT-B-32", "names no weights.*laion2b_s34b_b79k"),
        ("ViT-B-32:openia", "no weights called openia.*laion2b_s34b_b79k"),
        ("ViT-B-32:somewhere/none.pt", r"There is no file none\.pt"),
        ("ViT-B-32-quickgelu:openai+tecoa.pt", r"There is no file tecoa\.pt"),
        *((f"ViT-B-32:openai{behind}", r"ARCHITECTURE:WEIGHTS\+VISION\.pt\+except=KEY,KEY") for behind in NO_KEYS),
        ("coca_ViT-B-32:laion2b_s13b_b90k", "captions"),
        ("ViT-B-16-SigLIP:webli", "splits words in its own way"),
        ("roberta-ViT-B-32:laion2b_s12b_b32k", "not one of open_clip's own"),
        ("local-dir:nowhere", "no readable open_clip_config.json"),
    ],
)
def test_an_unknown_name_gives_an_error_message(spec: str, said: str, monkeypatch) -> None:
    monkeypatch.setattr(registry, "_download", lambda *a: pytest.fail("tried to download"))
    with pytest.raises(BackboneError, match=said):
        load(spec, device="cpu")


def test_without_a_connection_the_message_says_what_to_do(tiny_architecture, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BackboneError, match="could not be downloaded: the hub cannot be reached"):
        load("rita-tiny:here", device="cpu")
    assert not logging.getLogger("huggingface_hub").isEnabledFor(logging.WARNING)  # it does not log its retries


def test_weights_that_stand_at_an_address_and_do_not_come_are_a_sentence(
    tiny_architecture, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setitem(pretrained._PRETRAINED, "rita-tiny", {"here": {"url": "http://127.0.0.1:9/weights.pt"}})
    with pytest.raises(
        BackboneError, match=r"The weights of rita-tiny:here could not be downloaded: its server .*URLError"
    ):
        load("rita-tiny:here", device="cpu")


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_a_local_checkpoint_gives_the_same_features(
    tiny_architecture, tiny_model_dir: Path, tmp_path: Path, suffix: str
) -> None:
    weights = load_file(tiny_model_dir / "open_clip_model.safetensors")
    file = tmp_path / f"mine.{suffix}"
    if suffix == "pt":
        torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in weights.items()}}, file)
    else:
        save_file(weights, file)
    ours = load(f"rita-tiny:{file}", "cpu", "float32")
    torch.manual_seed(0)
    pixels = torch.rand(1, 3, 64, 64)
    reference = load(f"local-dir:{tiny_model_dir}", "cpu", "float32")
    # The architecture's tag says that its pictures are not normalised; the folder's are as CLIP's.
    expected = reference.encode_pixels(pixels * reference._std + reference._mean)
    torch.testing.assert_close(ours.encode_pixels(pixels), expected, atol=1e-5, rtol=0)
    assert str(tmp_path) not in repr(ours.info)


def tiny_model() -> torch.nn.Module:
    return open_clip.CLIP(**TINY_CONFIG)


class HostilePickle:
    """The content of a hostile pickle."""

    def __reduce__(self) -> tuple:
        return (print, ("this must never be printed",))


def test_a_checkpoint_that_holds_code_is_not_loaded(tmp_path: Path, capsys) -> None:
    file = tmp_path / "evil.pt"
    torch.save({"state_dict": HostilePickle()}, file)
    with pytest.raises(BackboneError, match="holds a program"):
        load_weights(tiny_model(), file, "rita-tiny")
    assert "never" not in capsys.readouterr().out


def test_openai_weights_are_run_with_the_activation_they_were_trained_with(monkeypatch) -> None:
    built = []

    def stop(config: dict, name: str) -> None:
        built.append(config["quick_gelu"])
        raise BackboneError("enough")

    monkeypatch.setattr(registry, "_build", stop)
    for spec in ("ViT-B-32:openai", "ViT-B-32-quickgelu:openai", "ViT-B-32:laion2b_s34b_b79k"):
        with pytest.raises(BackboneError, match="enough"):
            load(spec, device="cpu")
    assert built == [True, True, False]


@pytest.mark.parametrize("name", [name for name, entry in BACKBONES.items() if entry.megabytes])
def test_every_listed_model_exists_in_open_clip_with_the_size_and_the_activation_it_states(name: str) -> None:
    assert name in open_clip.list_pretrained(as_str=True)
    architecture, _, tag = name.partition(":")
    quick = pretrained.get_pretrained_cfg(architecture, tag).get("quick_gelu", False)
    config = open_clip.get_model_config(architecture) | {"quick_gelu": quick}
    with torch.device("meta"):
        model = registry._build(config, name)
    entry, bytes_each = BACKBONES[name], 2 if name in HALF_PRECISION else 4
    assert sum(p.numel() for p in model.parameters()) == entry.parameters
    assert entry.megabytes == pytest.approx(1e-6 * bytes_each * entry.parameters, abs=1)
    assert f"; {activation_name(config)}; " in entry.note


def test_the_list_of_models_shows_available_and_missing_models(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    rows = {row.name: row for row in model_status()}
    assert list(rows) == list(BACKBONES)
    assert rows["ViT-B-16-quickgelu:openai"].state == "needs a download of 599 MB"
    assert not rows["ViT-B-16-quickgelu:openai"].ready


def test_an_unknown_precision_gives_an_error_message() -> None:
    with pytest.raises(BackboneError, match="precision is one of"):
        load("embedded", "cpu", "int4")


def test_the_requested_device_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RITA_DEVICE", "cpu")
    assert pick_device() == "cpu"
    monkeypatch.setenv("RITA_DEVICE", "toaster")
    with pytest.raises(BackboneError, match="RITA_DEVICE asks for 'toaster'"):
        pick_device()


@pytest.mark.parametrize(
    ("architecture", "taken", "other"),
    [
        ("ViT-B-32", "plain GELU", "ViT-B-32-quickgelu:mine.pt"),
        ("ViT-B-32-quickgelu", "quick-GELU", "ViT-B-32:mine.pt"),
        ("ViT-B-16-plus", "plain GELU", None),
    ],
)
def test_a_local_file_reports_its_activation_and_how_to_change_it(
    architecture: str, taken: str, other: str | None, tmp_path: Path, monkeypatch
) -> None:
    config = shrink(monkeypatch, architecture)
    model = random_model(config, seed=0)
    torch.save(model.state_dict(), tmp_path / "mine.pt")
    ours = load(f"{architecture}:{tmp_path / 'mine.pt'}", "cpu", "float32")
    assert taken in ours.info.title
    assert f"Runs with {taken}" in ours.info.note
    assert (f"want {other} instead" if other else "no variant") in ours.info.note
    pixels = torch.rand(2, 3, 64, 64)
    features = {}
    for quick in (True, False):
        with torch.no_grad():
            twin = random_model(config, seed=0, quick_gelu=quick)
            seen = twin.encode_image((pixels - ours._mean) / ours._std, normalize=True)
            features[quick] = seen
    quick = taken == "quick-GELU"
    torch.testing.assert_close(ours.encode_pixels(pixels), features[quick], atol=1e-5, rtol=0)
    assert not torch.allclose(features[True], features[False], atol=1e-4)


def test_the_embedded_models_have_the_stated_number_of_parameters_and_the_same_text_tower() -> None:
    plain, robust = (load(name, "cpu") for name in ("embedded", "embedded-robust"))
    for model in (plain, robust):
        assert model.info.parameters == BACKBONES[model.info.name].parameters
    same = [torch.equal(a, b) for a, b in zip(plain.tower.weights().values(), robust.tower.weights().values())]
    assert same
    assert all(same)
    pixels = torch.rand(2, 3, 128, 128, generator=torch.manual_seed(0))
    assert not torch.allclose(plain.encode_pixels(pixels), robust.encode_pixels(pixels), atol=0.1)
