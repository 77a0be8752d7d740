"""The arena: its cells are those of single runs, and a column that fails stops no other."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo.data.samples import SAMPLES
from rita_demo.defences.contract import verdict_of
from rita_demo.pipeline.arena import (
    COLUMNS,
    TOWERS,
    TowerTable,
    arena_steps,
    attacker_of,
    cell_settings,
    masked,
    standing,
)
from rita_demo.pipeline.run import run_picture
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from tests.toy_model import ToyEngine

NAMES = ("motorbike", "crab", "cat")  # too few for AutoAttack
METHODS = ("clip", "ensemble", "csr", "rita")
SHORT = {"adaptive.steps": 2, "adaptive.restarts": 1, "attack_views": 2}
QUICK = RECOMMENDED.replace(views=8, steps=3, square="model", **SHORT)
RIGHT, WRONG = verdict_of(torch.tensor([0.9, 0.1])), verdict_of(torch.tensor([0.2, 0.8]))


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine(name=TOWERS[0])


@pytest.fixture(scope="module")
def robust() -> ToyEngine:
    """Its crops are fooled less."""
    return ToyEngine(name=TOWERS[1], spread=0.1)


def motorcycle(engine: ToyEngine, **options: object) -> Run:
    picture = SAMPLES["motorcycle"].load(square="model", side=engine.info.side)
    return run_picture(engine, picture, NAMES, QUICK, **({"label": 0, "methods": METHODS} | options))


@pytest.mark.slow
def test_every_cell_is_that_of_a_single_run_in_both_towers(engine: ToyEngine, robust: ToyEngine) -> None:
    run = motorcycle(engine)
    steps = list(arena_steps([engine, robust], run, METHODS))
    table = steps[-1].table
    assert tuple(table.towers) == TOWERS
    assert [at.fraction for at in steps] == sorted(at.fraction for at in steps)
    assert steps[-1].fraction == pytest.approx(1)
    assert len({id(at.table) for at in steps}) > 10, "it fills step by step"
    for own in (engine, robust):
        tower = table.towers[own.info.name]
        assert set(tower.cells) == {(name, column) for name in METHODS for column in COLUMNS}
        for name in METHODS:
            assert "at least 4 classes" in str(tower.cells[name, "autoattack"])
        for name, column in (("csr", "none"), ("csr", "pgd"), ("csr", "transfer"), ("rita", "adaptive")):
            settings = cell_settings(run.settings, name, column)
            again = run_picture(own, run.clean.picture, NAMES, settings, label=0, methods=METHODS)
            one, other = tower.cells[name, column], again.attacked.verdicts[name]
            assert one.label == other.label
            np.testing.assert_allclose(one.probability, other.probability, atol=1e-5)


def test_an_attack_is_made_once_for_all_its_cells_and_known_cells_not_again(engine: ToyEngine) -> None:
    assert attacker_of("mta", "transfer") == attacker_of("clip", "transfer") == attacker_of("ensemble", "adaptive")
    assert attacker_of("ensemble", "transfer") == attacker_of("rita", "adaptive") == ("adaptive", "rita")
    assert attacker_of("mta", "pgd") == ("pgd", "")
    run = motorcycle(engine)
    first = run_to_end(arena_steps([engine], run, ["clip"]))
    again = list(arena_steps([engine], run, ["clip", "csr"], first))[-1].table.towers["embedded"]
    assert {name for name, _ in again.cells} == {"clip", "csr"}
    assert again.cells["clip", "pgd"] is first.towers["embedded"].cells["clip", "pgd"]
    assert list(arena_steps([engine], run, ["clip"], first)) == []


def test_a_table_fits_the_runs_that_it_opens_and_no_others(engine: ToyEngine) -> None:
    run = motorcycle(engine)
    table = run_to_end(arena_steps([engine], run, []))
    assert table.fits(run)
    assert table.fits(replace(run, settings=cell_settings(run.settings, "mta", "adaptive")))
    other_settings, another_memory = {"settings": run.settings.replace(budget=1)}, {"cache_before": run.cache_after}
    for changes in (other_settings, {"label": 1}, another_memory):
        assert not table.fits(replace(run, **changes)), changes
    assert not table.fits(None)


def test_without_a_true_class_each_tower_takes_its_own_answer(engine: ToyEngine, robust: ToyEngine) -> None:
    table = run_to_end(arena_steps([engine, robust], motorcycle(engine, label=None), ["clip"]))
    for tower in table.towers.values():
        assert tower.right["clip", "none"]


def tower(run: Run, cells: dict) -> TowerTable:
    return TowerTable(run.backbone, 0, run.cache_before, cells)


def test_who_stands_is_counted_without_those_wrong_before_and_cells_of_a_weak_attacker(engine: ToyEngine) -> None:
    run, methods = motorcycle(engine), ("clip", "mta")
    right = {(name, c): RIGHT for name in methods for c in COLUMNS}
    assert standing(tower(run, right), methods, "adaptive") == (2, 2)
    assert standing(tower(run, right | {("clip", "pgd"): WRONG}), methods, "pgd") == (1, 2)
    assert standing(tower(run, {}), methods, "pgd") == (0, 0)
    assert standing(tower(run, {("mta", "pgd"): RIGHT, ("clip", "pgd"): "No answer."}), methods, "pgd") == (1, 1)
    lost = tower(run, right | {("clip", c): WRONG for c in COLUMNS})
    assert standing(lost, methods, "none") == (1, 2)
    assert standing(lost, methods, "pgd") == (1, 1), "wrong without an attack: not counted"
    weak = tower(run, right | {("mta", "pgd"): WRONG})
    assert standing(weak, methods, "adaptive") == (1, 1), "its attacker is too weak: not counted"
    assert standing(weak, methods, "pgd") == (1, 2)

    spared = {("mta", "adaptive"): RIGHT, ("mta", "pgd"): WRONG}
    assert masked(tower(run, spared), "mta")
    assert not masked(tower(run, spared | {("mta", "pgd"): RIGHT}), "mta")
    assert not masked(tower(run, spared | {("mta", "adaptive"): WRONG}), "mta")


def test_only_the_cells_that_are_asked_are_measured_and_rows_that_are_there_stay(engine: ToyEngine) -> None:
    run = motorcycle(engine)
    one = run_to_end(arena_steps([engine], run, ["mta"], None, ["pgd"]))
    assert set(one.towers["embedded"].cells) == {("mta", "pgd")}
    steps = list(arena_steps([engine], run, ["clip"], replace(one, stored=True), ["none", "pgd"]))
    table = steps[-1].table
    assert table.methods == ("clip", "mta")
    assert table.stored, "what a stored table has is never called new"
    assert set(table.towers["embedded"].cells) == {("mta", "pgd"), ("clip", "none"), ("clip", "pgd")}
    assert {cell for at in steps for cell in at.cells} == {("embedded", "clip", c) for c in ("none", "pgd")}
    assert not steps[-1].cells
