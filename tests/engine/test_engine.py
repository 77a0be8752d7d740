"""The engine beside the method: what is known before loading, pixels of views, weights by boxes, what attackers differentiate, and
the attacker who knows a defence."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor

from rita_demo import Engine, vlm
from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.contract import DefenceInput
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine import loading
from rita_demo.engine.attack_models import defence_logits, random_crop_logits
from rita_demo.method import decide, empty
from rita_demo.pipeline.run import run_picture
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.vlm.views.boxes import area_fractions, draw_boxes
from rita_demo.vlm.views.crops import crop
from tests.data.hostile import photo
from tests.oracles.defences import ensemble
from tests.oracles.toy_model import make_toy_model
from tests.toy_model import TEMPERATURE, ToyEngine


def test_the_embedded_model_is_as_its_files_say() -> None:
    known, found = loading.embedded_info(), Engine("embedded").info
    assert known is not None
    assert known == replace(found, device="", precision="", logit_scale=known.logit_scale)


PICTURE = picture_of(photo(64, 64))


def test_kept_pixels_equal_those_drawn_again(tiny_model_dir, monkeypatch) -> None:
    backbone = vlm.registry.load(f"local-dir:{tiny_model_dir}", "cpu", "float32")
    settings = RECOMMENDED.replace(views=8)
    drawn = Engine(backbone).view_pixels(PICTURE, settings)
    keeping = Engine(backbone, view_pixel_bytes=drawn.nbytes + 1)
    keeping.encode_views(PICTURE, settings)
    monkeypatch.setattr("rita_demo.engine.encoding.make_views", None)  # the views are there by now
    assert np.array_equal(keeping.view_pixels(PICTURE, settings), drawn)
    monkeypatch.undo()
    keeping.encode_views(PICTURE, settings.replace(view_seed=1))  # there is room for one
    assert len(keeping._view_pixels._items) == 1


def test_decision_and_ensemble_weigh_views_by_their_boxes() -> None:
    picture, settings = SAMPLES["motorcycle"].load(), RECOMMENDED.replace(views=8, steps=3)
    assert settings.view_weight == "area"
    run = run_picture(ToyEngine(), picture, ("motorbike", "crab"), settings, label=0, methods=("ensemble_area",))
    side = run.attacked  # the whole picture and its crops differ there
    left, top, right, bottom = side.encoded_views.views.boxes.astype(float).T
    hidden = np.maximum(1 - (right - left) * (bottom - top), 0.001)
    assert side.trace.view_weight == pytest.approx(hidden / hidden.sum(), rel=1e-5)
    seen = side.encoded_views.features, run.class_prompts.template_features, TEMPERATURE, "probability"
    by_hand = {"ensemble": ensemble(*seen), "ensemble_area": ensemble(*seen, hidden)}
    for name, expected in by_hand.items():
        assert side.verdicts[name].probability == pytest.approx(expected, abs=1e-5)
    assert np.abs(by_hand["ensemble"] - by_hand["ensemble_area"]).max() > 0.01


SIDE, D = 8, 16


def encode(pixels: Tensor) -> Tensor:
    """A fixed smooth map to unit features (B, 16)."""
    table = torch.randn(3 * SIDE * SIDE, D, generator=torch.Generator().manual_seed(0))
    return torch.nn.functional.normalize((pixels.flatten(1) - 0.5) @ table, dim=-1)


MODEL = SimpleNamespace(encode_pixels=encode, temperature=0.5, side=SIDE)


def squares() -> Tensor:
    return torch.rand(2, 3, 20, 20, generator=torch.Generator().manual_seed(1))


def test_random_crops_match_the_defence_differ_per_seed_and_are_differentiable() -> None:
    hand = torch.nn.functional.normalize(torch.randn(5, D), dim=-1)
    settings = Settings(attack_views=3, view_scale=0.3)
    sampled = random_crop_logits(MODEL, hand, settings)
    pixels = squares().requires_grad_()
    answer = sampled(pixels, [4, 9])
    assert answer.shape == (2, 3, 5)
    boxes, flipped = draw_boxes(4, 9, 0.3)
    expected = encode(crop(pixels[1], boxes[1:], flipped[1:], SIDE)) @ hand.T / 0.5
    assert torch.allclose(answer[1], expected, atol=1e-5)
    assert not torch.allclose(answer, sampled(pixels, [5, 10]))
    (slope,) = torch.autograd.grad(answer[0].sum(), pixels)
    assert slope[0].abs().sum() > 0
    assert slope[1].abs().sum() == 0  # one picture's samples are its own


def test_defence_logits_equal_the_decision_on_the_same_views() -> None:
    world = make_toy_model()
    prompts = world.prompts(torch.float32)
    settings = RECOMMENDED.replace(attack_views=6)
    cache, nothing = empty(5, settings.slots, D), torch.empty(0)
    inputs = DefenceInput(
        *(nothing, nothing, nothing, None, nothing, prompts.encode, prompts.temperature, settings),
        prompts=prompts,
        cache=cache,
    )
    sampled = defence_logits(MODEL, DEFENCES["rita"].attacked_logits, inputs)
    pixels = squares().requires_grad_()
    answer = sampled(pixels, [4, 9])
    assert answer.shape == (2, 1, 5)
    for row, seed in enumerate((4, 9)):
        boxes, flipped = draw_boxes(6, seed, 0.08)
        views = crop(pixels[row].detach(), boxes, flipped, SIDE)
        shown = torch.from_numpy(area_fractions(boxes))
        trace, _ = decide(encode(views), prompts, cache, settings, area_fraction=shown)
        assert torch.allclose(answer[row, 0].softmax(0), trace.verdict.probability, atol=1e-5)
    (slope,) = torch.autograd.grad(answer[0, 0, 0], pixels)
    assert slope[0].abs().sum() > 0
    assert slope[1].abs().sum() == 0


QUICK = RECOMMENDED.replace(square="model", views=16, attack_views=8, protocol="off", attack="adaptive")
LESS = {"adaptive.steps": 10, "adaptive.restarts": 1}


@pytest.mark.slow
@pytest.mark.parametrize("against", ["ensemble", pytest.param("rita", marks=pytest.mark.nightly)])
def test_every_defence_falls_to_the_attacker_who_knows_it(against: str) -> None:
    one = SAMPLES["motorcycle"]
    less = LESS if against == "ensemble" else {"adaptive.steps": 30, "attack_views": 16}
    settings = QUICK.replace(**{"adaptive.against": against} | less)
    label = one.names.index(one.label)
    run = run_picture(Engine(), one.load(), one.names, settings, label=label, methods=(against,))
    assert run.attack is not None
    assert run.clean.verdicts[against].label == label
    assert run.attacked.verdicts[against].label != label, "views that the attack has not seen"
    assert run.attack.linf <= 4
    assert run.attack.gradient is not None
    assert run.attack.gradient > 0
    assert any(
        f"The attacker knows {DEFENCES[against].title}. Its gradient is exact." in s for s in run.threat_model.sentences
    )
