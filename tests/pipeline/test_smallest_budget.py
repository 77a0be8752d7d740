"""The smallest budget that breaks a defence: a bisection that is warm-started, counted, and goes on where it was stopped."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.arena import cell_settings
from rita_demo.pipeline.run import run_picture
from rita_demo.pipeline.smallest_budget import smallest_budget_steps
from rita_demo.process.generators import Steps, run_to_end
from rita_demo.records import Run
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED
from tests.toy_model import ToyEngine

NAMES = ("motorbike", "crab", "cat")
STEPS, VIEWS = 5, 3
QUICK = {"views": 8, "attack_views": VIEWS, "adaptive.steps": STEPS, "adaptive.restarts": 1, "tuning_steps": 0}


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine()


@pytest.fixture(scope="module")
def run(engine: ToyEngine) -> Run:
    picture = SAMPLES["motorcycle"].load(square="model", side=engine.info.side)
    settings = RECOMMENDED.replace(attack="none", square="model", **QUICK)
    return run_picture(engine, picture, NAMES, settings, label=0, methods=["clip", "ensemble"])


@pytest.mark.parametrize(("method", "first"), [("ensemble", 1), ("clip", 20)])
def test_it_stands_one_level_below_and_falls_at_the_smallest_wherever_it_begins(engine, run, method, first) -> None:
    begun = replace(run, settings=run.settings.replace(budget=first))
    found = run_to_end(smallest_budget_steps(engine, begun, method, 32))
    tried = {one.budget: one.broken for one in found.probes}
    assert found.budget
    assert tried[found.budget] is True
    assert found.budget == 1 or tried[found.budget - 1] is False
    assert len(found.probes) == len(tried) <= 11
    assert found.probes[0].budget == first
    for one in found.probes:
        moved = np.abs(one.pixels.astype(int) - run.clean.picture.pixels)
        assert moved.max() == one.linf <= one.budget
        assert one.broken == (one.answer != 0)
    assert found.breaking is not None


def test_a_defence_that_is_wrong_already_and_one_that_stands(engine, run) -> None:
    assert run_to_end(smallest_budget_steps(engine, replace(run, label=2), "clip", 8)).budget == 0
    with pytest.raises(SettingError, match="has no answer"):
        run_to_end(smallest_budget_steps(engine, run, "mta", 8))
    with pytest.raises(SettingError):
        run_to_end(smallest_budget_steps(engine, run, "clip", 1000))


def test_the_passes_are_those_that_the_tower_makes(engine, run, monkeypatch) -> None:
    seen, inside = [], engine._backbone._features
    monkeypatch.setattr(engine._backbone, "_features", lambda *a: (seen.append(len(a[1])), inside(*a))[1])
    before = engine.passes
    settings = cell_settings(run.settings, "ensemble", "adaptive").replace(budget=4)
    engine.attack(run.clean.picture, run.class_prompts, settings, 0)
    after = engine.passes
    assert after.forward - before.forward == sum(seen)
    assert after.backward - before.backward == STEPS * VIEWS, "one gradient per step"


def test_an_attack_goes_on_from_the_start_that_it_is_given(engine, run) -> None:
    settings = cell_settings(run.settings, "clip", "adaptive").replace(budget=2, **{"adaptive.steps": 1})
    asked = (run.clean.picture, run.class_prompts, settings, 0)
    far = np.clip(run.clean.picture.pixels.astype(int) + 30, 0, 255).astype(np.uint8)
    plain, warm = engine.attack(*asked), Steps(engine.attack_steps(*asked, start=far))
    for _ in warm:
        pass
    assert not np.array_equal(plain.pixels, warm.value.pixels)
    assert warm.value.linf <= 2, "the start is moved into the budget"


def test_the_command_prints_a_row_per_defence(tmp_path: Path, tiny_model_dir: Path, capsys) -> None:
    file = tmp_path / "photo.png"
    file.write_bytes(png_bytes(np.random.default_rng(0).integers(0, 256, (70, 70, 3)).astype(np.uint8)))
    words = ["--set", "views=4", "--set", "adaptive.steps=2", "--set", "attack_views=2", "--most", "2"]
    words += ["--backbone", f"local-dir:{tiny_model_dir}", "--methods", "clip,ensemble"]
    words += ["--csv", str(tmp_path / "t.csv")]
    assert cli.main(["budget", str(file), "--classes", "cup,crab,cat", *words]) == 0
    printed = capsys.readouterr().out
    assert "backward" in printed
    assert "\nensemble " in printed
    assert (tmp_path / "t.csv").read_text().startswith("method,budget,answer,linf,l2,attacks,")
    assert cli.main(["budget", str(file), "--classes", "cup,crab,cat", *words, "--out", "kept"]) == 2
    assert "The smallest strength keeps no attacks (--out, out=): write its table" in capsys.readouterr().err
