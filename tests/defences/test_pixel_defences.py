"""CLIPure, TTC, CSR, DBD and SS-TPT equal slow second implementations on a toy encoder of pixels."""

import numpy as np
import pytest
import torch

from rita_demo.defences import clipure, csr, dbd, sstpt
from rita_demo.defences.contract import DefenceInput
from rita_demo.defences.registry import DEFENCES, run_defence
from rita_demo.records import Verdict
from rita_demo.settings import RECOMMENDED
from tests.oracles import pixel_defences as slow
from tests.oracles.toy_model import D, make_toy_model
from tests.oracles.transport import softmax

SIDE, VIEWS, TAU = 6, 8, 0.05
TOY = make_toy_model()
CONTEXT = TOY.context[:1]
HAND = TOY.encode(CONTEXT)[:, 0]
RNG = np.random.default_rng(4)
PIXELS = np.clip(RNG.uniform(-0.1, 1.1, (VIEWS, 3, SIDE, SIDE)), 0, 1)  # some are exactly 0 or 1
MIXING = 0.3 * RNG.normal(size=(D, 3 * SIDE * SIDE))
CLOSE = {"atol": 1e-9, "rtol": 0}  # both in float64
OWN = {
    "ttc": {"budget": 4.0, "step": 3.0, "steps": 4, "beta": 0.7},
    "csr": {"budget": 4.0, "step": 3.0, "steps": 3, "radius": 40.0},
}


def feature(picture: np.ndarray) -> np.ndarray:
    """The unit feature (D,) of a picture (3, SIDE, SIDE)."""
    return slow.unit(np.tanh(MIXING @ picture.ravel()))


def features(pixels: np.ndarray) -> np.ndarray:
    return np.array([feature(one) for one in pixels])


def encode_images(pixels: torch.Tensor) -> torch.Tensor:
    """The same in torch."""
    return torch.nn.functional.normalize(torch.tanh(pixels.flatten(1) @ torch.tensor(MIXING.T)), dim=-1)


def clip(x: np.ndarray) -> np.ndarray:
    """Plain CLIP's probabilities (K,) of a feature (D,)."""
    return softmax(HAND @ x / TAU)


def defence_input(name: str, pixels: torch.Tensor, seed: int = 0, **own: float) -> DefenceInput:
    """What the defence gets of pixels (VIEWS, 3, SIDE, SIDE), with its own settings ``own``."""
    return DefenceInput(
        views=encode_images(pixels),
        area_fraction=torch.linspace(1, 0.1, VIEWS, dtype=torch.float64),
        template_features=torch.tensor(HAND),
        description_features=None,
        context=torch.tensor(CONTEXT),
        encode_prompts=TOY.encode_torch,
        temperature=TAU,
        settings=RECOMMENDED.replace(**{f"{name}.{key}": value for key, value in own.items()}),
        draw_views=lambda count: pixels[:count],
        encode_images=encode_images,
        seed=seed,
    )


def verdict(name: str, picture: int = 0, seed: int = 0, **own: float) -> Verdict:
    """The answer to a picture."""
    return run_defence(name, defence_input(name, torch.tensor(np.roll(PIXELS, -picture, axis=0)), seed, **own))


def noise_of_ttc(picture: int = 0, seed: int = 0) -> np.ndarray:
    """What TTC starts with: under a threshold of 0 it stops there."""
    return verdict("ttc", picture, seed, threshold=0.0).added.numpy()


@pytest.mark.parametrize("name", ["clipure", "ttc", "csr", "dbd", "sstpt", "agc"])
@pytest.mark.parametrize("seed", [0, 5])
def test_the_answer_sums_to_1_and_is_the_attackers_also_under_inference_mode(name: str, seed: int) -> None:
    found = verdict(name, seed=seed).probability
    assert float(found.sum()) == pytest.approx(1, abs=1e-12)
    logits = DEFENCES[name].attacked_logits(defence_input(name, torch.tensor(PIXELS), seed))
    np.testing.assert_allclose(logits.softmax(-1), found, **CLOSE)
    with torch.inference_mode():
        np.testing.assert_allclose(verdict(name, seed=seed).probability, found, **CLOSE)


@pytest.mark.parametrize(("step", "steps"), [(0.1, 10), (3.0, 4), (0.5, 0)])
@pytest.mark.parametrize("picture", range(3))
def test_clipure_equals_its_steps_and_their_closed_form(picture: int, step: float, steps: int) -> None:
    x, g = feature(PIXELS[picture]), slow.unit(HAND.mean(0))
    expected = slow.purified(x, g, step, steps)
    np.testing.assert_allclose(slow.purified_by_angle(x, g, step, steps), expected, **CLOSE)
    np.testing.assert_allclose(clipure.purified(torch.tensor(x), torch.tensor(g), step, steps), expected, **CLOSE)
    found = verdict("clipure", picture, step=step, steps=steps).probability
    np.testing.assert_allclose(found, clip(expected), **CLOSE)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("picture", range(3))
def test_ttc_and_csr_equal_the_oracle_on_both_sides_of_the_threshold(picture: int, name: str, side: int) -> None:
    pixels = torch.tensor(np.roll(PIXELS, -picture, axis=0), requires_grad=True)
    x, start = PIXELS[picture], noise_of_ttc(picture) if name == "ttc" else np.zeros((3, SIDE, SIDE))
    limits = {"ttc": slow.relative_move(feature, x, start), "csr": feature(x) @ feature(slow.low_pass(x, 40.0))}
    own = OWN[name] | {"threshold": limits[name] + side * 1e-6}
    inputs = defence_input(name, pixels, **own)
    with torch.no_grad():
        found = run_defence(name, inputs)
    added = found.added.numpy()
    expected = slow.ttc(feature, x, start, own) if name == "ttc" else slow.csr(feature, x, own)
    np.testing.assert_allclose(added, expected, **CLOSE)
    assert np.array_equal(added, start) == (side < 0)
    assert np.abs(added).max() <= own["budget"] / 255 + 1e-12
    np.testing.assert_allclose(x + added, np.clip(x + added, 0, 1), atol=1e-12)
    np.testing.assert_allclose(found.probability, clip(feature(x + added)), **CLOSE)
    (gradient,) = torch.autograd.grad(DEFENCES[name].attacked_logits(inputs)[0], pixels)
    slope = slow.gradient_of(lambda changed: HAND[0] @ feature(changed) / TAU, x + added)
    np.testing.assert_allclose(gradient[0], slope, atol=1e-6)


def test_the_noise_of_ttc_is_uniform_and_follows_the_seed() -> None:
    assert np.array_equal(noise_of_ttc(seed=1), noise_of_ttc(seed=1))
    free = (PIXELS[0] > 4 / 255) & (PIXELS[0] < 1 - 4 / 255)  # nothing is clipped
    drawn = np.sort([noise_of_ttc(seed=seed)[free] for seed in range(30)], axis=None)
    assert len(np.unique(drawn)) == len(drawn)
    assert np.abs(drawn * 255 - np.linspace(-4, 4, len(drawn))).max() < 0.3


@pytest.mark.parametrize("side", [5, 6])
@pytest.mark.parametrize("radius", [20.0, 40.0, 1000.0])
def test_the_low_pass_of_csr_equals_a_sum_of_waves(side: int, radius: float) -> None:
    x = PIXELS[:1, :, :side, :side]
    found = csr.low_pass(torch.tensor(x), radius)[0]
    np.testing.assert_allclose(found, slow.low_pass(x[0], radius), atol=1e-7)  # the gains are in float32


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("surest", [2, 10, 31])
@pytest.mark.parametrize("picture", range(2))
def test_dbd_equals_the_oracle_on_both_sides_of_the_threshold(picture: int, surest: int, side: int) -> None:
    x = features(dbd.versions(torch.tensor(PIXELS[picture]), 3).numpy())
    own = {"surest": surest, "threshold": slow.offsets(x, HAND, TAU, surest)[1] + side * 1e-6, "far": 2.5}
    expected = slow.moved_feature(x, HAND, TAU, **own)
    np.testing.assert_allclose(dbd.moved_feature(torch.tensor(x), torch.tensor(HAND), TAU, **own), expected, **CLOSE)
    np.testing.assert_allclose(verdict("dbd", picture, 3, **own).probability, clip(expected), **CLOSE)


@pytest.mark.parametrize("side", [SIDE, 16])
def test_the_versions_of_dbd_follow_the_seed_and_pass_a_gradient(side: int) -> None:
    picture = torch.rand(3, side, side, generator=torch.manual_seed(0), dtype=torch.float64).requires_grad_()
    found = dbd.versions(picture, 1)
    assert found.shape == (32, 3, side, side)
    assert (found - found.clamp(0, 1)).abs().max() < 1e-12
    assert torch.equal(found[0], picture)
    assert (found[1:] - picture).flatten(1).abs().amax(1).min() > 1e-3
    assert torch.equal(found, dbd.versions(picture, 1))
    assert not torch.equal(found, dbd.versions(picture, 2))
    slopes = torch.stack([torch.autograd.grad(one.sum(), picture, retain_graph=True)[0] for one in found])
    assert slopes.flatten(1).any(1).all()
    assert slopes[1:].any(0).all()


@pytest.mark.parametrize("count", [5, VIEWS])
def test_the_weights_the_loss_and_the_answer_of_sstpt_equal_the_oracle(count: int) -> None:
    x = features(PIXELS[:count])
    log_p = slow.log_answers(x, HAND, TAU)
    weight = slow.view_weights(x, log_p, np.roll(log_p, 1, axis=0))
    found = sstpt.view_weights(*map(torch.tensor, (x, log_p, np.roll(log_p, 1, axis=0))))
    np.testing.assert_allclose(found, weight, atol=1e-6)
    loss = sstpt.loss(*map(torch.tensor, (log_p, weight)))
    np.testing.assert_allclose(loss, slow.sstpt_loss(log_p, weight), **CLOSE)
    jittered = features(sstpt.jittered(torch.tensor(PIXELS[:count]), 3).numpy())
    expected = slow.sstpt(x, jittered, TOY.encode, CONTEXT, TAU)
    np.testing.assert_allclose(verdict("sstpt", seed=3, views=count).probability, expected, atol=2e-5)


@pytest.mark.parametrize("name", ["clipure", "sstpt", "agc"])
def test_an_exact_gradient_equals_central_differences_in_the_pixels(name: str) -> None:
    pixels = torch.tensor(0.1 + 0.8 * PIXELS, requires_grad=True)
    move = torch.randn(pixels.shape, generator=torch.manual_seed(0), dtype=pixels.dtype)
    inputs = [defence_input(name, pixels + step * move, seed=2) for step in (0, 1e-6, -1e-6)]
    at, up, down = (DEFENCES[name].attacked_logits(one)[0] for one in inputs)
    (gradient,) = torch.autograd.grad(at, pixels)
    assert float((gradient * move).sum()) == pytest.approx((up - down).item() / 2e-6, rel=1e-3)
