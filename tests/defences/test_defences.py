"""Every defence keeps the contract; the baselines equal slow second implementations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo import method
from rita_demo.data import paper_results
from rita_demo.defences.contract import DefenceInput, verdict_of
from rita_demo.defences.registry import DEFENCES, ORDER, compared, run_defence, validated, with_defaults
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED, SETTINGS
from tests.oracles import baselines as slow
from tests.oracles.algorithm1 import step_away, zero_shot
from tests.oracles.toy_model import TAU, D, K, ToyModel, make_toy_model

TOY: ToyModel = make_toy_model()
CONTEXT = TOY.context[:1]
HAND = TOY.encode(CONTEXT)[:, 0]
CLOSE = {"atol": 1e-6, "rtol": 0}  # both in float64; finite differences lose the rest
AREA_FRACTION = torch.from_numpy(TOY.area_fraction)
BASELINES = [name for name, defence in DEFENCES.items() if defence.baseline and not defence.reads_pixels]
SIDE = 4
PIXELS = torch.rand(len(TOY.pictures[0]), 3, SIDE, SIDE, generator=torch.manual_seed(1), dtype=torch.float64)
WEIGHTS = torch.randn(3 * SIDE * SIDE, D, generator=torch.manual_seed(2), dtype=torch.float64)


def encode_images(pixels: torch.Tensor) -> torch.Tensor:
    """Unit features (n, D) of pixels (n, 3, SIDE, SIDE)."""
    return method.unit(pixels.flatten(1) @ WEIGHTS.to(pixels))


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


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
        "draw_views": lambda count: PIXELS[:count],
        "encode_images": encode_images,
        "memory": method.empty(2 * K, 3, D, "toy", dtype=torch.float64),
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
    assert all(torch.equal(a, b) for a, b in zip(before, (inputs.views, inputs.template_features, inputs.context)))
    assert not inputs.context.requires_grad
    assert defence.uses_decision or defence.setting_names <= set(SETTINGS)
    assert set(defence.param_names.values()) <= set(SETTINGS)


@pytest.mark.parametrize("name", BASELINES)
def test_the_order_of_the_crops_does_not_matter(name: str) -> None:
    order = [0, *np.random.default_rng(0).permutation(np.arange(1, len(TOY.pictures[0])))]
    inputs = defence_input(views=tensor(TOY.pictures[0][order]), area_fraction=AREA_FRACTION[order])
    mixed = run_defence(name, inputs)
    np.testing.assert_allclose(mixed.probability.numpy(), probabilities(name, 0), atol=1e-6)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("count", [2, 5])
def test_identical_views_equal_a_single_view(name: str, count: int) -> None:
    same = tensor(np.repeat(TOY.pictures[0][:1], count, axis=0)).float()
    inputs = defence_input(template_features=tensor(HAND).float(), context=tensor(CONTEXT).float())
    many, one = (
        run_defence(name, replace(inputs, views=views, area_fraction=AREA_FRACTION[: len(views)]))
        for views in (same, same[:1])
    )
    np.testing.assert_allclose(many.probability, one.probability, atol=1e-4)


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


EXACT: list[tuple[str, dict[str, str]]] = [
    (n, {}) for n, d in DEFENCES.items() if d.adaptive and d.adaptive.kind == "exact"
]
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
    (gradient,) = torch.autograd.grad(logits(views)[0], views)
    move = torch.randn(views.shape, generator=torch.manual_seed(0), dtype=views.dtype)
    with torch.no_grad():
        slope = (logits(views + 1e-5 * move)[0] - logits(views - 1e-5 * move)[0]) / 2e-5
    assert float((gradient * move).sum()) == pytest.approx(float(slope), rel=0.02, abs=0.02)


def test_the_registry_keeps_its_order_and_rejects_unknown_names() -> None:
    known = ORDER[: ORDER.index("rita") + 1]
    assert tuple(name for name in compared() if name in known) == known
    assert tuple(DEFENCES)[: len(ORDER)] == ORDER, "others follow"
    assert with_defaults(["mta", "tpt"]) == ("clip", "ensemble", "tpt", "mta", "rita")
    with pytest.raises(SettingError, match="no method 'tsp'"):
        validated(["tsp"])


def test_names_in_the_papers_tables_are_those_of_the_defences() -> None:
    names = {defence.paper_name: name for name, defence in DEFENCES.items() if defence.paper_name}
    assert names.items() <= paper_results.METHODS.items()


def test_a_verdict_of_one_class_has_no_margin() -> None:
    assert verdict_of(torch.ones(1)).margin == 0
