"""What every registered defence promises, as one table: a new file in the folder is tested by itself. And each equals a slow
second implementation, on features or on a toy encoder of pixels."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo import method
from rita_demo.defences import agc, clipure, dbd, sstpt
from rita_demo.defences.contract import DefenceInput
from rita_demo.defences.registry import DEFENCES, run_defence
from rita_demo.records import CacheState, Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED, SETTINGS
from tests.oracles import defences as slow
from tests.oracles.algorithm1 import step_away, zero_shot
from tests.oracles.toy_model import TAU, D, K, ToyModel, make_toy_model
from tests.oracles.transport import softmax, unit

TOY: ToyModel = make_toy_model()
CONTEXT = TOY.context[:1]
HAND = TOY.encode(CONTEXT)[:, 0]
CLOSE = {"atol": 1e-6, "rtol": 0}  # both in float64; finite differences lose the rest
AREA_FRACTION = torch.from_numpy(TOY.area_fraction)
SIDE, WARM = 6, 0.05  # of pixels, and their tau
RNG = np.random.default_rng(4)
PIXELS = np.clip(RNG.uniform(-0.1, 1.1, (24, 3, SIDE, SIDE)), 0, 1)  # some are exactly 0 or 1
MIXING = 0.3 * RNG.normal(size=(D, 3 * SIDE * SIDE))
EXACTLY = {"atol": 1e-9, "rtol": 0}  # both in float64


def feature(picture: np.ndarray) -> np.ndarray:
    """The unit feature (D,) of a picture (3, SIDE, SIDE)."""
    return unit(np.tanh(MIXING @ picture.ravel()))


def features(pixels: np.ndarray) -> np.ndarray:
    return np.array([feature(one) for one in pixels])


def encode_images(pixels: torch.Tensor) -> torch.Tensor:
    """The same in torch."""
    return method.unit(torch.tanh(pixels.flatten(1) @ torch.tensor(MIXING.T).to(pixels)))


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


def memory() -> CacheState:
    """Of TDA, empty."""
    return method.empty(2 * K, 3, D, "toy", dtype=torch.float64)


def decision(views, settings):
    """RITA's decision from a cache that has seen another picture."""
    prompts = TOY.prompts(views.dtype)
    empty = method.empty(K, settings.slots, D, "toy", dtype=views.dtype)
    _, cache = method.decide(tensor(TOY.pictures[5]).to(views), prompts, empty, settings, area_fraction=AREA_FRACTION)
    area_fraction = AREA_FRACTION[: len(views)].to(views)
    return method.decide(views, prompts, cache, settings, area_fraction=area_fraction)[0]


def defence_input(picture: int = 0, **changes) -> DefenceInput:
    given = {
        "views": tensor(TOY.pictures[picture]),
        "area_fraction": AREA_FRACTION,
        "template_features": tensor(HAND),
        "description_features": None,
        "context": tensor(CONTEXT),
        "encode_prompts": TOY.encode_torch,
        "temperature": TAU,
        "settings": RECOMMENDED,
        "draw_views": lambda count: torch.tensor(PIXELS[:count]),
        "encode_images": encode_images,
        "memory": memory(),
    } | changes
    return DefenceInput(**given, decide=lambda settings: decision(given["views"], settings))


def probabilities(name: str, picture: int, **settings) -> np.ndarray:
    return run_defence(name, defence_input(picture, settings=RECOMMENDED.replace(**settings))).probability.numpy()


@pytest.mark.parametrize("name", DEFENCES)
def test_a_defence_gives_probabilities_and_leaves_no_state(name: str) -> None:
    defence, inputs = DEFENCES[name], defence_input()
    before = [getattr(inputs, part).clone() for part in ("views", "template_features", "context")]
    first, again = run_defence(name, inputs), run_defence(name, inputs)
    assert first.probability.shape == (K,)
    assert abs(float(first.probability.sum()) - 1) < 1e-9
    assert (first.probability >= 0).all()
    assert first.label == int(first.probability.argmax())
    assert torch.equal(first.probability, again.probability)
    with torch.inference_mode():
        np.testing.assert_allclose(run_defence(name, defence_input()).probability, first.probability, **EXACTLY)
    assert all(torch.equal(a, b) for a, b in zip(before, (inputs.views, inputs.template_features, inputs.context)))
    assert not inputs.context.requires_grad
    assert defence.uses_decision or defence.setting_names <= set(SETTINGS)
    assert set(defence.param_names.values()) <= set(SETTINGS)


@pytest.mark.parametrize("picture", range(len(TOY.pictures)))
def test_prompt_tuning_and_mta_equal_the_oracle(picture: int) -> None:
    x = TOY.pictures[picture]
    arguments = (x, TOY.encode, CONTEXT, TAU)
    np.testing.assert_allclose(probabilities("mta", picture), slow.mta(x, HAND, TAU), **CLOSE)
    np.testing.assert_allclose(probabilities("tpt", picture), slow.tpt(*arguments), atol=1e-5)
    for weight in (0.5, 50.0):
        found = probabilities("ctpt", picture, ctpt_weight=weight)
        np.testing.assert_allclose(found, slow.tpt(*arguments, weight), atol=1e-5)
    np.testing.assert_allclose(probabilities("rtpt", picture), slow.rtpt(*arguments), atol=1e-5)


@pytest.mark.parametrize("picture", range(len(TOY.pictures)))
def test_clip_answers_from_view_zero_as_in_row_one(picture: int) -> None:
    verdict = run_defence("clip", defence_input(picture))
    expected = zero_shot(TOY.pictures[picture][0], HAND, TAU)
    np.testing.assert_allclose(verdict.probability, expected, **CLOSE)
    assert verdict.margin == pytest.approx(np.sort(expected)[-1] - np.sort(expected)[-2])


@pytest.mark.parametrize("average", ["probability", "logit", "feature"])
@pytest.mark.parametrize("picture", range(len(TOY.pictures)))
def test_ensemble_equals_the_oracle_with_and_without_weights(picture: int, average: str) -> None:
    arguments = (TOY.pictures[picture], HAND, TAU, average)
    plain = probabilities("ensemble", picture, ensemble_average=average)
    np.testing.assert_allclose(plain, slow.ensemble(*arguments), **CLOSE)
    hidden = np.maximum(1 - TOY.area_fraction, 0.001)
    for kind, weights in (("area", hidden), ("shown", TOY.area_fraction)):
        weighted = probabilities("ensemble", picture, ensemble_average=average, ensemble_weight=kind)
        np.testing.assert_allclose(weighted, slow.ensemble(*arguments, weights), **CLOSE)
        assert np.abs(plain - weighted).max() > 1e-4
    other = {"ensemble_average": average, "ensemble_weight": "shown", "view_weight": "uniform", "step_back": 1.0}
    by_area = slow.ensemble(*arguments[:3], "probability", hidden)
    np.testing.assert_allclose(probabilities("ensemble_area", picture, **other), by_area, **CLOSE)
    stepped = probabilities("ensemble", picture, ensemble_average=average, ensemble_step_back=2.0)
    moved = step_away(TOY.pictures[picture], 2.0, TOY.area_fraction)
    np.testing.assert_allclose(stepped, slow.ensemble(moved, *arguments[1:]), **CLOSE)


def test_ensemble_uses_descriptions_when_set() -> None:
    written = tensor(TOY.encode(TOY.context)[:, 1])
    settings = RECOMMENDED.replace(ensemble_text="descriptions", ensemble_average="logit")
    found = run_defence("ensemble", defence_input(settings=settings, description_features=written))
    logits = np.mean([[v @ z for z in written.numpy()] for v in TOY.pictures[0]], axis=0) / TAU
    np.testing.assert_allclose(found.probability, slow.softmax(logits), **CLOSE)
    with pytest.raises(SettingError, match="needs class descriptions"):
        run_defence("ensemble", defence_input(settings=settings))


EXACT: list[tuple[str, dict[str, str]]] = [(n, {}) for n, d in DEFENCES.items() if d.adaptive]
EXACT += [("ensemble", {"ensemble_average": average}) for average in ("logit", "feature")]
EXACT.append(("rita", {"cost": "loglik"}))


@pytest.mark.parametrize(("name", "changes"), EXACT)
def test_an_attacker_who_knows_a_defence_has_its_answer_and_the_exact_gradient(name: str, changes: dict) -> None:
    """Against central differences of the defence's own logits; RITA's prompts are not tuned here."""
    defence = DEFENCES[name]
    settings = RECOMMENDED.replace(protocol="off", tuning_steps=0, ensemble_step_back=0.3, **changes)
    views = tensor(TOY.pictures[0]).double().requires_grad_()
    context = tensor(TOY.context)
    prompts = method.Prompts(TOY.encode_torch, context, TOY.encode_torch(context), tensor(TOY.z_weight), TAU)

    def logits(views: torch.Tensor) -> torch.Tensor:
        cache = method.empty(K, settings.slots, D, "toy", dtype=views.dtype)
        return defence.attacked_logits(defence_input(views=views, settings=settings, prompts=prompts, cache=cache))

    expected = run_defence(name, defence_input(settings=settings)).probability
    np.testing.assert_allclose(logits(views).softmax(-1).detach(), expected, atol=1e-5)
    if defence.adaptive.kind != "exact":
        return
    (gradient,) = torch.autograd.grad(logits(views)[0], views)
    move = torch.randn(views.shape, generator=torch.manual_seed(0), dtype=views.dtype)
    with torch.no_grad():
        slope = (logits(views + 1e-5 * move)[0] - logits(views - 1e-5 * move)[0]) / 2e-5
    assert float((gradient * move).sum()) == pytest.approx(float(slope), rel=0.02, abs=0.02)


# --- pixels

OWN = {
    "ttc": {"budget": 4.0, "step": 3.0, "steps": 4, "beta": 0.7},
    "csr": {"budget": 4.0, "step": 3.0, "steps": 3, "radius": 40.0},
}


def clip_answer(x: np.ndarray) -> np.ndarray:
    """Plain CLIP's probabilities (K,) of a feature (D,)."""
    return softmax(HAND @ x / WARM)


def pixel_input(name: str, pixels: torch.Tensor, seed: int = 0, **own: float) -> DefenceInput:
    """What the defence gets of pixels (n, 3, SIDE, SIDE), with its own settings ``own``."""
    return DefenceInput(
        views=encode_images(pixels),
        area_fraction=torch.linspace(1, 0.1, len(pixels), dtype=torch.float64),
        template_features=torch.tensor(HAND),
        description_features=None,
        context=torch.tensor(CONTEXT),
        encode_prompts=TOY.encode_torch,
        temperature=WARM,
        settings=RECOMMENDED.replace(**{f"{name}.{key}": value for key, value in own.items()}),
        draw_views=lambda count: pixels[:count],
        encode_images=encode_images,
        seed=seed,
    )


def verdict(name: str, picture: int = 0, seed: int = 0, **own: float) -> Verdict:
    """The answer to a picture."""
    return run_defence(name, pixel_input(name, torch.tensor(np.roll(PIXELS, -picture, axis=0)), seed, **own))


def noise_of_ttc(picture: int = 0, seed: int = 0) -> np.ndarray:
    """What TTC starts with: under a threshold of 0 it stops there."""
    return verdict("ttc", picture, seed, threshold=0.0).added.numpy()


@pytest.mark.parametrize(("step", "steps"), [(0.1, 10), (3.0, 4), (0.5, 0)])
@pytest.mark.parametrize("picture", range(3))
def test_clipure_equals_its_steps_and_their_closed_form(picture: int, step: float, steps: int) -> None:
    x, g = feature(PIXELS[picture]), unit(HAND.mean(0))
    expected = slow.purified(x, g, step, steps)
    np.testing.assert_allclose(slow.purified_by_angle(x, g, step, steps), expected, **EXACTLY)
    np.testing.assert_allclose(clipure.purified(torch.tensor(x), torch.tensor(g), step, steps), expected, **EXACTLY)
    found = verdict("clipure", picture, step=step, steps=steps).probability
    np.testing.assert_allclose(found, clip_answer(expected), **EXACTLY)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("picture", range(3))
def test_ttc_and_csr_equal_the_oracle_on_both_sides_of_the_threshold(picture: int, name: str, side: int) -> None:
    pixels = torch.tensor(np.roll(PIXELS, -picture, axis=0), requires_grad=True)
    x, start = PIXELS[picture], noise_of_ttc(picture) if name == "ttc" else np.zeros((3, SIDE, SIDE))
    limits = {"ttc": slow.relative_move(feature, x, start), "csr": feature(x) @ feature(slow.low_pass(x, 40.0))}
    own = OWN[name] | {"threshold": limits[name] + side * 1e-6}
    inputs = pixel_input(name, pixels, **own)
    with torch.no_grad():
        found = run_defence(name, inputs)
    added = found.added.numpy()
    expected = slow.ttc(feature, x, start, own) if name == "ttc" else slow.csr(feature, x, own)
    np.testing.assert_allclose(added, expected, **EXACTLY)
    assert np.array_equal(added, start) == (side < 0)
    assert np.abs(added).max() <= own["budget"] / 255 + 1e-12
    np.testing.assert_allclose(x + added, np.clip(x + added, 0, 1), atol=1e-12)
    np.testing.assert_allclose(found.probability, clip_answer(feature(x + added)), **EXACTLY)
    (gradient,) = torch.autograd.grad(DEFENCES[name].attacked_logits(inputs)[0], pixels)
    slope = slow.gradient_of(lambda changed: HAND[0] @ feature(changed) / WARM, x + added)
    np.testing.assert_allclose(gradient[0], slope, atol=1e-6)


def test_the_noise_of_ttc_is_uniform_and_follows_the_seed() -> None:
    assert np.array_equal(noise_of_ttc(seed=1), noise_of_ttc(seed=1))
    free = (PIXELS[0] > 4 / 255) & (PIXELS[0] < 1 - 4 / 255)  # nothing is clipped
    drawn = np.sort([noise_of_ttc(seed=seed)[free] for seed in range(30)], axis=None)
    assert len(np.unique(drawn)) == len(drawn)
    assert np.abs(drawn * 255 - np.linspace(-4, 4, len(drawn))).max() < 0.3


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("surest", [2, 10, 31])
@pytest.mark.parametrize("picture", range(2))
def test_dbd_equals_the_oracle_on_both_sides_of_the_threshold(picture: int, surest: int, side: int) -> None:
    x = features(dbd.versions(torch.tensor(PIXELS[picture]), 3).numpy())
    own = {"surest": surest, "threshold": slow.offsets(x, HAND, WARM, surest)[1] + side * 1e-6, "far": 2.5}
    expected = slow.moved_feature(x, HAND, WARM, **own)
    np.testing.assert_allclose(dbd.moved_feature(torch.tensor(x), torch.tensor(HAND), WARM, **own), expected, **EXACTLY)
    np.testing.assert_allclose(verdict("dbd", picture, 3, **own).probability, clip_answer(expected), **EXACTLY)


@pytest.mark.parametrize("count", [5, 8])
def test_the_weights_the_loss_and_the_answer_of_sstpt_equal_the_oracle(count: int) -> None:
    x = features(PIXELS[:count])
    log_p = slow.log_answers(x, HAND, WARM)
    weight = slow.view_weights(x, log_p, np.roll(log_p, 1, axis=0))
    found = sstpt.view_weights(*map(torch.tensor, (x, log_p, np.roll(log_p, 1, axis=0))))
    np.testing.assert_allclose(found, weight, atol=1e-6)
    loss = sstpt.loss(*map(torch.tensor, (log_p, weight)))
    np.testing.assert_allclose(loss, slow.sstpt_loss(log_p, weight), **EXACTLY)
    jittered = features(sstpt.jittered(torch.tensor(PIXELS[:count]), 3).numpy())
    expected = slow.sstpt(x, jittered, TOY.encode, CONTEXT, WARM)
    np.testing.assert_allclose(verdict("sstpt", seed=3, views=count).probability, expected, atol=2e-5)


@pytest.mark.parametrize("name", ["clipure", "sstpt", "agc"])
def test_an_exact_gradient_equals_central_differences_in_the_pixels(name: str) -> None:
    pixels = torch.tensor(0.1 + 0.8 * PIXELS, requires_grad=True)
    move = torch.randn(pixels.shape, generator=torch.manual_seed(0), dtype=pixels.dtype)
    inputs = [pixel_input(name, pixels + step * move, seed=2) for step in (0, 1e-6, -1e-6)]
    at, up, down = (DEFENCES[name].attacked_logits(one)[0] for one in inputs)
    (gradient,) = torch.autograd.grad(at, pixels)
    assert float((gradient * move).sum()) == pytest.approx((up - down).item() / 2e-6, rel=1e-3)


# --- COLA, AGC and TDA

TEXTS = [unit(HAND[k] + 0.3 * RNG.normal(size=(2 + k % 3, D))) for k in range(K)]  # 2 to 4 per class
PADDED = np.stack([np.concatenate([own, np.zeros((4 - len(own), D))]) for own in TEXTS])
CACHE = {"alpha": 40.0, "beta": 5.0, "negative_alpha": 30.0, "negative_beta": 2.0}


def given(name: str, own: dict, **changes):
    settings = RECOMMENDED.replace(**{f"{name}.{key}": value for key, value in own.items()})
    return defence_input(settings=settings, **changes)


@pytest.mark.parametrize("picture", range(3))
@pytest.mark.parametrize("own", [(5, 256, 0.1), (5, 3, 0.1), (24, 256, 0.01), (1, 256, 0.1)])
def test_cola_equals_the_oracle(picture: int, own: tuple) -> None:
    x, named = TOY.pictures[picture], dict(zip(("surest", "directions", "entropy_weight"), own))
    inputs = given("cola", named, views=tensor(x), each_description=tensor(PADDED))
    expected = softmax(slow.cola(x, TEXTS, TAU, *own))
    np.testing.assert_allclose(run_defence("cola", inputs).probability, expected, atol=1e-5)


def test_cola_without_descriptions_uses_the_class_sentence() -> None:
    x = TOY.pictures[0]
    expected = softmax(slow.cola(x, [text[None] for text in HAND], TAU, 8, 256, 0.1))
    np.testing.assert_allclose(run_defence("cola", given("cola", {}, views=tensor(x))).probability, expected, atol=1e-6)


@pytest.mark.parametrize("own", [(0.45, 1.8, 0.9), (0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (0.2, 9.0, 0.5)])
@pytest.mark.parametrize("seed", [0, 3])
def test_agc_equals_the_oracle(own: tuple, seed: int) -> None:
    picture = torch.tensor(PIXELS[0])
    copies = features(agc.distorted(picture, 32, seed).numpy())
    expected = slow.agc(feature(PIXELS[0]), copies, *own)
    named = dict(zip(("base", "gain", "power"), own))
    np.testing.assert_allclose(verdict("agc", seed=seed, **named).probability, clip_answer(expected), atol=1e-8, rtol=0)


def stream(count: int) -> list[np.ndarray]:
    """Pictures of few classes, sure and unsure, so that caches are full and items are replaced."""
    z = HAND
    mixed = [z[n % 2] + RNG.uniform(0, 1) * z[(n + 1) % 3] + 0.02 * RNG.normal(size=D) for n in range(count)]
    return [unit(one) for one in mixed]


def test_tda_equals_the_oracle_picture_after_picture() -> None:
    oracle, state, entered = slow.Tda(HAND, TAU), memory(), 0
    for x in stream(40):
        inputs = given("tda", CACHE, views=tensor(x[None]), memory=state)
        verdict = run_defence("tda", inputs)
        np.testing.assert_allclose(verdict.probability, softmax(oracle.answer(x, **CACHE)), atol=1e-8, rtol=0)
        after, change = verdict.memory
        assert after.pictures == state.pictures + 1
        assert torch.equal(state.count, inputs.memory.count), "the memory before is not changed"
        for event in change.events:
            assert torch.allclose(after.features[event.label, event.slot], tensor(x))
            entered += 1
        state = after
    assert entered > 10
    assert int(state.count[:K].max()) == 3, "a class is full"
    assert int(state.count[K:].max()) == 2, "the negative cache has two places"
    assert all(len(items) == int(state.count[K + k]) for k, items in oracle.negative.items())
    assert sum(map(len, oracle.negative.values())) > 0


def test_tda_with_an_empty_memory_answers_with_clips_class_and_none_without_a_memory() -> None:
    for picture in range(len(TOY.pictures)):
        inputs = given("tda", {"negative_alpha": 0.0}, views=tensor(TOY.pictures[picture][:1]), memory=None)
        assert run_defence("tda", inputs) is None
        found = run_defence("tda", replace(inputs, memory=memory()))
        assert found.label == run_defence("clip", inputs).label
