"""COLA, AGC and TDA equal slow second implementations; TDA's memory travels as a value."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo import method
from rita_demo.defences import agc, cola
from rita_demo.defences.registry import DEFENCES, run_defence
from rita_demo.records import CacheState
from rita_demo.settings import RECOMMENDED
from tests.defences import test_defences as toy
from tests.defences import test_pixel_defences as pixels
from tests.oracles import later_rows as slow
from tests.oracles.toy_model import TAU, D, K
from tests.oracles.transport import softmax, unit

CLOSE = {"atol": 1e-8, "rtol": 0}  # both in float64
RNG = np.random.default_rng(8)
TEXTS = [unit(toy.HAND[k] + 0.3 * RNG.normal(size=(2 + k % 3, D))) for k in range(K)]  # 2 to 4 per class
PADDED = np.stack([np.concatenate([own, np.zeros((4 - len(own), D))]) for own in TEXTS])
CACHE = {"alpha": 40.0, "beta": 5.0, "negative_alpha": 30.0, "negative_beta": 2.0}


def given(name: str, own: dict, **changes):
    settings = RECOMMENDED.replace(**{f"{name}.{key}": value for key, value in own.items()})
    return toy.defence_input(settings=settings, **changes)


@pytest.mark.parametrize("picture", range(3))
@pytest.mark.parametrize("own", [(5, 256, 0.1), (5, 3, 0.1), (24, 256, 0.01), (1, 256, 0.1)])
def test_cola_equals_the_oracle(picture: int, own: tuple) -> None:
    x, named = toy.TOY.pictures[picture], dict(zip(("surest", "directions", "entropy_weight"), own))
    inputs = given("cola", named, views=toy.tensor(x), each_description=toy.tensor(PADDED))
    expected = softmax(slow.cola(x, TEXTS, TAU, *own))
    np.testing.assert_allclose(run_defence("cola", inputs).probability, expected, atol=1e-5)


def test_cola_without_descriptions_uses_the_class_sentence() -> None:
    x = toy.TOY.pictures[0]
    expected = softmax(slow.cola(x, [text[None] for text in toy.HAND], TAU, 8, 256, 0.1))
    np.testing.assert_allclose(
        run_defence("cola", given("cola", {}, views=toy.tensor(x))).probability, expected, atol=1e-6
    )


def test_the_projection_of_cola_changes_no_cosine_order_while_the_texts_span_the_subspace() -> None:
    x, z = toy.tensor(toy.TOY.pictures[0]), toy.tensor(toy.HAND)
    seen = cola.projected(x, cola.text_directions(z, 256)) @ z.T
    assert torch.equal(seen.argsort(1), (x @ z.T).argsort(1))
    assert torch.equal(cola.text_directions(torch.cat([z, z]), 256), cola.text_directions(torch.cat([z, z]), K))


@pytest.mark.parametrize("own", [(0.45, 1.8, 0.9), (0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.2, 9.0, 0.5)])
@pytest.mark.parametrize("seed", [0, 3])
def test_agc_equals_the_oracle(own: tuple, seed: int) -> None:
    picture = torch.tensor(pixels.PIXELS[0])
    copies = pixels.features(agc.distorted(picture, 32, seed).numpy())
    expected = slow.agc(pixels.feature(pixels.PIXELS[0]), copies, *own)
    named = dict(zip(("base", "gain", "power"), own))
    np.testing.assert_allclose(pixels.verdict("agc", seed=seed, **named).probability, pixels.clip(expected), **CLOSE)


def test_agc_does_not_turn_a_feature_that_is_its_anchor() -> None:
    x = torch.tensor(unit(RNG.normal(size=D)))
    assert torch.equal(agc.corrected(x, x[None], 0.45, 1.8, 0.9), x)


def test_the_copies_of_agc_are_perspectives_of_the_picture_that_follow_the_seed() -> None:
    picture = torch.rand(3, 24, 24, generator=torch.manual_seed(0), dtype=torch.float64).requires_grad_()
    found = agc.distorted(picture, 5, 1)
    assert found.shape == (5, 3, 24, 24)
    assert torch.equal(found, agc.distorted(picture, 5, 1))
    assert not torch.equal(found, agc.distorted(picture, 5, 2))
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert (found == 0).flatten(1).sum(1).min() > 0, "black where nothing is shown"
    (slope,) = torch.autograd.grad(found.sum(), picture)
    assert (slope != 0).double().mean() > 0.5


def memory() -> CacheState:
    return method.empty(2 * K, 3, D, "toy", dtype=torch.float64)


def stream(count: int) -> list[np.ndarray]:
    """Pictures of few classes, sure and unsure, so that caches are full and items are replaced."""
    z = toy.HAND
    mixed = [z[n % 2] + RNG.uniform(0, 1) * z[(n + 1) % 3] + 0.02 * RNG.normal(size=D) for n in range(count)]
    return [unit(one) for one in mixed]


def test_tda_equals_the_oracle_picture_after_picture() -> None:
    oracle, state, entered = slow.Tda(toy.HAND, TAU), memory(), 0
    for x in stream(40):
        inputs = given("tda", CACHE, views=toy.tensor(x[None]), memory=state)
        verdict = run_defence("tda", inputs)
        np.testing.assert_allclose(verdict.probability, softmax(oracle.answer(x, **CACHE)), **CLOSE)
        after, change = verdict.memory
        assert after.pictures == state.pictures + 1
        assert torch.equal(state.count, inputs.memory.count), "the memory before is not changed"
        for event in change.events:
            assert torch.allclose(after.features[event.label, event.slot], toy.tensor(x))
            entered += 1
        state = after
    assert entered > 10
    assert int(state.count[:K].max()) == 3, "a class is full"
    assert int(state.count[K:].max()) == 2, "the negative cache has two places"
    assert all(len(items) == int(state.count[K + k]) for k, items in oracle.negative.items())
    assert sum(map(len, oracle.negative.values())) > 0


def test_tda_with_an_empty_memory_answers_with_clips_class_and_none_without_a_memory() -> None:
    for picture in range(len(toy.TOY.pictures)):
        inputs = given("tda", {"negative_alpha": 0.0}, views=toy.tensor(toy.TOY.pictures[picture][:1]), memory=None)
        assert run_defence("tda", inputs) is None
        found = run_defence("tda", replace(inputs, memory=memory()))
        assert found.label == run_defence("clip", inputs).label


def test_an_attacker_who_knows_tda_has_its_answer_and_the_gradient_with_the_memory_held_fixed() -> None:
    state = memory()
    for x in stream(12):
        state = run_defence("tda", given("tda", CACHE, views=toy.tensor(x[None]), memory=state)).memory[0]
    views = toy.tensor(stream(1)[0][None]).requires_grad_()
    inputs = given("tda", CACHE, views=views, memory=state)
    logits = DEFENCES["tda"].attacked_logits(inputs)
    np.testing.assert_allclose(logits.softmax(-1).detach(), run_defence("tda", inputs).probability.detach(), **CLOSE)
    (gradient,) = torch.autograd.grad(logits[0], views)
    move = torch.randn(views.shape, generator=torch.manual_seed(0), dtype=views.dtype)
    move -= (move * views.detach()).sum() * views.detach()  # along the sphere, where features are
    slope = [
        DEFENCES["tda"].attacked_logits(replace(inputs, views=(views + step * move).detach()))[0]
        for step in (1e-6, -1e-6)
    ]
    assert float((gradient * move).sum()) == pytest.approx(float(slope[0] - slope[1]) / 2e-6, rel=1e-3)
