"""The baselines against slow second implementations, and what their definitions promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rita_demo import baselines
from rita_demo.errors import SettingError
from rita_demo.methods import METHODS, chosen
from rita_demo.settings import RECOMMENDED
from tests.oracles import baselines as slow
from tests.oracles.algorithm1 import step_away
from tests.oracles.world import TAU, D, World, make_world

WORLD: World = make_world()
CONTEXT = WORLD.context[:1]
HAND = WORLD.encode(CONTEXT)[:, 0]
CLOSE = {"atol": 1e-6, "rtol": 0}  # both in float64; finite differences lose the rest


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values))


def question(picture: int, **changes) -> baselines.Question:
    given = {
        "views": tensor(WORLD.pictures[picture]),
        "shown": tensor(WORLD.shown),
        "hand": tensor(HAND),
        "written": None,
        "context": tensor(CONTEXT),
        "encode": WORLD.encode_torch,
        "temperature": TAU,
    }
    return baselines.Question(**(given | changes))


def ask(name: str, picture: int, **settings) -> np.ndarray:
    return baselines.answer(
        name, question(picture), RECOMMENDED.but(**settings)
    ).probability.numpy()


@pytest.mark.parametrize("picture", range(len(WORLD.pictures)))
def test_mta_is_the_slow_mta(picture: int) -> None:
    np.testing.assert_allclose(
        ask("mta", picture), slow.mta(WORLD.pictures[picture], HAND, TAU), **CLOSE
    )


@pytest.mark.parametrize("picture", range(len(WORLD.pictures)))
def test_prompt_tuning_is_the_slow_prompt_tuning(picture: int) -> None:
    x = WORLD.pictures[picture]
    arguments = (x, WORLD.encode, CONTEXT, TAU)
    np.testing.assert_allclose(ask("tpt", picture), slow.tpt(*arguments), atol=1e-5)
    for weight in (0.5, 50.0):
        found = ask("ctpt", picture, ctpt_weight=weight)
        np.testing.assert_allclose(found, slow.tpt(*arguments, weight), atol=1e-5)
    np.testing.assert_allclose(ask("rtpt", picture), slow.rtpt(*arguments), atol=1e-5)


def test_every_baseline_answers_differently() -> None:
    found = {name: ask(name, 0) for name in baselines.BASELINES}
    names = list(found)
    for i, one in enumerate(names):
        assert abs(found[one].sum() - 1) < 1e-9
        for other in names[i + 1 :]:
            assert np.abs(found[one] - found[other]).max() > 1e-6, (one, other)


def test_without_its_weight_c_tpt_is_tpt() -> None:
    assert np.array_equal(ask("ctpt", 1, ctpt_weight=0.0), ask("tpt", 1))


def test_c_tpt_spreads_the_prompts_further_than_tpt() -> None:
    x = WORLD.pictures[2]
    plain = slow.tuned(x, WORLD.encode, CONTEXT, TAU, slow.marginal)
    spread = slow.tuned(x, WORLD.encode, CONTEXT, TAU, slow.marginal, 50.0)
    assert slow.dispersion(spread) > slow.dispersion(plain)


@pytest.mark.parametrize("name", ["tpt", "ctpt", "rtpt"])
def test_the_context_is_the_same_to_the_last_bit_afterwards(name: str) -> None:
    asked = question(0)
    before = asked.context.clone()
    baselines.answer(name, asked, RECOMMENDED)
    assert torch.equal(asked.context, before)
    assert not asked.context.requires_grad


@pytest.mark.parametrize("name", list(baselines.BASELINES))
def test_the_order_of_the_crops_does_not_matter(name: str) -> None:
    x = WORLD.pictures[0]
    order = [0, *np.random.default_rng(0).permutation(np.arange(1, len(x)))]
    mixed = baselines.answer(name, question(0, views=tensor(x[order])), RECOMMENDED)
    np.testing.assert_allclose(mixed.probability.numpy(), ask(name, 0), atol=1e-6)


@pytest.mark.parametrize("name", list(baselines.BASELINES))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_or_identical_views_give_the_answer_of_one(name: str, count: int) -> None:
    same = tensor(np.repeat(WORLD.pictures[0][:1], count, axis=0))
    verdict = baselines.answer(name, question(0, views=same.float(), hand=tensor(HAND).float(),
        context=tensor(CONTEXT).float()), RECOMMENDED)  # fmt: skip
    assert torch.isfinite(verdict.probability).all()
    alone = baselines.answer(name, question(0, views=same[:1].float(), hand=tensor(HAND).float(),
        context=tensor(CONTEXT).float()), RECOMMENDED)  # fmt: skip
    np.testing.assert_allclose(verdict.probability, alone.probability, atol=1e-4)


def test_mta_moves_away_from_a_view_that_fits_nothing_else() -> None:
    x = WORLD.pictures[0].copy()
    x[0] = np.random.default_rng(3).normal(size=D)
    x[0] /= np.linalg.norm(x[0])
    found = baselines.answer("mta", question(0, views=tensor(x)), RECOMMENDED).probability.numpy()
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, slow.mta(x, HAND, TAU), **CLOSE)


@pytest.mark.parametrize("average", ["probability", "logit", "feature"])
@pytest.mark.parametrize("picture", range(len(WORLD.pictures)))
def test_the_ensemble_is_the_slow_ensemble_with_and_without_weights(picture, average) -> None:
    asked = (WORLD.pictures[picture], HAND, TAU, average)
    plain = ask("ensemble", picture, ensemble_average=average)
    np.testing.assert_allclose(plain, slow.ensemble(*asked), **CLOSE)
    left_out = np.maximum(1 - WORLD.shown, 0.001)
    for kind, counts in (("area", left_out), ("shown", WORLD.shown)):
        weighted = ask("ensemble", picture, ensemble_average=average, ensemble_weight=kind)
        np.testing.assert_allclose(weighted, slow.ensemble(*asked, counts), **CLOSE)
        assert np.abs(plain - weighted).max() > 1e-4
    stepped = ask("ensemble", picture, ensemble_average=average, ensemble_step_back=2.0)
    moved = step_away(WORLD.pictures[picture], 2.0, WORLD.shown)
    np.testing.assert_allclose(stepped, slow.ensemble(moved, *asked[1:]), **CLOSE)


def test_the_ensemble_compares_with_descriptions_when_told() -> None:
    written = tensor(WORLD.encode(WORLD.context)[:, 1])
    settings = RECOMMENDED.but(ensemble_text="descriptions", ensemble_average="logit")
    found = baselines.answer("ensemble", question(0, written=written), settings)
    logits = np.mean([[v @ z for z in written.numpy()] for v in WORLD.pictures[0]], axis=0) / TAU
    np.testing.assert_allclose(found.probability, slow.softmax(logits), **CLOSE)
    with pytest.raises(SettingError, match="needs class descriptions"):
        baselines.answer("ensemble", question(0), settings)


def test_there_is_a_function_for_every_baseline_and_no_other() -> None:
    assert list(baselines.BASELINES) == [m.name for m in METHODS.values() if m.baseline]
    assert chosen(["mta", "tpt"]) == ("clip", "ensemble", "tpt", "mta", "rita")
    with pytest.raises(SettingError, match="no method 'tsp'"):
        chosen(["tsp"])
