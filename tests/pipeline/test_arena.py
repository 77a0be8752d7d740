"""The arena on the embedded model: its cells are those of single runs, and a column that fails stops no other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rita_demo.data.samples import SAMPLES
from rita_demo.defences.contract import verdict_of
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.arena import COLUMNS, arena_methods, arena_sentence, arena_steps, masked, transfer_rows
from rita_demo.pipeline.run import run_picture
from rita_demo.process.generators import run_to_end
from rita_demo.records import Verdict
from rita_demo.settings import RECOMMENDED

NAMES = ("cup", "crab", "cat")  # too few for AutoAttack
METHODS = ("clip", "ensemble", "csr", "rita")
SHORT = {"adaptive.steps": 3, "adaptive.restarts": 1, "attack_views": 4}
QUICK = RECOMMENDED.replace(views=8, steps=3, square="model", **SHORT)
RIGHT, WRONG = verdict_of(torch.tensor([0.9, 0.1])), verdict_of(torch.tensor([0.2, 0.8]))


def test_every_cell_is_that_of_a_single_run(engine: Engine) -> None:
    coffee = SAMPLES["coffee"].load(square="model", side=engine.info.side)
    run = run_picture(engine, coffee, NAMES, QUICK, label=0)
    steps = list(arena_steps(engine, run, METHODS))
    cells = steps[-1].cells
    assert set(cells) == {(name, column) for name in METHODS for column in COLUMNS}
    assert [at.fraction for at in steps] == sorted(at.fraction for at in steps)
    assert len({len(at.cells) for at in steps}) > 5, "it fills step by step"
    for name in METHODS:
        assert "at least 4 classes" in str(cells[name, "autoattack"])
        static = run_picture(engine, coffee, NAMES, QUICK, label=0, methods=METHODS)
        knows = QUICK.replace(attack="adaptive", **{"adaptive.against": name})
        adaptive = run_picture(engine, coffee, NAMES, knows, label=0, methods=METHODS)
        expected = {
            "none": static.clean.verdicts[name],
            "pgd": static.attacked.verdicts[name],
            "adaptive": adaptive.attacked.verdicts[name],
        }
        for other in transfer_rows(name, METHODS):
            assert_same(cells[other, "transfer"], adaptive.attacked.verdicts[other])
        for column, verdict in expected.items():
            assert_same(cells[name, column], verdict)


def assert_same(one: Verdict | str, other: Verdict) -> None:
    assert isinstance(one, Verdict)
    assert one.label == other.label
    np.testing.assert_allclose(one.probability, other.probability, atol=1e-5)


def test_known_cells_are_not_computed_again(engine: Engine) -> None:
    coffee = SAMPLES["coffee"].load(square="model", side=engine.info.side)
    run = run_picture(engine, coffee, NAMES, QUICK, label=0)
    first = run_to_end(arena_steps(engine, run, ["clip"]))
    again = list(arena_steps(engine, run, ["clip", "csr"], first))
    assert {name for name, _ in again[-1].cells} == {"clip", "csr"}
    assert list(arena_steps(engine, run, ["clip"], first)) == []


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({}, ""),
        (
            {("clip", c): WRONG for c in COLUMNS} | {("mta", c): RIGHT for c in ("pgd", "transfer", "autoattack")},
            "1 of 2 defences stands against attackers who do not know them; none of 1 stand against one who does.",
        ),
        (
            {("clip", c): RIGHT for c in COLUMNS} | {("mta", c): RIGHT for c in COLUMNS},
            "2 of 2 defences stand against attackers who do not know them; 2 of 2 stand against one who does.",
        ),
    ],
)
def test_the_sentence_counts_who_stands(cells: dict, sentence: str) -> None:
    assert arena_sentence(cells, ("clip", "mta"), 0) == sentence


def test_a_defence_that_only_its_own_attacker_spares_is_flagged() -> None:
    spared = {("mta", "adaptive"): RIGHT, ("mta", "pgd"): WRONG}
    assert masked(spared, "mta", 0)
    assert not masked(spared | {("mta", "pgd"): RIGHT}, "mta", 0)
    assert not masked(spared | {("mta", "adaptive"): WRONG}, "mta", 0)
    assert "mta" in arena_methods()
    assert "rita_prompts" not in arena_methods()
