"""Groups of bars, sweeps and the component table from measured points (TEST DATA)."""

from dataclasses import replace

from rita_demo import figures
from rita_demo.evaluation.paper import catalogue
from rita_demo.evaluation.report import measured
from rita_demo.figures.paper.accuracy_bars import time_text
from rita_demo.figures.theme import COLOURS
from rita_demo.records.measurement import RunTime
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


def test_bars_have_the_charts_numbers_and_intervals() -> None:
    (chart,) = measured.budget_by_steps(POINTS)
    figure = figures.grouped_accuracy(chart, "")
    *bars, intervals = figure.data
    assert [list(bar.y) for bar in bars] == [[55, 10, 15], [60, 20]]
    first = chart.series["0 steps"][0]
    assert figure.data[0].error_y.array[0] == first.high - first.accuracy
    assert all(round(x) == at for bar in bars for at, x in enumerate(bar.x))  # each in its own group
    assert (list(intervals.x), list(intervals.y)) == ([x for bar in bars for x in bar.x], [55, 10, 15, 60, 20])
    assert list(intervals.error_y.array) == [length for bar in bars for length in bar.error_y.array]
    assert intervals.error_y.color == COLOURS["text"] != bars[0].error_y.color == COLOURS["surface"], "seen on any bar"
    assert figure.layout.yaxis.range[0] < 0.1, "bars start at zero"
    assert "no attack: 55.0 %" in figure.meta["alt"]
    assert figures.grouped_accuracy(None, "Nothing yet.").meta["alt"] == "Nothing yet."


def test_run_times_are_stacked_fastest_on_top() -> None:
    figure = figures.run_times([RunTime("clip", 0.01, 0.0, 5), RunTime("rita", 0.3, 0.2, 5)], "a run")
    assert len(figure.layout.xaxis.title.text) < 36, "it fits into a column"
    views, own = figure.data
    assert list(views.x) == [0.3, 0.01]
    assert (list(own.x), list(own.base)) == ([0.2, 0.0], [0.3, 0.01])
    assert list(figure.layout.yaxis.ticktext) == ["RITA", "CLIP"]
    assert figure.meta["alt"] == "a run. Time per picture: RITA 500 ms; CLIP 10 ms."
    assert [time_text(s) for s in (0.00043, 0.0095, 0.031, 0.994, 0.996, 9.94, 12.3)] == (
        ["0.43 ms", "9.5 ms", "31 ms", "990 ms", "1.0 s", "9.9 s", "12 s"]
    )
    assert "No measured run" in figures.run_times([], "x").meta["alt"]


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
