"""How much on this picture, on the page: found with progress, stopped, resumed, saved, and refused."""

import base64
import csv
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.pipeline.smallest_budget import SmallestBudget, row_of, smallest_budget_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.arena.budgets import EMPTY, BudgetSection, budgets_html, says
from rita_demo.ui.arena.tab import ArenaTab
from rita_demo.ui.session.session import Session
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, build_tab

METHODS = ["clip", "mta"]
QUICK = {"views": 8, "attack_views": 3, "adaptive.steps": 3, "adaptive.restarts": 1, "tuning_steps": 0, "budget": 2}


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine()


@pytest.fixture(scope="module")
def section(engine: ToyEngine) -> BudgetSection:
    return build_tab(ArenaTab, engine).budgets


@pytest.fixture(scope="module")
def run(engine: ToyEngine) -> Run:
    """An attacked picture: the search is about the clean one."""
    picture = SAMPLES["motorcycle"].load(square="model", side=64)
    return run_picture(engine, picture, NAMES, RECOMMENDED.replace(attack="pgd", **QUICK), label=0)


@pytest.fixture
def visitor(section: BudgetSection, run: Run) -> tuple[str, Session]:
    name = section.context.sessions.open(model="toy")
    session = section.context.sessions.get(name)
    session.show(run)
    return name, session


def test_the_page_finds_what_the_search_finds_and_progress_never_falls(section, visitor, run, engine) -> None:
    name, session = visitor
    assert budgets_html(session) == EMPTY
    updates = list(section.find(name, METHODS))
    wanted = {}
    for method in METHODS:
        answered = run_picture(
            engine, run.clean.picture, NAMES, run.settings.replace(attack="none"), label=0, methods=METHODS
        )
        wanted[method] = run_to_end(smallest_budget_steps(engine, answered, method, 32))
    for method, one in wanted.items():
        found = session.budgets.found[method]
        assert isinstance(found, SmallestBudget)
        assert (found.budget, [p.budget for p in found.probes]) == (one.budget, [p.budget for p in one.probes])
        assert found.breaking.change == one.breaking.change
    shares = [fraction_of(update[section.context.status]) for update in updates if "value=" in status(section, update)]
    assert len(shares) > 10
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1, abs=0.01)
    assert "found after" in updates[-1][section.context.status]
    for one in wanted.values():
        assert f"{one.breaking.change.ssim:.4f}" in budgets_html(session)
        assert f"falls at {one.budget}" in says(session.budgets)
    saved = json.loads(section.on_export(name)[section.export])["address"].partition("base64,")[2]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(saved).decode())))
    assert [row["method"] for row in rows] == METHODS
    for row in rows:
        expected = row_of(wanted[row["method"]], NAMES)
        assert list(row) == list(expected)
        for column in ("budget", "answer", "ssim", "attacks", "forward", "backward", "tried"):
            assert row[column] == str(expected[column])


def status(section: BudgetSection, update: dict[Any, Any]) -> str:
    return str(update.get(section.context.status, ""))


def fraction_of(html: str) -> float:
    """The share of a progress bar."""
    return float(html.partition('value="')[2].partition('"')[0])


def test_what_was_stopped_goes_on_without_the_attacks_that_were_made(section, visitor, engine, monkeypatch) -> None:
    name, session = visitor
    steps = section.find(name, ["clip", "mta"])
    for _ in steps:
        if session.budgets is not None and len(session.budgets.probes.get("clip", ())) == 2:
            break
    steps.close()
    first = session.budgets.probes["clip"]
    stood, broke = session.budgets.bounds("clip")
    assert f"over {stood}" in budgets_html(session)
    assert "so far" in budgets_html(session)
    made, attack_steps = [], engine.attack_steps
    monkeypatch.setattr(engine, "attack_steps", lambda *a: (made.append(a[2].budget), attack_steps(*a))[1])
    list(section.find(name, ["clip", "mta"]))
    tried = [probe.budget for probe in session.budgets.found["clip"].probes]
    assert tried[:2] == [probe.budget for probe in first]
    clip = made[: len(tried) - 2]
    assert clip == tried[2:], "the first two were not made again"
    assert all(stood < budget < broke or broke > 32 for budget in clip)
    assert not session.budgets.probes, "pictures are kept only while they are needed"
    made.clear()
    list(section.find(name, ["clip", "mta"]))
    assert made == []


def test_another_run_ends_the_search_and_hides_its_table(section, visitor, run, engine) -> None:
    name, session = visitor
    steps = section.find(name, ["clip"])
    next(steps)
    picture = replace(run.clean.picture, pixels=np.flip(run.clean.picture.pixels, 1).copy(), key="another")
    session.show(run_picture(engine, picture, NAMES, run.settings, label=0))
    assert "another run is on screen" in list(steps)[-1][section.context.status]
    assert budgets_html(session) == EMPTY
    with pytest.raises(DemoError, match="no result to save"):
        section.on_export(name)


def test_a_defence_that_is_wrong_already_needs_no_change(section, visitor, run) -> None:
    name, session = visitor
    session.show(replace(run, label=2))
    list(section.find(name, ["clip"]))
    assert session.budgets.found["clip"].budget == 0
    assert "CLIP is wrong without an attack" in says(session.budgets)
    assert "0: wrong without an attack" in budgets_html(session)


@pytest.mark.parametrize("methods", [[], None, "clip", 3])
def test_nothing_to_search_is_a_sentence(section, visitor, methods) -> None:
    with pytest.raises(DemoError, match="at least one defence"):
        list(section.find(visitor[0], methods))
