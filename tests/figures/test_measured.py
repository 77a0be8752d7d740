"""Groups of bars, sweeps, the component table and shares over several datasets from measured points (TEST DATA)."""

from rita_demo.evaluation.report import measured
from rita_demo.figures.analysis.numbers import PooledShare, pooled
from rita_demo.records import MeasuredCell
from rita_demo.settings import RECOMMENDED
from tests.figures.synthetic import ablation_point

POINTS = [
    ablation_point(60, attack="none", budget=0),
    ablation_point(20),
    ablation_point(55, attack="none", budget=0, tuning_steps=0),
    ablation_point(10, tuning_steps=0),
    ablation_point(99, tuning_steps=0, slots=8),  # further from the recommended settings
    ablation_point(15, tuning_steps=0, budget=8),
    ablation_point(5, "clip", protocol="off"),
]


def accuracies(chart):
    return {name: [cell and cell.accuracy for cell in cells] for name, cells in chart.series.items()}


def test_steps_by_budget_take_the_points_closest_to_the_recommended_settings() -> None:
    (chart,) = measured.budget_by_steps(POINTS)
    assert chart.groups == ("no attack", "4/255", "8/255")
    assert accuracies(chart) == {"0 steps": [55, 10, 15], "1 step": [60, 20, None]}
    assert measured.budget_by_steps(POINTS[:2]) == ()


def test_backbones_group_every_method_by_model_and_attack() -> None:
    (chart,) = measured.by_backbone(
        [*POINTS, ablation_point(33, backbone="ViT-B-32"), ablation_point(3, "clip", "ViT-B-32", protocol="off")]
    )
    assert chart.groups == ("ViT-B-32<br>pgd 4/255", "embedded<br>pgd 4/255")
    assert accuracies(chart) == {"clip": [3, 5], "rita": [33, 20]}
    assert chart.description.endswith("memory kept"), "that of RITA's bars; CLIP has none"
    assert chart.left_out == ("embedded no attack (RITA, n = 50)", "embedded pgd 8/255 (RITA, n = 50)")
    (alone,) = measured.by_backbone(POINTS[:1])
    assert accuracies(alone) == {"rita": [60]}


SWEPT = [
    ablation_point(10, slots=1),
    ablation_point(20, slots=3),
    ablation_point(30, slots=8),
    ablation_point(40, slots=1, entropy_weight=0.5),
    ablation_point(50, slots=8, entropy_weight=0.5),
    ablation_point(60, slots=3, attack="none", budget=0),
    ablation_point(70, slots=3, protocol="off", tuning_steps=0),
    ablation_point(5, "clip", protocol="off"),
]


def test_a_sweep_varies_one_setting_and_nothing_else() -> None:
    long, short = measured.sweeps(SWEPT, "slots")
    assert (long.values, [c.accuracy for c in long.cells]) == ((1, 3, 8), [10, 20, 30])
    assert (short.values, [c.accuracy for c in short.cells]) == ((1, 8), [40, 50])
    assert long.others == (("entropy_weight", RECOMMENDED.entropy_weight),)
    assert short.others == (("entropy_weight", 0.5),)
    assert measured.sweeps(SWEPT, "views") == ()
    (lam,) = [s for s in measured.sweeps(SWEPT, "entropy_weight") if s.cells[0].accuracy == 10]
    assert lam.values == (RECOMMENDED.entropy_weight, 0.5)


def test_component_table_uses_the_point_closest_to_the_recommended_settings() -> None:
    table = measured.components(SWEPT)
    column = "dtd (val), pgd 4/255"
    assert table["RITA: d_OT and the memory"][column].cell.accuracy == 20
    assert table["RITA: d_OT alone, prompts as they start"][column].cell.accuracy == 70
    assert table["CLIP (1 view)"][column].cell.accuracy == 5
    assert "Ensemble" not in table
    assert set(measured.non_recommended(SWEPT[3], {})) == {"slots", "entropy_weight"}


def cell(dataset: str, method: str, attack: str, accuracy: float, protocol: str = "off") -> MeasuredCell:
    return MeasuredCell(dataset, "embedded", method, attack, 4, 7, protocol, "test", accuracy, 50, 0, 100, "0", "x")


CELLS = (
    cell("dtd", "rita", "pgd", 64.0),
    cell("textures", "rita", "pgd", 72.0),
    cell("dtd", "ensemble", "pgd", 60.0),
    cell("dtd", "rita", "pgd", 100.0, "stream"),
)


def test_pictures_are_counted_over_datasets_without_a_memory() -> None:
    shares = pooled(CELLS)
    assert shares["embedded", "rita", "pgd"] == PooledShare(32 + 36, 100, earlier=False)
    assert shares["embedded", "ensemble", "pgd"].percent == 60.0
    assert pooled(()) == {}
