"""A defence with a memory of its own keeps it over a stream, beside RITA's, and a run that was cut off goes on with it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture
from rita_demo.settings import RECOMMENDED
from tests.evaluation.conftest import cut

NAMES = ("cat", "dog", "cup")
QUICK = RECOMMENDED.replace(views=4, tuning_steps=0, prompts=1, attack="fgsm", square="model")


def test_a_stream_of_tda_that_was_cut_off_goes_on_with_its_memory(run_evaluate, command_line, rows_of, tmp_path):
    more = ["--methods", "clip,tda", "--attack", "none,fgsm", "--protocols", "reset,stream", "--set", "tda.alpha=30"]
    whole = run_evaluate(tmp_path / "whole", *more)
    part = Path(shutil.copytree(whole, tmp_path / "part"))
    cut(part, 5, "method = 'tda'")
    assert cli.main(command_line(part, *more)) == 0
    assert rows_of(part) == rows_of(whole), "the features that entered too"
    entered: dict[str, list[int]] = {}
    for rows in rows_of(whole).values():
        if rows[0]["method"] == "tda":
            assert len(rows) == 12
            entered.setdefault(rows[0]["protocol"], []).append(sum(len(row["entered"]) for row in rows))
    assert entered["reset"] == [0, 0], "without an attack and with one"
    assert len(entered["stream"]) == 2
    assert min(entered["stream"]) >= 3


@pytest.fixture
def pictures() -> list[Picture]:
    return [Picture(np.random.default_rng(n).integers(0, 256, (64, 64, 3)).astype(np.uint8), str(n)) for n in range(3)]


def test_the_memory_of_tda_travels_with_ritas_and_takes_the_delivered_picture_once(engine: Engine, pictures) -> None:
    first = run_picture(engine, pictures[0], NAMES, QUICK, methods=["tda"])
    assert not first.cache_before.others
    held = first.cache_after.others["tda"]
    assert (held.pictures, held.count.sum() >= 1) == (1, True)
    views = first.attacked.encoded_views.features[0]
    assert np.abs(held.features - views).sum(-1).min() < 1e-5, "the attacked picture, not the clean one"
    again = run_picture(engine, pictures[1], NAMES, QUICK, methods=["tda"], cache=first.cache_after)
    second = again.cache_after.others["tda"]
    assert second.pictures == 2
    assert held.count.sum() < second.count.sum()
    assert held.pictures == 1, "a memory is a value"
    without = run_picture(engine, pictures[2], NAMES, QUICK, cache=again.cache_after)
    kept = without.cache_after.others["tda"]
    assert (kept.pictures, kept.features.tolist()) == (2, second.features.tolist()), (
        "it did not answer: nothing entered"
    )
    other = run_picture(engine, pictures[2], NAMES[:2], QUICK, methods=["tda"], cache=again.cache_after)
    assert other.cache_after.others["tda"].pictures == 1, "other classes, another memory"
    off = run_picture(engine, pictures[2], NAMES, QUICK.replace(protocol="off"), methods=["tda"])
    assert "tda" not in off.attacked.verdicts
    assert not off.cache_after.others


def test_an_attacker_who_knows_tda_sees_the_visitors_memory(engine: Engine, pictures) -> None:
    settings = QUICK.replace(attack="adaptive", **{"adaptive.against": "tda", "adaptive.steps": 3, "tda.alpha": 100.0})
    before = run_picture(engine, pictures[0], NAMES, QUICK.replace(attack="none"), methods=["tda"]).cache_after
    found = [
        run_picture(engine, pictures[1], NAMES, settings, methods=["tda"], cache=cache).attack
        for cache in (None, before)
    ]
    assert not np.array_equal(found[0].pixels, found[1].pixels)
