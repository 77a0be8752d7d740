"""The plan as data, against its record (TEST DATA)."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.plots import plan_heatmap
from rita_demo.plots.decision.cells import COLOUR_RANGE, moved_shares, ratio_to_product_plan, view_order
from rita_demo.plots.decision.cost_and_plan_matrix import flatness
from rita_demo.records import Run
from rita_demo.settings import PAPER
from tests.plots.synthetic import make_run


def _with_transport(run: Run, **changes) -> Run:
    trace = run.attacked.trace
    trace = replace(trace, prompt_transport=replace(trace.prompt_transport, **changes))
    return replace(run, attacked=replace(run.attacked, trace=trace))


def test_cells_carry_their_numbers_and_colours_are_the_logarithm_of_t_n_m_over_rho(example_run: Run):
    transport = example_run.attacked.trace.prompt_transport
    cells = plan_heatmap(example_run, "attacked", 2).data[0]
    numbers, even = np.asarray(cells.customdata), transport.plan[2].size / transport.mass
    places = tuple(numbers[..., :2].reshape(-1, 2).astype(int).T)
    assert len(set(zip(*places))) == transport.plan[2].size
    assert np.array_equal(numbers[..., 3].ravel(), transport.cost[2][places])
    assert np.array_equal(numbers[..., 4].ravel(), transport.plan[2][places])
    assert numbers[..., 2] == pytest.approx(numbers[..., 4] * even)
    wanted = np.clip(np.log2(np.maximum(numbers[..., 4] * even, 1e-9)), -COLOUR_RANGE, COLOUR_RANGE)
    assert np.asarray(cells.z) == pytest.approx(wanted, abs=1e-5)


def test_the_most_confident_view_is_first_and_the_strip_shows_the_share_it_moves(example_run: Run):
    figure = plan_heatmap(example_run, "attacked", 0)
    order = [cell[0] for cell in figure.data[0].customdata[0]]
    assert np.all(np.diff(example_run.attacked.trace.confidence.entropy[order]) >= 0)
    assert [d[0] for d in figure.data[2].customdata] == order
    moved = moved_shares(example_run.attacked, 0)
    assert moved.mean() == pytest.approx(example_run.attacked.trace.prompt_transport.mass, abs=1e-6)
    assert figure.data[1].y == pytest.approx(100 * moved[order])


def test_a_product_plan_is_called_flat_and_a_selective_one_leaves_views_out(example_run: Run):
    left = int((moved_shares(example_run.attacked, 0) < 0.05).sum())
    assert left > 0
    assert f"{left} of 64 views are left out" in flatness(example_run, "attacked", 0)
    shape = example_run.attacked.trace.prompt_transport.plan.shape
    rho = example_run.attacked.trace.prompt_transport.mass
    even = _with_transport(example_run, plan=np.full(shape, rho / (shape[1] * shape[2])))
    assert ratio_to_product_plan(even, "attacked", 0) == pytest.approx(1.0)
    assert flatness(even, "attacked", 0).startswith("Flat:")
    assert "λ" in plan_heatmap(even, "attacked", 0).meta["alt"]


def test_padding_atoms_are_not_drawn(example_run: Run):
    weight = np.array(example_run.attacked.trace.prompt_transport.column_weight)
    weight[4] = [0.25, 0.25, 0.0, 0.0]
    figure = plan_heatmap(_with_transport(example_run, column_weight=weight), "attacked", 4)
    assert len(figure.data[0].z) == 2


def test_the_selected_cell_and_its_view_are_framed(example_run: Run):
    view = int(view_order(example_run.attacked)[5])
    figure = plan_heatmap(example_run, "attacked", 0, selected=(view, 1))
    *pale, strip, cell = figure.layout.shapes
    assert [(s.x0, s.x1) for s in pale] == [(-0.5, 4.5), (5.5, 63.5)]
    assert (strip.x0, strip.x1, strip.yref) == (4.5, 5.5, "y2")
    assert (cell.y0 + cell.y1) / 2 == list(figure.data[0].y)[1]
    assert len(plan_heatmap(example_run, "attacked", 0, selected=(5, -1)).layout.shapes) == 3
    assert not plan_heatmap(example_run, "attacked", 0, selected=(500, 1)).layout.shapes


def test_balanced_transport_moves_the_full_mass_of_every_view():
    balanced = make_run(settings=PAPER)
    assert moved_shares(balanced.clean, 0) == pytest.approx(1.0, abs=1e-3)
