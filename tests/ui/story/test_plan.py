"""The plan of three crops: its numbers are the run's, and the browser's sums are those of the engine's transport."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser

from rita_demo.figures.analysis.crop_field import rival_class
from rita_demo.method.sinkhorn import transport
from rita_demo.records import Run
from rita_demo.ui.story import plan
from rita_demo.ui.story.plan import CROPS, small_plan
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run

RUNS = ("example_run", "failed_run", "defend_only_run")
SCRIPT = Path(plan.__file__).with_suffix(".js").read_text(encoding="utf-8")
CORE = Path(plan.__file__).with_name("core.js").read_text(encoding="utf-8")


def browser_value(run: Run) -> dict[str, Any]:
    """The value as the browser reads it."""
    found = json.loads(json.dumps(small_plan(run)))
    assert found is not None
    return found


def in_browser(browser: Browser, costs: list[Any]) -> list[Any]:
    """The plans of the page's own solver, and their sums."""
    helpers = [line for line in CORE.splitlines() if line.startswith(("const inOrder", "const sum"))]
    solver = SCRIPT[SCRIPT.index("function cheapest") : SCRIPT.index("// Plans and prices")]
    page = browser.new_page()
    found = page.evaluate(f"(costs) => {{ {' '.join(helpers)} {solver}; return costs.map(cheapest); }}", costs)
    page.close()
    return list(found)


@pytest.mark.parametrize("name", RUNS)
def test_the_costs_are_the_distances_of_three_crops_and_two_sentences_of_both_classes(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    value, trace = browser_value(run), run.attacked.trace
    assert len(value["views"]) == len(value["at"]) == CROPS
    for c, k in enumerate((run.label, rival_class(run))):
        for text, column in zip(value["sentences"][c], np.transpose(value["cost"][c]), strict=True):
            m = next(m for m, one in enumerate(run.class_prompts.prompts[k]) if one.startswith(text.split("…")[0][:20]))
            wanted = 1 - trace.view_features[value["views"]] @ trace.prompt_features[k, m]
            assert np.allclose(column, wanted, atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_the_top_crop_leans_to_the_first_sentence_of_each_class_and_across_is_how_well_a_crop_fits(
    name: str, request: pytest.FixtureRequest
) -> None:
    value = browser_value(request.getfixturevalue(name))
    cost, pull = np.array(value["cost"]), np.array(value["pull"])
    leans = cost[..., 0] - cost[..., 1]
    assert (leans[:, 0] <= leans[:, -1]).all()
    assert list(leans[0]) == sorted(leans[0])
    apart = pull[0, :, 0].mean() - pull[1, :, 0].mean()
    assert apart > 0
    assert np.allclose(np.array(value["at"]) * apart, cost[1].mean(1) - cost[0].mean(1), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_its_sums_at_the_crops_places_agree_with_the_engines_transport_to_four_digits(
    name: str, request: pytest.FixtureRequest, browser: Browser
) -> None:
    cost = np.array(browser_value(request.getfixturevalue(name))["cost"])
    # the cheapest plan is the engine's without regularisation: its price is above by at most lambda times an entropy
    engine = transport(torch.tensor(cost), torch.ones(CROPS), torch.ones(cost.shape[2]), entropy_weight=1e-5)
    plans = np.array(in_browser(browser, cost.tolist()))
    assert np.allclose((plans * cost).sum((1, 2)), engine.distance.numpy(), atol=5e-5)
    assert np.allclose(plans.sum(2), 1 / CROPS)
    assert np.allclose(plans.sum(1), 1 / cost.shape[2])


@pytest.mark.slow
def test_the_browsers_plan_is_the_cheapest_of_any_three_crops(browser: Browser) -> None:
    cost = 0.7 + np.random.default_rng(3).uniform(-0.2, 0.2, (20, CROPS, 2))
    engine = transport(torch.tensor(cost), torch.ones(CROPS), torch.ones(2), entropy_weight=1e-4)
    plans = np.array(in_browser(browser, cost.tolist()))
    assert np.allclose((plans * cost).sum((1, 2)), engine.distance.numpy(), atol=5e-5)


def test_with_one_view_there_is_no_plan_to_drag() -> None:
    assert small_plan(completed_run(ToyEngine(spread=0.2), views=1)) is None
