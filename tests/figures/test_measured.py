"""Groups of bars, sweeps, the component table and shares over several datasets from measured points (TEST DATA)."""

from dataclasses import replace

import pytest

from rita_demo import figures
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.paper import catalogue
from rita_demo.evaluation.report import measured
from rita_demo.figures.analysis.numbers import PooledShare, pooled
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import EARLIER_ATTACK
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.inside.folds import knowing_attacker_text
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


def test_backbones_say_the_memory_of_every_group_where_it_differs_and_what_is_left_out() -> None:
    off = [ablation_point(9, attack="fgsm", protocol="off"), ablation_point(8, "clip", attack="fgsm", protocol="off")]
    kept = [ablation_point(20), ablation_point(5, "clip", protocol="off")]
    few = ablation_point(25, attack="adaptive", protocol="off")
    (chart,) = measured.by_backbone([*off, *kept, replace(few, cell=replace(few.cell, n=4))])
    assert chart.groups == ("embedded<br>fgsm 4/255<br>without memory", "embedded<br>pgd 4/255<br>memory kept")
    assert "memory" not in chart.description
    assert chart.left_out_text == (
        "Not drawn, since one method alone was measured: embedded adaptive 4/255 (RITA, n = 4)."
    )
    assert chart.left_out_text in figures.grouped_accuracy(chart, "").meta["alt"]
    (item,) = catalogue._bars(catalogue.BACKBONES, [chart], "methods", "")
    assert "Not drawn" in item.text
    assert "memory" not in item.text, "the groups say it"


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


def test_the_shipped_table_has_every_method_and_attack() -> None:
    shares = pooled(shipped_results.read(shipped_results.ATTACKERS))
    assert {attack for *_, attack in shares} >= {"none", "pgd", "reverse", "adaptive"}
    for attack in {attack for *_, attack in shares}:
        row = {method: share for (_, method, name), share in shares.items() if name == attack}
        few = attack == "adaptive"  # it takes long; some methods have fewer pictures
        assert {"clip", "ensemble", "ctpt", "mta", "rtpt", "rita"} | (set() if few else {"tpt"}) <= set(row), attack
        assert few or len({share.n for method, share in row.items() if not DEFENCES[method].on_request}) == 1
    clip = {attack: shares["embedded", "clip", attack].percent for attack in ("pgd", "none")}
    assert clip["pgd"] < 10 < clip["none"]


def test_a_number_of_an_earlier_form_of_the_attack_is_marked_until_it_is_measured_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_: object) -> None:
        raise DataError("attackers.csv is not a table of measurements.")

    before, now = (replace(cell("dtd", "rita", "adaptive", 40.0), version=text) for text in (EARLIER_ATTACK, "0.1.0"))
    for cells, said in (
        ((*CELLS, before), " Of 50 test pictures RITA keeps 40 % right against an earlier form of this attacker."),
        ((*CELLS, before, now), " Of 50 test pictures RITA keeps 40 % right against this attacker."),
        (CELLS, ""),
    ):
        monkeypatch.setattr(shipped_results, "read", lambda _, cells=cells: cells)
        assert knowing_attacker_text() == said
    monkeypatch.setattr(shipped_results, "read", missing)
    assert knowing_attacker_text() == ""
