"""The plan as data, against the record it draws (TEST DATA stories)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.plots import plain, plan_heatmap
from rita_demo.plots.plan import REACH, even_shares, flatness, moved_shares
from rita_demo.records import Story
from rita_demo.settings import PAPER
from tests.plots.synthetic import make_story


def _with_transport(story: Story, **changes) -> Story:
    trace = story.attacked.trace
    trace = replace(trace, prompt=replace(trace.prompt, **changes))
    return replace(story, attacked=replace(story.attacked, trace=trace))


def test_colours_are_the_logarithm_of_t_n_m_over_rho(story: Story):
    transport = story.attacked.trace.prompt
    figure = plan_heatmap(story, "attacked", 2, order="index")
    views, atoms = transport.plan.shape[1:]
    times = transport.plan[2] * views * atoms / transport.mass
    wanted = np.clip(np.log2(np.maximum(times, 1e-9)), -REACH, REACH).T
    assert np.asarray(figure.data[0].z) == pytest.approx(wanted)


def test_cells_carry_view_prompt_share_cost_and_mass(story: Story):
    transport = story.attacked.trace.prompt
    cells = plan_heatmap(story, "attacked", 2).data[0].customdata
    seen = set()
    for row in cells:
        for n, m, _, cost, mass in row:
            assert cost == transport.cost[2, n, m]
            assert mass == transport.plan[2, n, m]
            seen.add((n, m))
    assert len(seen) == transport.plan[2].size


def test_the_surest_view_stands_first_by_entropy(story: Story):
    figure = plan_heatmap(story, "attacked", 0)
    order = [cell[0] for cell in figure.data[0].customdata[0]]
    assert np.all(np.diff(story.attacked.trace.confidence.entropy[order]) >= 0)
    assert [d[0] for d in figure.data[2].customdata] == order


def test_the_strip_shows_which_share_of_each_views_mass_moves(story: Story):
    moved = moved_shares(story.attacked, 0)
    assert moved.mean() == pytest.approx(story.attacked.trace.prompt.mass, abs=1e-6)
    strip = plan_heatmap(story, "attacked", 0, order="index").data[1]
    assert strip.y == pytest.approx(100 * moved)


def test_a_product_plan_is_called_flat_and_the_reason_given(story: Story):
    shape = story.attacked.trace.prompt.plan.shape
    rho = story.attacked.trace.prompt.mass
    even = _with_transport(story, plan=np.full(shape, rho / (shape[1] * shape[2])))
    assert even_shares(even, "attacked", 0) == pytest.approx(1.0)
    assert flatness(even, "attacked", 0).startswith("Flat:")
    assert "λ" in plain(plan_heatmap(even, "attacked", 0))


def test_a_plan_that_chooses_says_how_much_and_how_many_views_are_left_out(story: Story):
    words = flatness(story, "attacked", 0)
    left = int((moved_shares(story.attacked, 0) < 0.05).sum())
    assert f"{left} of 64 views are left out" in words
    assert left > 0


def test_padding_atoms_are_not_drawn(story: Story):
    weight = np.array(story.attacked.trace.prompt.column_weight)
    weight[4] = [0.25, 0.25, 0.0, 0.0]
    figure = plan_heatmap(_with_transport(story, column_weight=weight), "attacked", 4)
    assert len(figure.data[0].z) == 2


def test_the_selected_cell_and_its_view_are_framed(story: Story):
    figure = plan_heatmap(story, "attacked", 0, order="index", selected=(5, 1))
    *pale, strip, cell = figure.layout.shapes
    assert [(s.x0, s.x1) for s in pale] == [(-0.5, 4.5), (5.5, 63.5)]
    assert (strip.x0, strip.x1, strip.yref) == (4.5, 5.5, "y2")
    assert (cell.y0 + cell.y1) / 2 == list(figure.data[0].y)[1]
    assert len(plan_heatmap(story, "attacked", 0, selected=(5, -1)).layout.shapes) == 3
    assert not plan_heatmap(story, "attacked", 0, selected=(500, 1)).layout.shapes


def test_the_scale_is_the_same_for_every_class_and_side(story: Story):
    for side, k in (("clean", 0), ("attacked", 1)):
        heat = plan_heatmap(story, side, k).data[0]
        assert (heat.zmin, heat.zmax) == (-REACH, REACH)


def test_balanced_transport_moves_every_view_whole():
    balanced = make_story(settings=PAPER)
    assert moved_shares(balanced.clean, 0) == pytest.approx(1.0, abs=1e-3)
