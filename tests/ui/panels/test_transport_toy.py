"""The solver that the browser runs against the engine's, and the value of the small plan."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser

from rita_demo.method.sinkhorn import transport
from rita_demo.records import Run
from rita_demo.ui.panels.transport_toy import MADE_UP, SOLVER, toy_value
from rita_demo.ui.session.session import Session


@pytest.mark.slow
@pytest.mark.parametrize("mass", [1, 0.7, 0.35])
@pytest.mark.parametrize("entropy_weight", [0.001, 0.003, 0.01, 0.1, 1, 10])
def test_the_browser_agrees_with_the_engine_to_four_digits(
    browser: Browser, entropy_weight: float, mass: float
) -> None:
    rng = np.random.default_rng(7)
    spread = np.array([0.02, 0.2, 1.0] * 6)[:, None, None]
    cost = 0.7 + spread * rng.uniform(-0.5, 0.5, (18, 3, 2))
    rows, columns = rng.dirichlet([3] * 3), rng.dirichlet([3] * 2)
    page = browser.new_page()
    page.add_script_tag(content=SOLVER)
    asked = [cost.tolist(), rows.tolist(), columns.tolist(), entropy_weight, mass]
    found = page.evaluate("([costs, a, b, l, mass]) => costs.map((c) => smallSinkhorn(c, a, b, l, mass))", asked)
    page.close()
    options = {"entropy_weight": entropy_weight, "transported_mass": mass}
    engine = transport(torch.tensor(cost), torch.tensor(rows), torch.tensor(columns), **options)
    assert [one["cost"] for one in found] == pytest.approx(engine.distance.tolist(), abs=5e-5)
    assert np.array([one["plan"] for one in found]) == pytest.approx(engine.plan.numpy(), abs=5e-5)


def test_the_value_is_of_the_picture_and_side_on_screen(session: Session, example_run: Run) -> None:
    assert toy_value(Session()) is None
    attacked = toy_value(session)
    session.select(side="clean")
    clean = toy_value(session)
    assert attacked is not None
    assert clean is not None
    assert attacked["classes"][0] == example_run.class_prompts.names[example_run.label]
    assert attacked["lambda"] == example_run.settings.entropy_weight
    assert "attacked picture" in attacked["about"]
    assert "clean picture" in clean["about"]
    assert attacked["all"] == {"count": 64, "answer": "motorbike", "why": ": RITA moves only their cheapest 35 %"}
    session.show(replace(example_run, settings=example_run.settings.replace(transported_mass=1.0)))
    whole = toy_value(session)
    assert whole is not None
    assert whole["all"]["why"] == ""
    assert attacked["hidden"] != clean["hidden"]


def test_where_rita_is_wrong_the_true_class_is_compared_with_its_answer(failed_run: Run) -> None:
    session = Session()
    session.show(failed_run)
    value, names = toy_value(session), failed_run.class_prompts.names
    assert value is not None
    assert value["classes"] == ["motorbike", names[failed_run.attacked.verdicts["rita"].label]]


def test_in_the_made_up_example_the_plan_decides() -> None:
    first, second = MADE_UP["sentences"]
    at, sentences = (np.array([one["at"] for one in part]) for part in (MADE_UP["crops"], [*first, *second]))
    cost = torch.tensor(((at[:, None] - sentences) ** 2).sum(-1) / 2).reshape(3, 2, 2).transpose(0, 1)
    moved = transport(cost, torch.ones(3), torch.ones(2), entropy_weight=MADE_UP["lambda"])
    assert moved.distance[0] < moved.distance[1]
    assert cost[0].mean() > cost[1].mean()
