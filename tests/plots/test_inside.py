"""The figures of *Inside RITA* as data, against the record they draw (TEST DATA stories)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.plots.inner import (
    before_after,
    context_movement,
    entropy_change,
    sinkhorn_costs,
    sinkhorn_residuals,
    tuning_loss,
)
from rita_demo.plots.inside import cost_matrix, plan_matrix, prompt_shares, view_mass
from rita_demo.plots.names import short
from rita_demo.plots.overview import _labels, all_prompts, all_views
from rita_demo.plots.plan import moved_shares
from rita_demo.plots.theme import COLOURS
from rita_demo.records import Descent, Story
from tests.plots.synthetic import make_story


def without(story: Story, view: int, k: int, atom: int) -> Story:
    """The attacked side with a view and a prompt left out, as a what-if records it."""
    trace = story.attacked.trace
    moved = trace.prompt
    plan, rows, columns = (np.array(a) for a in (moved.plan, moved.row_weight, moved.column_weight))
    plan[:, view], rows[:, view], plan[k, :, atom], columns[k, atom] = 0, 0, 0, 0
    weight = np.array(trace.view_weight)
    weight[view] = 0
    moved = replace(moved, plan=plan, row_weight=rows, column_weight=columns)
    trace = replace(trace, prompt=moved, view_weight=weight)
    return replace(story, attacked=replace(story.attacked, trace=trace))


@pytest.mark.parametrize("draw", [cost_matrix, plan_matrix])
def test_clean_and_attacked_share_scale_columns_and_rows(story: Story, draw):
    one, two = (draw(story, side, 2) for side in ("clean", "attacked"))
    assert (one.data[0].zmin, one.data[0].zmax) == (two.data[0].zmin, two.data[0].zmax)
    places = [[[c[:2] for c in row] for row in f.data[0].customdata] for f in (one, two)]
    assert places[0] == places[1]
    assert list(one.layout.yaxis.ticktext) == list(two.layout.yaxis.ticktext)


def test_cells_of_the_cost_matrix_are_the_records_costs(story: Story):
    cells = cost_matrix(story, "clean", 1).data[0]
    cost = story.clean.trace.prompt.cost[1]
    for row, data in zip(cells.z, cells.customdata, strict=True):
        for z, (n, m, c, _) in zip(row, data, strict=True):
            assert z == pytest.approx(cost[n, m]) == pytest.approx(c)


def test_cells_of_the_plan_are_t_n_m_over_rho(story: Story):
    moved = story.attacked.trace.prompt
    views, atoms = moved.plan.shape[1:]
    for row in plan_matrix(story, "attacked", 3).data[0].customdata:
        for n, m, _, times in row:
            assert times == pytest.approx(moved.plan[3, n, m] * views * atoms / moved.mass)


@pytest.mark.parametrize("draw", [cost_matrix, plan_matrix])
def test_what_is_left_out_keeps_its_place_and_is_grey(story: Story, draw):
    cells = draw(without(story, 5, 2, 1), "attacked", 2).data[0]
    grey = {
        (d[0], d[1])
        for zs, ds in zip(cells.z, cells.customdata, strict=True)
        for z, d in zip(zs, ds, strict=True)
        if z is None
    }
    views, atoms = story.attacked.trace.prompt.plan.shape[1:]
    assert grey == {(5, m) for m in range(atoms)} | {(n, 1) for n in range(views)}
    assert "left out" in str(cells.text)


def test_a_chosen_cell_is_framed_and_a_chosen_view_is_a_column(story: Story):
    left, right, cell = plan_matrix(story, "clean", 0, selected=(5, 1)).layout.shapes
    assert cell.y1 - cell.y0 == 1
    *_, column = plan_matrix(story, "clean", 0, selected=(5, None)).layout.shapes
    assert column.y1 - column.y0 == 4
    assert (left.x0, left.x1, right.x0, right.x1) == (-0.5, cell.x0, cell.x1, 63.5)
    assert left.opacity == right.opacity < 1  # what is not chosen is still there
    assert not plan_matrix(story, "clean", 0, selected=(999, 1)).layout.shapes


def test_mass_of_views_is_the_share_each_moves(story: Story):
    cells = view_mass(story, "attacked", k=3).data[0]
    for zs, ds in zip(cells.z, cells.customdata, strict=True):
        for z, (n, k, share) in zip(zs, ds, strict=True):
            assert z == pytest.approx(share) == pytest.approx(moved_shares(story.attacked, k)[n])


def test_what_the_prompts_add_sums_to_the_cost(story: Story):
    figure = prompt_shares(story, 2)
    for side, bars in zip(("clean", "attacked"), figure.data, strict=True):
        assert bars.name == side
        assert sum(bars.x) == pytest.approx(getattr(story, side).trace.prompt.distance[2], rel=1e-5)


def test_residuals_are_drawn_at_their_iterations_on_a_log_scale(story: Story):
    figure = sinkhorn_residuals(story)
    assert [t.name for t in figure.data] == ["clean prompts", "attacked prompts"]
    assert list(figure.data[0].x) == [1, 20]
    assert list(figure.data[0].y) == pytest.approx([1e-2, 1e-7])
    assert figure.layout.yaxis.type == "log"


def test_the_update_shows_loss_movement_and_costs_of_both_sides(story: Story):
    assert [list(t.y) for t in tuning_loss(story).data] == [[1.5, 1.4], [1.5, 1.4]]
    bars = context_movement(story)
    assert [t.name for t in bars.data] == ["clean", "attacked"]
    for side, bar in zip((story.clean, story.attacked), bars.data, strict=True):
        assert list(bar.y) == pytest.approx(side.trace.tuning.movement)
        assert list(bar.x) == list(range(1, len(bar.y) + 1))  # as in the menus
    assert "L2" in bars.layout.yaxis.title.text
    drawn = {t.name: t for t in before_after(story, k=5).data if t.name}
    assert set(drawn) == {"clean before", "clean after", "attacked before", "attacked after"}
    for k, before, after, _ in drawn["attacked after"].customdata:
        assert before == pytest.approx(story.attacked.trace.prompt_before.distance[k])
        assert after == pytest.approx(story.attacked.trace.prompt.distance[k])


def way(*costs: float) -> Descent:
    count = len(costs)
    return Descent(
        np.arange(count), np.geomspace(0.1, 0.01, count), np.array(costs),
        np.geomspace(1e-1, 1e-7, count), np.zeros((count, 4)),
    )  # fmt: skip


def test_every_iterations_cost_is_drawn_and_an_empty_way_is_not(story: Story):
    ways = {"clean prompts": way(0.8, 0.7, 0.75), "attacked prompts": way(0.9, 0.85)}
    figure = sinkhorn_costs(story, 2, ways | {"clean memory": way()})
    assert [t.name for t in figure.data] == ["clean prompts", "attacked prompts"]
    assert list(figure.data[0].y) == [0.8, 0.7, 0.75]
    assert list(figure.data[0].x) == [0, 1, 2]
    assert [d[0] for d in figure.data[1].customdata] == pytest.approx([0.1, 0.01])
    assert "cosine distance" in figure.layout.yaxis.title.text
    assert "from 0.9000 to 0.8500 in 1 steps" in figure.layout.meta["alt"]


def test_entropies_before_and_after_are_drawn_per_view_and_the_others_fade(story: Story):
    rng = np.random.default_rng(0)
    changes = {s: (rng.random(64), rng.random(64)) for s in ("clean", "attacked")}
    drawn = {t.name: t for t in entropy_change(story, changes, view=7).data if t.name}
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
def test_the_overview_holds_every_class_and_view(story: Story, side: str):
    cells = all_views(story, side, k=3, view=5).data[0]
    codes, z = np.asarray(cells.customdata), np.asarray(cells.z)
    assert sorted(codes.ravel()) == list(range(len(story.bank.names) * 64))
    for (i, j), code in np.ndenumerate(codes):
        k, n = divmod(int(code), 64)
        assert z[i, j] == pytest.approx(moved_shares(getattr(story, side), k)[n], abs=1e-4)
    totals = story.attacked.trace.total[codes[:, 0] // 64]
    assert np.all(np.diff(totals) >= 0)


def test_the_overview_names_its_rows_and_marks_the_true_and_the_attacks_class(story: Story):
    names, fooled = story.bank.names, story.attacked.verdicts["clip"].label
    order = np.argsort(story.attacked.trace.total, kind="stable").tolist()
    axis = all_views(story, "clean", k=order[0]).layout.yaxis
    assert list(axis.tickvals) == list(range(len(names)))
    for row, c in enumerate(order):
        assert short(names[c], 12) in axis.ticktext[row]
    assert axis.ticktext[order.index(story.label)].startswith("true ▸")
    assert fooled != story.label
    assert axis.ticktext[order.index(fooled)].startswith("attack ▸")


def test_where_rows_are_many_only_those_looked_for_are_named_and_none_touches_another(story: Story):
    label, fooled = story.label, story.attacked.verdicts["clip"].label
    crowd = np.r_[
        label, fooled, np.full(198, next(k for k in range(16) if k not in (label, fooled)))
    ]
    places, named = _labels(story, crowd, None)
    assert places == [0.5]
    assert [line.split(" ▸ ")[0] for line in named[0].split("<br>")] == ["true", "attack"]
    apart = np.r_[crowd[0], crowd[2:], crowd[1]]
    assert _labels(story, apart, None)[0] == [0.0, 199.0]
    assert _labels(story, apart, 199)[1] == _labels(story, apart, None)[1]


def test_the_overview_of_prompts_shows_mass_and_mean_cost(story: Story):
    figure = all_prompts(story, "attacked", k=3)
    cells, moved = figure.data[0], story.attacked.trace.prompt
    z, classes = np.asarray(cells.z), np.asarray(cells.customdata)[:, 0]
    for i, k in enumerate(classes):
        mass = moved.plan[k].sum(0)
        assert z[i] == pytest.approx((moved.plan[k] * moved.cost[k]).sum(0) / mass, abs=1e-4)
        assert f"{100 * mass[1] / moved.mass:.1f} %" in cells.text[i][1]
    other = all_prompts(story, "clean").data[0]
    assert (cells.zmin, cells.zmax) == (other.zmin, other.zmax)


def test_what_is_not_chosen_fades_and_stays(story: Story):
    bars = prompt_shares(story, 2, atom=1).data[0]
    chosen = [d[0] == 1 for d in bars.customdata]
    assert [o == 1.0 for o in bars.marker.opacity] == chosen
    dots = next(t for t in before_after(story, k=5).data if t.name == "clean after")
    assert [o == 1.0 for o in dots.marker.opacity] == [d[0] == 5 for d in dots.customdata]


def test_a_picture_that_was_only_defended_has_one_line_per_figure():
    alone = make_story(attack=False)
    assert len(sinkhorn_residuals(alone).data) == 1
    assert len(tuning_loss(alone).data) == 1
    assert len(prompt_shares(alone, 0).data) == 1
