"""KL compared, exact transport and sweeps against slow second versions."""

import numpy as np
import ot
import pytest
from scipy.optimize import linear_sum_assignment

from rita_demo import analysis
from rita_demo.engine.engine import Engine
from rita_demo.records.measurement import AblationPoint
from rita_demo.settings import RECOMMENDED
from tests.oracles import algorithm1
from tests.oracles import theorem as oracle
from tests.plots.clouds import make_cloud
from tests.plots.synthetic import measured_cell
from tests.ui.conftest import completed_run
from tests.ui.fake_engine import FakeEngine


def slow_kl(features, labels, class_prompts) -> np.ndarray:
    z, weight = class_prompts.features.astype(float), class_prompts.weight.astype(float)
    return algorithm1.kl_to_one_hot(features.astype(float), list(labels), z, weight, class_prompts.temperature)


def test_kl_of_pictures_and_memory_agrees_with_the_definition_in_loops() -> None:
    cloud = make_cloud()
    one = analysis.kl_to_one_hot(cloud, FakeEngine().kl_to_one_hot)
    held, filed, born, _ = analysis.cache_features(cloud)
    assert np.allclose(
        one.original, slow_kl(cloud.attacked, cloud.label, cloud.class_prompts), atol=1e-4, equal_nan=True
    )
    assert np.allclose(one.cached, slow_kl(held, filed, cloud.class_prompts), atol=1e-4, equal_nan=True)
    true = slow_kl(held, cloud.label[born], cloud.class_prompts)
    assert np.allclose(one.cached_true, true, atol=1e-4, equal_nan=True)
    assert (one.classes, one.classes_true) == (2, 2)
    assert one.medians[1] == pytest.approx(np.median(one.cached[:2]))
    assert one.medians[0] == pytest.approx(np.median(one.original[:2]))
    assert one.improved == np.mean(one.cached[:2] < one.original[:2])
    assert one.improved_true == np.mean(one.cached_true[[0, 2]] < one.original[[0, 2]])
    empty = analysis.kl_to_one_hot(make_cloud(cached=False), FakeEngine().kl_to_one_hot)
    assert empty.classes == 0
    assert np.isnan(empty.medians).all()
    assert analysis.density(empty.cached, np.linspace(0, 1, 5)) is None


def test_a_density_is_the_sum_of_gaussians_and_integrates_to_one() -> None:
    values = np.array([1.0, 2.0, 2.5, 4.0, np.nan])
    at = np.linspace(-10, 20, 4001)
    curve = analysis.density(values, at)
    finite = values[:4]
    width = finite.std(ddof=1) * 4 ** (-1 / 5)  # Scott
    slow = sum(np.exp(-((at - v) ** 2) / (2 * width**2)) for v in finite) / (4 * width * (2 * np.pi) ** 0.5)
    assert np.allclose(curve, slow)
    assert np.trapezoid(curve, at) == pytest.approx(1)


def test_exact_transport_agrees_with_an_assignment_and_with_pot() -> None:
    rng = np.random.default_rng(1)
    cost = rng.random((12, 4))
    rows, columns = np.full(12, 1 / 12), np.full(4, 1 / 4)
    found = analysis.exact_cost(cost, rows, columns)
    many = np.repeat(cost, 3, axis=1)  # every prompt three times: now one view for each
    i, j = linear_sum_assignment(many)
    assert found == pytest.approx(many[i, j].mean())
    weight = np.array([0.1, 0.2, 0.3, 0.4])
    assert analysis.exact_cost(cost, rows, weight) == pytest.approx(ot.emd2(rows, weight, cost))


def test_theorem_bounds_contain_the_exact_cost_and_equal_the_oracle() -> None:
    side = completed_run(FakeEngine(spread=0.2)).attacked
    engine = FakeEngine()
    assert FakeEngine.theorem_bounds is Engine.theorem_bounds
    b = analysis.with_exact(engine.theorem_bounds(side.trace), side.trace, range(3))
    for k in range(3):
        lower, upper, gap, bures = oracle.theorem_bounds(
            side.encoded_views.features.astype(float), side.trace.prompt_features[k].astype(float)
        )
        assert [b.lower[k], b.upper[k], b.mean_gap[k], b.bures[k]] == pytest.approx(
            [lower, upper, gap, bures], abs=1e-5
        )
        assert lower - 1e-6 <= b.exact[k] <= upper + 1e-6
    assert np.isnan(b.exact[3])
    assert b.used == pytest.approx(2 * side.trace.prompt_transport.distance)


def point(
    accuracy: float, method: str = "rita", attack: str = "pgd", protocol: str = "stream", budget: int = 4, **settings
) -> AblationPoint:
    cell = measured_cell(accuracy, method=method, attack=attack, protocol=protocol, budget=budget)
    kept = RECOMMENDED.as_dict() | {"attack": attack, "budget": budget, "protocol": protocol} | settings
    return AblationPoint(cell, kept if method == "rita" else {})


POINTS = [
    point(10, slots=1),
    point(20, slots=3),
    point(30, slots=8),
    point(40, slots=1, entropy_weight=0.5),
    point(50, slots=8, entropy_weight=0.5),
    point(60, slots=3, attack="none", budget=0),
    point(70, slots=3, protocol="off", tuning_steps=0),
    point(5, "clip", protocol="off"),
]


def test_a_sweep_varies_one_setting_and_nothing_else() -> None:
    long, short = analysis.sweeps(POINTS, "slots")
    assert (long.values, [c.accuracy for c in long.cells]) == ((1, 3, 8), [10, 20, 30])
    assert (short.values, [c.accuracy for c in short.cells]) == ((1, 8), [40, 50])
    assert long.others == (("entropy_weight", RECOMMENDED.entropy_weight),)
    assert short.others == (("entropy_weight", 0.5),)
    assert analysis.sweeps(POINTS, "views") == ()
    (lam,) = [s for s in analysis.sweeps(POINTS, "entropy_weight") if s.cells[0].accuracy == 10]
    assert lam.values == (RECOMMENDED.entropy_weight, 0.5)


def test_component_table_uses_the_point_closest_to_the_recommended_settings() -> None:
    table = analysis.components(POINTS)
    column = "dtd (val), pgd 4/255"
    assert table["RITA: d_OT and the memory"][column].cell.accuracy == 20
    assert table["RITA: d_OT alone, prompts as they start"][column].cell.accuracy == 70
    assert table["CLIP (1 view)"][column].cell.accuracy == 5
    assert "Ensemble" not in table
    assert set(analysis.non_recommended(POINTS[3], {})) == {"slots", "entropy_weight"}
