"""Replaced crops: the rules against loops, the law where its conditions hold, and the stored bank."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rita_demo.analysis import crop_law
from rita_demo.analysis.crop_law import LawCurves, law_curves, stored_bank
from rita_demo.data.shipped_results import sample_outcomes
from rita_demo.pipeline import example
from rita_demo.pipeline.crop_bank import texture_bank_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.records.errors import DataError
from tests.oracles.baselines import answers
from tests.oracles.crop_rules import fit, mean_cost, nearest_cost
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


@pytest.fixture(scope="module")
def run() -> Run:
    return example.stored()[1]


@pytest.fixture(scope="module")
def curves(run: Run) -> LawCurves:
    found = law_curves(run, stored_bank())
    assert found is not None
    return found


def toy_table(random: np.random.Generator, classes: int = 5) -> crop_law._Table:
    share = random.random((40, classes))
    return crop_law._Table(
        own=12,
        fit=random.uniform(-0.2, 0.9, (40, classes)).astype(np.float32),
        probability=share / share.sum(1, keepdims=True),
        mass=random.uniform(0.001, 0.9, 40).astype(np.float32),
    )


def test_every_rule_decides_each_draw_as_a_loop_over_its_crops_does() -> None:
    random = np.random.default_rng(0)
    table, right = toy_table(random), np.zeros(4)
    chosen = np.array([[*random.permutation(12)[:6], *random.integers(12, 40, 6)] for _ in range(30)])
    for draw in chosen:
        mass = table.mass[draw] / table.mass[draw].sum()
        cost = 1 - table.fit[draw]
        right += [
            table.probability[draw].mean(0).argmax() == 2,
            np.argmin([mean_cost(column[:, None], mass, np.ones(1)) for column in cost.T]) == 2,
            *(np.argmin([nearest_cost(column, mass, rho) for column in cost.T]) == 2 for rho in crop_law.NEAREST),
        ]
    assert list(crop_law._right(table, chosen, 2)) == pytest.approx(100 * right / len(chosen))
    assert 0 < right.min() <= right.max() < len(chosen)


def test_the_nearest_share_has_the_cost_of_a_loop_with_a_crop_that_counts_in_part() -> None:
    random = np.random.default_rng(1)
    table = toy_table(random)
    chosen = random.integers(0, 40, (7, 12))
    for rho, costs in zip(crop_law.NEAREST, crop_law._nearest(table, chosen, table.mass[chosen].sum(1))):
        for draw, row in zip(chosen, costs):
            mass = table.mass[draw] / table.mass[draw].sum()
            expected = [nearest_cost(1 - table.fit[draw, k], mass, rho) for k in range(5)]
            assert row == pytest.approx(expected, abs=1e-5)


def test_a_draw_replaces_as_many_crops_as_it_says_by_crops_of_one_picture_or_of_any() -> None:
    random = np.random.default_rng(0)
    for alone in (False, True):
        chosen = crop_law._draw(random, 20, (6, 8), 13, alone, 50)
        foreign = chosen[chosen >= 20].reshape(50, 13)
        assert chosen.shape == (50, 20)
        assert chosen.max() < 20 + 6 * 8
        for own in chosen[chosen < 20].reshape(50, 7):
            assert len(set(own)) == 7
        pictures = [len(set(row)) for row in (foreign - 20) // 8]
        assert (max(pictures) == 1) == alone


@pytest.mark.parametrize(("foreign", "helps"), [((0.1, 0.62, 0.2), True), ((0.3, 0.9, 0.2), False)])
def test_where_crops_are_alike_the_nearest_share_beats_the_mean_exactly_when_the_law_says(
    run: Run, foreign: tuple[float, ...], helps: bool
) -> None:
    """Three classes, the right one first; the own crops all fit alike, and so do the others: an erasure, an impostor."""
    clean = np.array([0.6, 0.5, 0.2])
    fits = np.concatenate([np.tile(clean, (20, 1)), np.tile(foreign, (40, 1))]).astype(np.float32)
    table = crop_law._Table(20, fits, np.full((60, 3), 1 / 3), np.ones(60, np.float32))
    chosen = crop_law._draw(np.random.default_rng(0), 20, (5, 8), 6, True, 3)
    drop, rise = crop_law._drop_and_rise(table, chosen, 0)
    assert (drop, rise) == pytest.approx((clean[0] - foreign[0], foreign[1] - clean[1]), abs=1e-6)
    nearest = crop_law._nearest(table, chosen, np.full(3, 20.0))[0]
    mean = 1 - fits[chosen].mean(1)
    leads = [costs[0, 1:].min() - costs[0, 0] for costs in (nearest, mean)]
    none = np.zeros(1)
    curve = crop_law.LawCurve(none, none, none, none, np.array([drop]), np.array([rise]))
    assert (leads[0] > leads[1]) == helps == bool(curve.partial_helps[0])


def test_no_replaced_crop_is_the_clean_answer_and_all_of_them_are_another_picture(curves: LawCurves, run: Run) -> None:
    assert run.clean.verdicts["ensemble"].label == run.label
    for curve in (curves.clutter, curves.impostor):
        for rule in (curve.average, curve.balanced, curve.nearest_35, curve.nearest_10):
            assert rule.shape == curves.shares.shape
            assert rule[0] == 100
            assert rule[-1] < 10
        assert np.isnan([curve.drop[0], curve.rise[0], curve.drop[-1], curve.rise[-1]]).all()
        assert not curve.partial_helps[[0, -1]].any()


def test_leaving_out_crops_forgives_clutter_and_multiplies_an_impostor(curves: LawCurves) -> None:
    cluttered, posed = (list(curves.shares).index(share) for share in (80, 35))
    clutter, impostor = curves.clutter, curves.impostor
    assert clutter.nearest_35[cluttered] > clutter.balanced[cluttered] + 20
    assert impostor.nearest_35[posed] < impostor.balanced[posed] - 20
    assert clutter.partial_helps[cluttered]
    assert not impostor.partial_helps[posed]


def test_the_first_share_agrees_with_the_ensemble_and_the_mean_of_the_run(run: Run) -> None:
    prompts, x = run.class_prompts, run.clean.encoded_views.features[:6]
    table_fit = [[fit(view, prompts.features[k], prompts.weight[k]) for k in range(4)] for view in x]
    text = np.einsum("kmd,km->kd", prompts.features, prompts.weight)
    assert (x @ text.T)[:, :4] == pytest.approx(np.array(table_fit), abs=1e-5)
    expected = answers(x, prompts.template_features, prompts.temperature)
    assert crop_law._softmax(x @ prompts.template_features.T / prompts.temperature) == pytest.approx(expected, abs=1e-5)


def test_the_curves_take_a_second_and_the_same_seed_gives_the_same(run: Run, curves: LawCurves) -> None:
    bank, seconds = stored_bank(), []
    for _ in range(3):
        begin = time.process_time()
        again = law_curves(run, bank)
        seconds.append(time.process_time() - begin)
    print(f"{min(seconds):.2f} s for {curves.draws} draws")
    assert min(seconds) < 2  # one second on a quiet core
    assert again is not None
    assert np.array_equal(again.clutter.nearest_35, curves.clutter.nearest_35)
    other = law_curves(run, bank, seed=1)
    assert other is not None
    assert not np.array_equal(other.clutter.nearest_10, curves.clutter.nearest_10)


def test_the_run_own_attack_is_a_point(run: Run, curves: LawCurves) -> None:
    assert curves.attack is not None
    assert 0 < curves.attack.share < 1
    assert curves.attack.drop > 0


def test_another_model_has_no_curves_until_a_bank_is_drawn_for_it() -> None:
    engine = ToyEngine(spread=0.2, truth="motorbike")
    run = completed_run(engine)
    assert law_curves(run, stored_bank()) is None
    assert law_curves(run, None) is None
    progress: list[float] = []
    bank = run_to_end(texture_bank_steps(engine), progress.append)
    assert bank.backbone == "toy"
    assert progress == sorted(progress)
    assert law_curves(run, bank) is None  # the toy takes every picture for the right class
    other = law_curves(replace(run, label=1), bank, draws=20)
    assert other is not None
    assert other.draws == 20
    assert (other.clutter.average == 0).all()


def test_many_classes_get_fewer_draws(run: Run) -> None:
    bank, prompts = stored_bank(), run.class_prompts
    wide = replace(
        prompts,
        features=np.tile(prompts.features, (12, 1, 1)),
        weight=np.tile(prompts.weight, (12, 1)),
        template_features=np.tile(prompts.template_features, (12, 1)),
    )
    found = law_curves(replace(run, class_prompts=wide), bank)
    assert found is not None
    assert 10 <= found.draws < 40


def test_the_bank_is_small_numbers_of_the_embedded_model_and_is_read_as_it_is_written(tmp_path: Path) -> None:
    bank = stored_bank()
    assert crop_law.STORED.stat().st_size <= 2_000_000
    assert bank.backbone == "embedded"
    assert {bank.weights[:8]} == {one.weights for one in sample_outcomes().values()}
    assert np.linalg.norm(bank.features, axis=-1) == pytest.approx(1, abs=1e-3)
    assert set(np.unique(bank.group)) == {0, 1}
    (tmp_path / "bank.npz").write_bytes(bank.to_bytes())
    again = stored_bank(tmp_path / "bank.npz")
    assert np.abs(again.features - bank.features).max() < 1e-3
    assert (again.backbone, again.weights) == (bank.backbone, bank.weights)


@pytest.mark.parametrize("data", [None, b"no file of numbers"])
def test_a_missing_or_broken_bank_is_an_error_message(data: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "bank.npz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DataError, match="Restore"):
        stored_bank(path)
