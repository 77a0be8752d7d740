"""The figures of *Inside RITA* as data, against their record (TEST DATA)."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.figures import attack_steps, class_costs, cost_change, entropy_change, plan_matrix, view_answers
from rita_demo.figures.decision.cells import moved_shares, ratio_to_product_plan
from rita_demo.figures.theme import COLOURS
from rita_demo.pipeline import rerun
from rita_demo.records import Exclusions, ImageResult, Run
from rita_demo.settings import PAPER
from tests.figures.synthetic import make_run
from tests.toy_model import ToyEngine


def cells(drawn) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Places (view, row) and values of a heatmap's cells."""
    data = np.asarray(drawn.customdata).reshape(-1, len(drawn.customdata[0][0])).T
    return tuple(data[:2].astype(int)), data[2:]


def even_plan(side: ImageResult) -> np.ndarray:
    """The plan (N, M) that moves the same share of every view to every prompt of a class."""
    trace = side.trace
    return trace.prompt_transport.mass * trace.view_weight[:, None] * trace.prompt_weight[0]


ENDS = ("crab", "motorbike")


def plan(run: Run, k: int, *chosen: int):
    return plan_matrix(run, k, *chosen, order=np.arange(64)[::-1], ends=ENDS)


def test_the_plan_has_its_columns_in_the_given_order_and_the_records_numbers_in_its_cells(example_run: Run):
    figure, moved = plan(example_run, 1), example_run.attacked.trace.prompt_transport
    drawn = figure.data[0]
    places, (cost, ratio) = cells(drawn)
    assert [row[0] for row in drawn.customdata[0]] == list(range(64))[::-1]
    assert cost == pytest.approx(moved.cost[1][places])
    assert ratio == pytest.approx(np.ravel(drawn.z))
    assert ratio == pytest.approx(moved.plan[1][places] / even_plan(example_run.attacked)[places], rel=1e-4)
    assert [note.text for note in figure.layout.annotations] == ["◂ crab", "motorbike ▸"]


def test_a_sentence_stands_beside_its_row_without_the_name_of_its_class(example_run: Run):
    name, sentence = example_run.class_prompts.names[0], example_run.class_prompts.prompts[0][0]
    assert name in sentence
    assert plan(example_run, 0).layout.yaxis.ticktext[0] == sentence.replace(name, "…").rstrip(".")


def test_excluded_items_keep_their_position_and_are_grey(example_run: Run):
    exclusions = Exclusions(views=frozenset({5}), prompts=frozenset({(2, 1)}))
    rescored = rerun.rescore(ToyEngine(), example_run, example_run.settings, exclusions)
    drawn = plan(rescored, 2).data[0]
    grey = {(n, m) for n, m, *_ in np.asarray(drawn.customdata)[np.isnan(drawn.z)].tolist()}
    views, atoms = example_run.attacked.trace.prompt_transport.plan.shape[1:]
    assert grey == {(5, m) for m in range(atoms)} | {(n, 1) for n in range(views)}
    assert "left out" in str(drawn.text)


def test_a_selected_cell_is_framed_and_a_selected_view_is_a_column(example_run: Run):
    (cell,), (column,) = (plan(example_run, 0, *chosen).layout.shapes for chosen in ((5, 1), (5,)))
    assert (cell.y1 - cell.y0, column.y1 - column.y0) == (1, 4)
    assert cell.x0 == column.x0 == 57.5


def test_costs_before_and_after_the_update_are_those_of_both_transports(example_run: Run):
    drawn = {t.name: t for t in cost_change(example_run, k=3).data if t.name}
    assert set(drawn) == {"clean before", "clean after", "attacked before", "attacked after"}
    for k, before, after, _ in drawn["attacked after"].customdata:
        assert before == pytest.approx(example_run.attacked.trace.untuned_prompt_transport.distance[k])
        assert after == pytest.approx(example_run.attacked.trace.prompt_transport.distance[k])
    dots = drawn["clean after"]
    assert [o == 1.0 for o in dots.marker.opacity] == [d[0] == 3 for d in dots.customdata]


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


def with_transport(run: Run, **changes) -> Run:
    moved = replace(run.attacked.trace.prompt_transport, **changes)
    return replace(run, attacked=replace(run.attacked, trace=replace(run.attacked.trace, prompt_transport=moved)))


def test_the_shares_that_move_add_up_to_the_mass_and_a_balanced_plan_leaves_nothing(example_run: Run):
    moved, trace = moved_shares(example_run.attacked, 0), example_run.attacked.trace
    assert moved @ trace.view_weight == pytest.approx(trace.prompt_transport.mass, abs=1e-6)
    assert (moved < 0.05).any()
    even = with_transport(
        example_run, plan=np.broadcast_to(even_plan(example_run.attacked), trace.prompt_transport.plan.shape)
    )
    assert ratio_to_product_plan(even, "attacked", 0) == pytest.approx(1.0)
    assert moved_shares(make_run(settings=PAPER).clean, 0) == pytest.approx(1.0, abs=1e-3)


def test_padding_atoms_are_not_drawn(example_run: Run):
    weight = np.array(example_run.class_prompts.weight)
    weight[4] = [0.5, 0.5, 0.0, 0.0]
    figure = plan(replace(example_run, class_prompts=replace(example_run.class_prompts, weight=weight)), 4)
    assert len(figure.data[0].z) == 2


def test_without_an_attack_every_figure_has_one_side():
    alone = make_run(attack=False)
    assert [t.name for t in class_costs(alone).data if t.name] == ["clean"]
    assert "only defended" in attack_steps(alone, [], 0).meta["alt"]
    says, wrong = view_answers(alone, "clean")
    assert wrong is None
    assert "fooled" not in says
