"""The teacher's answers: computed once, cached, none for textures; and their loss."""

from pathlib import Path

import numpy as np
import pytest
import timm
import torch

from rita_demo.training import Recipe
from rita_demo.training.batches import Sampler
from rita_demo.training.corpus import load_corpus
from rita_demo.training.loss import teacher_loss
from rita_demo.training.model_config import ANCHORS, build_model
from rita_demo.training.teacher import SIDE, soft_labels
from tests.training.drawn_data import TINY, draw_data
from tests.training.test_trunk_weights import public_package


def test_teacher_answers_for_photographs_are_cached_and_textures_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public_package(tmp_path, monkeypatch, "test_efficientnet")
    corpus = load_corpus(draw_data(tmp_path / "data"), tmp_path, drawn=1)
    number, share = soft_labels(corpus, "test_efficientnet", "public_weights", tmp_path)
    texture = np.isin(np.arange(len(corpus.label)), [*corpus.groups["dtd"], *corpus.groups["textures"]])
    assert not share[texture].any()
    assert share[~texture].sum(1) == pytest.approx(1, abs=1e-3)
    weights = torch.load(tmp_path / "public_weights" / "models" / "weights.pth", weights_only=True)
    model = timm.create_model("test_efficientnet").eval()
    model.load_state_dict(
        dict(zip([n for n, tensor in model.state_dict().items() if tensor.ndim], weights.values(), strict=True)),
        strict=False,
    )
    row = int(np.flatnonzero(~texture)[0])
    picture = torch.from_numpy(np.array(corpus.picture(row))).permute(2, 0, 1)[None].float() / 255
    side = min(picture.shape[-2:])
    top, left = (picture.shape[-2] - side) // 2, (picture.shape[-1] - side) // 2
    square = picture[..., top : top + side, left : left + side]
    square = torch.nn.functional.interpolate(square, (SIDE, SIDE), mode="bilinear", antialias=True)
    with torch.no_grad():
        slow = model((square - 0.5) / 0.5).softmax(-1)[0].topk(5)
    assert set(number[row]) & set(slow.indices.tolist())  # bfloat16 against float32
    monkeypatch.setattr(timm, "create_model", lambda *_, **__: pytest.fail("computed again"))
    again = soft_labels(corpus, "test_efficientnet", "public_weights", tmp_path)
    assert np.array_equal(again[0], number)
    assert np.array_equal(again[1], share)
    batch = Sampler(corpus, Recipe(batch=16, texts=8), 0, (number, share)).draw(0, 0.0, 64)
    chosen = Sampler(corpus, Recipe(batch=16, texts=8), 0).pictures(0.0, np.random.default_rng([0, 0]))
    for drawn, taught in zip(chosen, batch.teacher_probabilities, strict=True):
        assert taught[number[drawn]].numpy() == pytest.approx(share[drawn])


def test_without_the_package_there_is_no_teacher(tmp_path: Path) -> None:
    corpus = load_corpus(draw_data(tmp_path / "data"), tmp_path)
    assert soft_labels(corpus, "test_efficientnet", "no_such_package", tmp_path) is None
    assert soft_labels(corpus, "test_efficientnet", "", tmp_path) is None


def test_the_loss_is_the_cross_entropy_over_imagenets_anchors() -> None:
    generator = torch.Generator().manual_seed(0)
    model = build_model(TINY, seed=1, classes=6)
    images = torch.nn.functional.normalize(torch.randn(3, 16, generator=generator), dim=-1)
    imagenet = torch.tensor([4, 1, 2])
    taught = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    anchors = torch.nn.functional.normalize(getattr(model, ANCHORS), dim=-1)
    total = 0.0
    for image, share in zip(images, taught, strict=True):
        logits = [float(model.logit_scale.exp() * image @ anchors[k]) for k in imagenet]
        norm = np.log(np.exp(logits).sum())
        total -= sum(float(s) * (value - norm) for s, value in zip(share, logits, strict=True))
    found = teacher_loss(images, taught, model, imagenet)
    assert float(found) == pytest.approx(total / 2, rel=1e-4)


def test_all_imagenet_pictures_are_needed_for_their_numbers(tmp_path: Path) -> None:
    corpus = load_corpus(draw_data(tmp_path / "data"), tmp_path)
    assert len(corpus.imagenet) == 0
