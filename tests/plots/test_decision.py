"""The figures of *Inside RITA* as data, against their record (TEST DATA)."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.pipeline import rerun
from rita_demo.plots import attack_steps, class_costs, plan_heatmap, view_answers
from rita_demo.plots.decision.all_classes import _labels, all_prompts, all_views
from rita_demo.plots.decision.cells import COLOUR_RANGE, moved_shares, ratio_to_product_plan, view_order
from rita_demo.plots.decision.cost_and_plan_matrix import cost_matrix, flatness, plan_matrix, prompt_shares, view_mass
from rita_demo.plots.decision.sinkhorn_and_tuning import (
    context_movement,
    cost_change,
    entropy_change,
    sinkhorn_costs,
    sinkhorn_residuals,
    tuning_loss,
)
from rita_demo.plots.labels import escaped
from rita_demo.plots.theme import COLOURS
from rita_demo.records import Exclusions, ImageResult, Run, SinkhornHistory
from rita_demo.settings import PAPER
from tests.plots.synthetic import make_run
from tests.toy_model import ToyEngine


def cells(drawn) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Places (view, row) and values of a heatmap's cells."""
    data = np.asarray(drawn.customdata).reshape(-1, len(drawn.customdata[0][0])).T
    return tuple(data[:2].astype(int)), data[2:]


@pytest.mark.parametrize("draw", [cost_matrix, plan_matrix])
def test_clean_and_attacked_share_scale_columns_and_rows(example_run: Run, draw):
    one, two = (draw(example_run, side, 2) for side in ("clean", "attacked"))
    assert (one.data[0].zmin, one.data[0].zmax) == (two.data[0].zmin, two.data[0].zmax)
    assert np.array_equal(*(np.asarray(f.data[0].customdata)[..., :2] for f in (one, two)))
    assert list(one.layout.yaxis.ticktext) == list(two.layout.yaxis.ticktext)


def even_plan(side: ImageResult) -> np.ndarray:
    """The plan (N, M) that moves the same share of every view to every prompt of a class."""
    trace = side.trace
    return trace.prompt_transport.mass * trace.view_weight[:, None] * trace.prompt_weight[0]


def test_cells_carry_the_records_costs_and_their_ratio_to_an_even_share(example_run: Run):
    drawn, moved = cost_matrix(example_run, "clean", 1).data[0], example_run.clean.trace.prompt_transport
    places, (cost, even) = cells(drawn)
    assert np.stack([np.ravel(drawn.z), cost]) == pytest.approx(np.stack([moved.cost[1][places]] * 2))
    assert even == pytest.approx(moved.plan[1][places] / even_plan(example_run.clean)[places], rel=1e-5)


@pytest.mark.parametrize("draw", [cost_matrix, plan_matrix])
def test_excluded_items_keep_their_position_and_are_grey(example_run: Run, draw):
    exclusions = Exclusions(views=frozenset({5}), prompts=frozenset({(2, 1)}))
    rescored = rerun.rescore(ToyEngine(), example_run, example_run.settings, exclusions)
    drawn = draw(rescored, "attacked", 2).data[0]
    grey = {(n, m) for n, m, *_ in np.asarray(drawn.customdata)[np.isnan(drawn.z)].tolist()}
    views, atoms = example_run.attacked.trace.prompt_transport.plan.shape[1:]
    assert grey == {(5, m) for m in range(atoms)} | {(n, 1) for n in range(views)}
    assert "left out" in str(drawn.text)


def test_a_selected_cell_is_framed_and_a_selected_view_is_a_column_and_the_others_are_dimmed(example_run: Run):
    left, right, cell = plan_matrix(example_run, "clean", 0, 5, 1).layout.shapes
    *_, column = plan_matrix(example_run, "clean", 0, 5).layout.shapes
    assert (cell.y1 - cell.y0, column.y1 - column.y0) == (1, 4)
    assert (left.x0, left.x1, right.x0, right.x1) == (-0.5, cell.x0, cell.x1, 63.5)
    assert left.opacity == right.opacity < 1
    figure = plan_heatmap(example_run, "attacked", 0, selected=(int(view_order(example_run.attacked)[5]), 1))
    *_, strip, cell = figure.layout.shapes
    assert (strip.x0, strip.x1, strip.yref) == (4.5, 5.5, "y2")
    assert (cell.y0 + cell.y1) / 2 == list(figure.data[0].y)[1]
    assert len(plan_heatmap(example_run, "attacked", 0, selected=(5, -1)).layout.shapes) == 3
    assert not plan_heatmap(example_run, "attacked", 0, selected=(500, 1)).layout.shapes


def test_mass_of_views_is_the_share_each_moves(example_run: Run):
    drawn = view_mass(example_run, "attacked", k=3).data[0]
    (views, classes), (share,) = cells(drawn)
    moved = [moved_shares(example_run.attacked, k)[n] for n, k in zip(views, classes, strict=True)]
    assert np.stack([np.ravel(drawn.z), share]) == pytest.approx(np.stack([moved, moved]))


def test_prompt_shares_sum_to_the_cost(example_run: Run):
    for side, bars in zip(("clean", "attacked"), prompt_shares(example_run, 2, atom=1).data, strict=True):
        assert bars.name == side
        assert sum(bars.x) == pytest.approx(getattr(example_run, side).trace.prompt_transport.distance[2], rel=1e-5)
        assert [o == 1.0 for o in bars.marker.opacity] == [d[0] == 1 for d in bars.customdata]  # the others are dimmed


def test_residuals_are_drawn_at_their_iterations_on_a_log_scale(example_run: Run):
    figure = sinkhorn_residuals(example_run)
    assert [t.name for t in figure.data] == ["clean prompts", "clean memory", "attacked prompts", "attacked memory"]
    trace = example_run.attacked.trace
    for line, solved in zip(figure.data[2:], (trace.prompt_transport, trace.cache_transport), strict=True):
        assert list(line.x) == solved.checks.tolist()
        assert list(line.y) == pytest.approx(np.maximum(solved.residual, 1e-12))
    assert figure.layout.yaxis.type == "log"


def test_the_update_shows_loss_movement_and_costs_of_both_sides(example_run: Run):
    sides = example_run.clean, example_run.attacked
    for side, line in zip(sides, tuning_loss(example_run).data, strict=True):
        assert list(line.y) == pytest.approx(side.trace.tuning.loss)
        assert line.y[1] < line.y[0]
    bars = context_movement(example_run)
    assert [t.name for t in bars.data] == ["clean", "attacked"]
    for side, bar in zip(sides, bars.data, strict=True):
        assert list(bar.y) == pytest.approx(side.trace.tuning.movement)
        assert list(bar.x) == list(range(1, len(bar.y) + 1))  # as in the menus
    assert "L2" in bars.layout.yaxis.title.text
    drawn = {t.name: t for t in cost_change(example_run, k=5).data if t.name}
    assert set(drawn) == {"clean before", "clean after", "attacked before", "attacked after"}
    for k, before, after, _ in drawn["attacked after"].customdata:
        assert before == pytest.approx(example_run.attacked.trace.untuned_prompt_transport.distance[k])
        assert after == pytest.approx(example_run.attacked.trace.prompt_transport.distance[k])
    dots = drawn["clean after"]
    assert [o == 1.0 for o in dots.marker.opacity] == [d[0] == 5 for d in dots.customdata]


def test_the_cost_of_every_iteration_is_drawn_and_an_empty_history_is_not(example_run: Run):
    costs = {"clean prompts": [0.8, 0.7, 0.75], "attacked prompts": [0.9, 0.85], "clean memory": []}
    ways = {}
    for name, cost in costs.items():
        weights, residuals = np.geomspace(0.1, 0.01, len(cost)), np.geomspace(1e-1, 1e-7, len(cost))
        ways[name] = SinkhornHistory(np.arange(len(cost)), weights, np.array(cost), residuals, np.zeros((len(cost), 4)))
    figure = sinkhorn_costs(example_run, 2, ways)
    assert [t.name for t in figure.data] == ["clean prompts", "attacked prompts"]
    assert list(figure.data[0].y) == [0.8, 0.7, 0.75]
    assert list(figure.data[0].x) == [0, 1, 2]
    assert [d[0] for d in figure.data[1].customdata] == pytest.approx([0.1, 0.01])
    assert "cosine distance" in figure.layout.yaxis.title.text
    assert "from 0.9000 to 0.8500 in 1 steps" in figure.layout.meta["alt"]


def test_entropies_before_and_after_are_drawn_per_view_and_unselected_ones_are_dimmed(example_run: Run):
    rng = np.random.default_rng(0)
    changes = {s: (rng.random(64), rng.random(64)) for s in ("clean", "attacked")}
    drawn = {t.name: t for t in entropy_change(example_run, changes, view=7).data if t.name}
    assert set(drawn) == {"clean before", "clean after", "attacked before", "attacked after"}
    for side, (before, after) in changes.items():
        one, two = drawn[f"{side} before"], drawn[f"{side} after"]
        numbers = [d[0] for d in one.customdata]
        assert sorted(numbers) == list(range(64))
        assert list(one.y) == pytest.approx(before[numbers])
        assert list(two.y) == pytest.approx(after[numbers])
        kept = [n for n, c in zip(numbers, one.marker.color, strict=True) if c != COLOURS["other"]]
        assert kept == [7]


@pytest.mark.parametrize("side", ["clean", "attacked"])
def test_the_overview_holds_every_class_and_view_and_marks_the_true_and_the_attacks_class(example_run: Run, side: str):
    names, fooled = example_run.class_prompts.names, example_run.attacked.verdicts["clip"].label
    order = np.argsort(example_run.attacked.trace.total, kind="stable").tolist()
    figure = all_views(example_run, side, k=order[0], view=5)
    drawn, axis = figure.data[0], figure.layout.yaxis
    cells = np.asarray(drawn.customdata)
    assert sorted(map(tuple, cells.reshape(-1, 2).tolist())) == [(n, k) for n in range(64) for k in range(len(names))]
    for row, (k, label) in enumerate(zip(order, axis.ticktext, strict=True)):
        moved = moved_shares(getattr(example_run, side), k)[cells[row, :, 0]]
        assert drawn.z[row] == pytest.approx(moved, abs=1e-4)
        assert escaped(names[k], 12) in label
    assert list(axis.tickvals) == list(range(len(names)))
    assert axis.ticktext[order.index(example_run.label)].startswith("true ▸")
    assert axis.ticktext[order.index(fooled)].startswith("attack ▸")


def test_many_rows_label_only_relevant_classes_without_overlap(example_run: Run):
    label, fooled = example_run.label, example_run.attacked.verdicts["clip"].label
    crowd = np.r_[label, fooled, np.full(198, next(k for k in range(16) if k not in (label, fooled)))]
    places, (named,) = _labels(example_run, crowd, None)
    assert places == [0.5]
    assert [line.split(" ▸ ")[0] for line in named.split("<br>")] == ["true", "attack"]
    apart = np.r_[crowd[0], crowd[2:], crowd[1]]
    assert _labels(example_run, apart, None)[0] == [0.0, 199.0]
    assert _labels(example_run, apart, 199)[1] == _labels(example_run, apart, None)[1]


def test_the_overview_of_prompts_shows_mass_and_mean_cost(example_run: Run):
    drawn, other = (all_prompts(example_run, side, k=3).data[0] for side in ("attacked", "clean"))
    moved = example_run.attacked.trace.prompt_transport
    for (k, *_), z, text in zip(drawn.customdata, drawn.z, drawn.text, strict=True):
        mass = moved.plan[k].sum(0)
        assert z == pytest.approx((moved.plan[k] * moved.cost[k]).sum(0) / mass, abs=1e-4)
        assert f"{100 * mass[1] / moved.mass:.1f} %" in text[1]
    assert (drawn.zmin, drawn.zmax) == (other.zmin, other.zmax)


def with_transport(run: Run, **changes) -> Run:
    moved = replace(run.attacked.trace.prompt_transport, **changes)
    return replace(run, attacked=replace(run.attacked, trace=replace(run.attacked.trace, prompt_transport=moved)))


def test_cells_carry_their_numbers_and_colours_are_the_logarithm_of_t_over_an_even_share(example_run: Run):
    transport = example_run.attacked.trace.prompt_transport
    drawn = plan_heatmap(example_run, "attacked", 2).data[0]
    places, (even, cost, plan) = cells(drawn)
    assert len(set(zip(*places))) == transport.plan[2].size
    assert np.array_equal(cost, transport.cost[2][places])
    assert np.array_equal(plan, transport.plan[2][places])
    assert even == pytest.approx(plan / even_plan(example_run.attacked)[places], rel=1e-5)
    wanted = np.clip(np.log2(np.maximum(even, 1e-9)), -COLOUR_RANGE, COLOUR_RANGE)
    assert np.ravel(drawn.z) == pytest.approx(wanted, abs=1e-5)


def test_the_most_confident_view_is_first_and_the_strip_shows_the_share_it_moves(example_run: Run):
    figure = plan_heatmap(example_run, "attacked", 0)
    order = [int(cell[0]) for cell in figure.data[0].customdata[0]]
    assert np.all(np.diff(example_run.attacked.trace.confidence.entropy[order]) >= 0)
    assert [d[0] for d in figure.data[2].customdata] == order
    moved, trace = moved_shares(example_run.attacked, 0), example_run.attacked.trace
    assert moved @ trace.view_weight == pytest.approx(trace.prompt_transport.mass, abs=1e-6)
    assert figure.data[1].y == pytest.approx(100 * moved[order])


def test_a_product_plan_is_called_flat_and_a_selective_one_leaves_views_out(example_run: Run):
    left = int((moved_shares(example_run.attacked, 0) < 0.05).sum())
    assert left > 0
    assert f"{left} of 64 views are left out" in flatness(example_run, "attacked", 0)
    moved = example_run.attacked.trace.prompt_transport
    even = with_transport(example_run, plan=np.broadcast_to(even_plan(example_run.attacked), moved.plan.shape))
    assert ratio_to_product_plan(even, "attacked", 0) == pytest.approx(1.0)
    assert flatness(even, "attacked", 0).startswith("Flat:")
    assert "λ" in plan_heatmap(even, "attacked", 0).meta["alt"]
    assert moved_shares(make_run(settings=PAPER).clean, 0) == pytest.approx(1.0, abs=1e-3)  # balanced: nothing stays


def test_padding_atoms_are_not_drawn(example_run: Run):
    weight = np.array(example_run.attacked.trace.prompt_transport.column_weight)
    weight[4] = [0.25, 0.25, 0.0, 0.0]
    figure = plan_heatmap(with_transport(example_run, column_weight=weight), "attacked", 4)
    assert len(figure.data[0].z) == 2


def test_without_an_attack_every_figure_has_one_side():
    alone = make_run(attack=False)
    assert [t.name for t in sinkhorn_residuals(alone).data] == ["clean prompts", "clean memory"]
    assert len(tuning_loss(alone).data) == len(prompt_shares(alone, 0).data) == 1
    assert "xaxis2" not in class_costs(alone).layout
    assert "only defended" in attack_steps(alone, [], 0).meta["alt"]
    says, wrong = view_answers(alone, "clean")
    assert wrong is None
    assert "fooled" not in says
