"""What a figure draws are the numbers of its record (TEST DATA); ``test_golden`` has the drawings themselves."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo import figures
from rita_demo.figures.decision.costs import shown_classes
from rita_demo.figures.decision.plan import ratio_to_product_plan
from rita_demo.figures.decision.views import moved_shares, view_answers
from rita_demo.figures.paper.measurements import time_text
from rita_demo.figures.stream import MAX_MARKS, thinned_indices
from rita_demo.records import Run
from rita_demo.records.measurement import RememberedView
from rita_demo.settings import PAPER
from tests.figures.synthetic import make_attack_steps, make_run, make_trajectory


def test_costs_of_both_sides_are_those_of_the_record_for_the_same_classes(example_run: Run) -> None:
    clean, attacked = (trace for trace in figures.class_costs(example_run).data if trace.customdata)
    assert [row[0] for row in clean.customdata] == [row[0] for row in attacked.customdata]
    for side, trace in ((example_run.clean.trace, clean), (example_run.attacked.trace, attacked)):
        for (k, prompt, memory, total, _), x in zip(trace.customdata, trace.x):
            assert prompt == pytest.approx(side.prompt_transport.distance[k])
            assert memory == pytest.approx(example_run.settings.cache_weight * side.cache_distance[k])
            assert total == x == pytest.approx(side.total[k])


@pytest.mark.parametrize("top", [2, 5, 10, 400])
def test_rows_are_limited_sorted_by_cost_and_include_the_true_the_selected_and_the_fooled_class(
    example_run: Run, top: int
) -> None:
    shown = shown_classes(example_run, 13, top)
    assert len(shown) == len(set(shown)) <= top
    assert {example_run.label, 13} <= set(shown)
    assert np.all(np.diff(example_run.attacked.trace.total[shown]) >= 0)
    assert top == 2 or example_run.attacked.verdicts["clip"].label in shown


def test_a_plan_has_the_cost_and_the_share_of_the_record_in_its_cells(example_run: Run) -> None:
    moved, order = example_run.attacked.trace.prompt_transport, np.arange(64)[::-1]
    (drawn,) = figures.plan_matrix(example_run, 1, order=order, ends=("a", "b")).data
    views, rows, cost, ratio = np.asarray(drawn.customdata).reshape(-1, 4).T
    at = views.astype(int), rows.astype(int)
    even = moved.mass * np.outer(example_run.attacked.trace.view_weight, example_run.attacked.trace.prompt_weight[1])
    assert cost == pytest.approx(moved.cost[1][at])
    assert ratio == pytest.approx(moved.plan[1][at] / even[at], rel=1e-4)
    plan = np.broadcast_to(even, moved.plan.shape)
    product = replace(example_run.attacked.trace, prompt_transport=replace(moved, plan=plan))
    flat = replace(example_run, attacked=replace(example_run.attacked, trace=product))
    assert ratio_to_product_plan(flat.attacked, 1) == pytest.approx(1.0)
    shares = moved_shares(example_run.attacked, 0)
    assert shares @ example_run.attacked.trace.view_weight == pytest.approx(moved.mass, abs=1e-6)
    assert shares.min() < 0.05
    assert moved_shares(make_run(settings=PAPER).clean, 0) == pytest.approx(1.0, abs=1e-3), "all moves"


def test_views_are_split_into_the_true_class_the_attacks_class_and_others(example_run: Run) -> None:
    says, wrong = view_answers(example_run, "attacked")
    labels = example_run.attacked.trace.confidence.label
    assert wrong == example_run.attacked.verdicts["clip"].label == 1
    assert says == ["true" if k == example_run.label else "fooled" if k == 1 else "another" for k in labels]


def test_every_method_is_drawn_at_its_probability_of_the_true_class(example_run: Run) -> None:
    steps = make_attack_steps(example_run)
    drawn = {trace.name: trace for trace in figures.attack_steps(example_run, steps, 3).data}
    for method, name in (("clip", "CLIP"), ("ensemble", "Ensemble"), ("rita", "RITA")):
        answers = [step.image_result.verdicts[method] for step in steps]
        assert drawn[name].y == pytest.approx([100 * answer.probability[example_run.label] for answer in answers])
    alone = {trace.name: trace for trace in figures.attack_steps(example_run, [], 0).data}
    assert alone["CLIP"].y == pytest.approx(100 * example_run.attack.probability[:, example_run.label])


@pytest.mark.parametrize(("classes", "named"), [(3, 3), (47, 47), (100, 50)])
def test_a_timeline_is_as_high_as_its_names_need(classes: int, named: int) -> None:
    many = replace(make_trajectory(), names=tuple(f"class {k:03d}" for k in range(classes)))
    views = tuple(RememberedView(k, 0, "a", 0, False, k, 0, 5, 0.5, 1, 1, 1.0) for k in range(classes))
    figure = figures.class_timeline(many, views, 1)
    assert len(figure.layout.yaxis.ticktext) == named
    high, margin = max(figure.meta["height"], 480), figure.layout.margin
    assert (high - margin.t - margin.b) / named >= 12, "no name touches the next"
    assert high <= 1000, "and the figure fits a printed page"


def test_a_long_stream_is_thinned_with_both_ends() -> None:
    kept = thinned_indices(50_000)
    assert (len(kept), kept[0], kept[-1]) == (MAX_MARKS, 0, 49_999)
    assert list(thinned_indices(3)) == [0, 1, 2]


def test_a_time_has_two_digits_that_count() -> None:
    texts = [time_text(seconds) for seconds in (0.00043, 0.0095, 0.031, 0.994, 0.996, 9.94, 12.3)]
    assert texts == ["0.43 ms", "9.5 ms", "31 ms", "990 ms", "1.0 s", "9.9 s", "12 s"]
