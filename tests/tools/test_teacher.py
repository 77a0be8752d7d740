"""Public weights under other names: the trunk's start, and the teacher's answers, computed once and cached."""

from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from torch.nn import functional as F

from rita_demo.records.errors import DemoError
from tests.tools.drawn_data import TINY, draw_data
from tools.train import Recipe
from tools.train.batches import Sampler
from tools.train.corpus import load_corpus
from tools.train.loss import teacher_loss
from tools.train.model_config import ANCHORS, build_model
from tools.train.teacher import SIDE, load_pretrained, soft_labels


def public_package(folder: Path, monkeypatch: pytest.MonkeyPatch, architecture: str) -> dict[str, torch.Tensor]:
    """The weights of a package `public_weights` on the path: with other names, and a classifier."""
    (folder / "public_weights" / "models").mkdir(parents=True)
    (folder / "public_weights" / "__init__.py").write_text("raise RuntimeError('never imported')")
    torch.manual_seed(1)  # other weights than those of build_model(seed=0)
    there = timm.create_model(architecture).state_dict()
    renamed = {f"other.{n}": tensor for n, tensor in enumerate(there.values()) if tensor.ndim}
    torch.save(renamed, folder / "public_weights" / "models" / "weights.pth")
    monkeypatch.syspath_prepend(str(folder))
    return renamed


def test_pretrained_weights_are_loaded_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = public_package(tmp_path, monkeypatch, "test_efficientnet")
    visual = build_model(TINY, seed=0).visual.eval()
    assert not torch.equal(visual.trunk.conv_stem.weight, weights["other.0"])
    assert "starts from the ImageNet weights" in load_pretrained(visual, "public_weights")
    own = [tensor for tensor in visual.trunk.state_dict().values() if tensor.ndim]
    assert all(torch.equal(a, b) for a, b in zip(own, weights.values(), strict=False))


def test_weights_of_another_architecture_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public_package(tmp_path, monkeypatch, "test_resnet")
    with pytest.raises(DemoError, match="belong to another architecture"):
        load_pretrained(build_model(TINY, seed=0).visual, "public_weights")


def test_without_the_package_there_is_no_teacher_and_the_trunk_starts_from_random_weights(tmp_path: Path) -> None:
    visual = build_model(TINY, seed=0).visual
    before = visual.trunk.conv_stem.weight.clone()
    assert "not installed" in load_pretrained(visual, "no_such_package")
    assert "random weights" in load_pretrained(visual, "")
    assert torch.equal(visual.trunk.conv_stem.weight, before)
    corpus = load_corpus(draw_data(tmp_path / "data"), tmp_path)
    assert soft_labels(corpus, "test_efficientnet", "no_such_package", tmp_path) is None
    assert soft_labels(corpus, "test_efficientnet", "", tmp_path) is None
    assert len(corpus.imagenet) == 0, "all of ImageNet's pictures are needed for their numbers"


def test_teacher_answers_for_photographs_are_cached_and_textures_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = public_package(tmp_path, monkeypatch, "test_efficientnet")
    corpus = load_corpus(draw_data(tmp_path / "data"), tmp_path, drawn=1)
    number, share = soft_labels(corpus, "test_efficientnet", "public_weights", tmp_path)
    texture = np.isin(np.arange(len(corpus.label)), [*corpus.groups["dtd"], *corpus.groups["textures"]])
    assert not share[texture].any()
    assert share[~texture].sum(1) == pytest.approx(1, abs=1e-3)
    model = timm.create_model("test_efficientnet").eval()
    names = [name for name, tensor in model.state_dict().items() if tensor.ndim]
    model.load_state_dict(dict(zip(names, weights.values(), strict=True)), strict=False)
    row = int(np.flatnonzero(~texture)[0])
    picture = torch.from_numpy(np.array(corpus.picture(row))).permute(2, 0, 1)[None].float() / 255
    side = min(picture.shape[-2:])
    top, left = (picture.shape[-2] - side) // 2, (picture.shape[-1] - side) // 2
    square = picture[..., top : top + side, left : left + side]
    square = F.interpolate(square, (SIDE, SIDE), mode="bilinear", antialias=True)
    with torch.no_grad():
        slow = model((square - 0.5) / 0.5).softmax(-1)[0].topk(5)
    assert set(number[row]) & set(slow.indices.tolist())  # bfloat16 against float32
    monkeypatch.setattr(timm, "create_model", lambda *_, **__: pytest.fail("computed again"))
    again = soft_labels(corpus, "test_efficientnet", "public_weights", tmp_path)
    assert all(np.array_equal(one, other) for one, other in zip(again, (number, share), strict=True))
    sampler = Sampler(corpus, Recipe(batch=16, texts=8), 0, (number, share))
    chosen = sampler.pictures(0.0, np.random.default_rng([0, 0]))
    for drawn, taught in zip(chosen, sampler.draw(0, 0.0).teacher_probabilities, strict=True):
        assert taught[number[drawn]].numpy() == pytest.approx(share[drawn])


def test_the_loss_is_the_cross_entropy_over_imagenets_anchors() -> None:
    model = build_model(TINY, seed=1, classes=6)
    images = F.normalize(torch.randn(3, 16, generator=torch.Generator().manual_seed(0)), dim=-1)
    imagenet = torch.tensor([4, 1, 2])
    taught = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    anchors = F.normalize(getattr(model, ANCHORS), dim=-1)
    total = 0.0
    for image, share in zip(images, taught, strict=True):
        logits = [float(model.logit_scale.exp() * image @ anchors[k]) for k in imagenet]
        norm = np.log(np.exp(logits).sum())
        total -= sum(float(s) * (value - norm) for s, value in zip(share, logits, strict=True))
    assert float(teacher_loss(images, taught, model, imagenet)) == pytest.approx(total / 2, rel=1e-4)
