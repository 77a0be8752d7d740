"""Average, balanced transport and RITA against the engine and against loops written from their definitions."""

import numpy as np
import pytest

from rita_demo.analysis.rules import rules
from rita_demo.records import Run
from tests.oracles.baselines import ensemble
from tests.oracles.crop_rules import mean_cost
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine(spread=0.5)


@pytest.fixture(scope="module")
def run(engine: ToyEngine) -> Run:
    return completed_run(engine)


@pytest.mark.parametrize("side", ["clean", "attacked"])
def test_every_rule_agrees_with_the_engine_to_four_digits(run: Run, engine: ToyEngine, side: str) -> None:
    one = getattr(run, side)
    found = rules(run, one)
    assert found.average.values == pytest.approx(one.verdicts["ensemble"].probability, abs=1e-6)
    assert found.rita.values == pytest.approx(one.trace.total, abs=1e-6)
    large = run.settings.replace(transported_mass=1.0, entropy_weight=10.0)
    whole, _ = engine.decide(one.encoded_views, run.class_prompts, run.cache_before, large, one.trace.tuning)
    assert found.balanced.values == pytest.approx(whole.total, abs=1e-4)
    for rule, verdict in ((found.average, one.verdicts["ensemble"]), (found.rita, one.verdicts["rita"])):
        assert rule.label == verdict.label
        assert rule.lead == pytest.approx(verdict.margin, abs=1e-6)
    assert found.balanced.label == whole.verdict.label
    assert found.balanced.lead == pytest.approx(whole.verdict.margin, abs=1e-4)


def test_balanced_transport_is_the_weighted_mean_cost_with_the_memory_beside_it(run: Run) -> None:
    trace, alpha = run.attacked.trace, run.settings.cache_weight
    found = rules(run, run.attacked).balanced
    assert trace.cache_transport is not None
    for k, value in enumerate(found.values):
        both = [
            mean_cost(part.cost[k], trace.view_weight, part.column_weight[k])
            for part in (trace.prompt_transport, trace.cache_transport)
        ]
        assert value == pytest.approx(both[0] + alpha * both[1], abs=1e-6)
    assert found.weight == pytest.approx(trace.view_weight)


@pytest.mark.parametrize("kind", ["uniform", "area", "shown"])
def test_the_average_counts_every_crop_as_its_setting_says(engine: ToyEngine, kind: str) -> None:
    run = completed_run(engine, ensemble_weight=kind)
    rule, prompts = rules(run, run.attacked).average, run.class_prompts
    expected = ensemble(
        run.attacked.encoded_views.features, prompts.template_features, prompts.temperature, "probability", rule.weight
    )
    assert rule.values == pytest.approx(expected, abs=1e-5)
    assert rule.weight.sum() == pytest.approx(1)
    assert (np.ptp(rule.weight) == 0) == (kind == "uniform")


def test_ritas_weights_are_the_masses_that_its_plan_moves_onto_its_answer(run: Run) -> None:
    trace = run.attacked.trace
    rule = rules(run, run.attacked).rita
    plan, rho = trace.prompt_transport.plan[rule.label], trace.prompt_transport.mass
    for n, share in enumerate(rule.weight):
        assert share == pytest.approx(sum(plan[n]) / rho, abs=1e-6)


@pytest.mark.parametrize("entropy_weight", [0.001, 0.01, 0.1])
def test_the_plan_lowers_the_cost_of_the_answer_a_little_beside_a_flat_choice_of_prompts(
    engine: ToyEngine, entropy_weight: float
) -> None:
    run = completed_run(engine, entropy_weight=entropy_weight)
    found, trace = rules(run, run.attacked), run.attacked.trace
    k, moved = trace.verdict.label, trace.prompt_transport
    flat = mean_cost(moved.cost[k], moved.plan[k].sum(1) / moved.mass, trace.prompt_weight[k])
    assert found.plan_effect == pytest.approx(flat - moved.distance[k], abs=1e-6)
    assert 0 <= found.plan_effect < found.rita.lead
