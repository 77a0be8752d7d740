"""The arena: its cells are those of single runs, and a column that fails stops no other."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rita_demo.data.samples import SAMPLES
from rita_demo.defences.contract import verdict_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.arena import (
    COLUMNS,
    STATIC,
    TOWERS,
    ArenaTable,
    TowerTable,
    arena_steps,
    attacker_of,
    cell_settings,
    masked,
    tower_comparison,
    tower_sentence,
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


@pytest.mark.parametrize("seconds", [0.5, 99.0])
def test_cheap_attacks_come_first_as_the_defences_say(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setitem(DEFENCES, "csr", replace(DEFENCES["csr"], attack_seconds=seconds))
    run = motorcycle(ToyEngine())
    said = [at.sentence for at in arena_steps([ToyEngine()], run, ["clip", "csr", "rita"])]
    order = list(dict.fromkeys(sentence for sentence in said if "knows" in sentence))
    known = [sentence.rpartition(" knows ")[2] for sentence in order]
    assert [known.index("CLIP"), known.index("CSR"), known.index("RITA")] == ([1, 0, 3] if seconds < 1 else [0, 3, 2])


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


def test_sentences_count_who_stands_compare_the_towers_and_flag_a_weak_attacker(engine: ToyEngine) -> None:
    run, methods = motorcycle(engine), ("clip", "mta")
    stands = {("clip", c): RIGHT if c == "none" else WRONG for c in COLUMNS} | {("mta", c): RIGHT for c in STATIC}
    assert tower_sentence(tower(run, stands), methods) == (
        "1 of 2 defences stands against all attackers who do not know them; so far none of 1 stand against one who does."
    )
    assert tower_sentence(tower(run, {(name, c): RIGHT for name in methods for c in COLUMNS}), methods) == (
        "2 of 2 defences stand against all attackers who do not know them; 2 of 2 stand against one who does."
    )
    assert tower_sentence(tower(run, {}), methods) == ""
    plain = {(name, c): RIGHT if c == "none" else WRONG for name in methods for c in COLUMNS}
    robust = {(name, c): RIGHT for name in methods for c in COLUMNS}
    robust |= {("clip", "none"): WRONG, ("clip", "adaptive"): WRONG}
    table = ArenaTable(run, methods, dict(zip(TOWERS, (tower(run, plain), tower(run, robust)))))
    assert tower_comparison(table) == (
        "Training against attacks costs 1 right answer here: without an attack 1 instead of 2 of 2; against attackers "
        "who do not know the row 6 instead of 0 of 6; against one who knows it 1 instead of 0 of 2 are right.",
        "Embedded model: CLIP withstands 0 of 4 attacks; the 1 defence measured withstands no more. "
        "Robust model: CLIP is wrong without an attack already.",
    )
    able = tower(run, robust | {("clip", "none"): RIGHT})
    assert tower_comparison(replace(table, towers=dict(zip(TOWERS, (tower(run, plain), able)))))[1].endswith(
        "Robust model: CLIP withstands 3 of 4 attacks; the 1 defence measured withstands more."
    )
    first = [{at: cell for at, cell in cells.items() if at[1] in ("none", "pgd")} for cells in (plain, robust)]
    begun = replace(table, towers=dict(zip(TOWERS, (tower(run, cells) for cells in first))))
    assert "; so far, under PGD, 2 instead of 0 of 2 are right." in tower_comparison(begun)[0]
    assert tower_comparison(replace(table, towers={"embedded": tower(run, plain)})) == ()
    wrong = {name: tower(run, dict.fromkeys(plain, WRONG)) for name in table.towers}
    assert tower_comparison(replace(table, towers=wrong)) == (
        "Every answer is wrong without an attack already: another picture shows more.",
    )

    lost = {("clip", c): WRONG for c in COLUMNS} | {("mta", c): RIGHT for c in COLUMNS}
    assert tower_sentence(tower(run, lost), methods) == (
        "1 of 1 defences stands against all attackers who do not know them; 1 of 1 stands against one who does. "
        "Not counted: 1 that is wrong without an attack."
    )
    assert tower_sentence(wrong["embedded"], methods) == "Every defence is wrong without an attack already."
    weak = {(name, c): RIGHT for name in methods for c in COLUMNS} | {("mta", "pgd"): WRONG}
    assert tower_sentence(tower(run, weak), methods) == (
        "1 of 2 defences stands against all attackers who do not know them; 1 of 1 stands against one who does. "
        "Too weak to count (†): the attacker who knows MTA."
    )
    unequal = replace(table, towers=dict(zip(TOWERS, (tower(run, plain), tower(run, weak)))))
    assert "against one who knows it 1 instead of 0 of 1 are right" in tower_comparison(unequal)[0]

    spared = {("mta", "adaptive"): RIGHT, ("mta", "pgd"): WRONG}
    assert masked(tower(run, spared), "mta")
    assert not masked(tower(run, spared | {("mta", "pgd"): RIGHT}), "mta")
    assert not masked(tower(run, spared | {("mta", "adaptive"): WRONG}), "mta")
