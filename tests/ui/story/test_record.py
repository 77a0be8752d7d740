"""What the Story is told of a run: the numbers are those of the run's records, the pictures bit for bit."""

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Browser

from rita_demo.figures.analysis.crop_field import crop_field, push_left, rival_class
from rita_demo.method.sinkhorn import transport
from rita_demo.pipeline.attack_steps import attack_step_results, last_step
from rita_demo.pipeline.story import CHANGES
from rita_demo.pipeline.story import story_steps as checks_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import CheckedAnswers, Run, StoryChecks
from rita_demo.ui.session.session import Session
from rita_demo.ui.story import record
from rita_demo.ui.story.record import (
    ANSWERS,
    CROPS,
    NAME_LENGTH,
    change,
    small_plan,
    story_checks,
    story_steps,
    story_value,
)
from rita_demo.ui.story.view import dump
from rita_demo.ui.widgets import wording
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, completed_run, shown


def decoded(uri: str) -> np.ndarray:
    """The pixels of a picture as the browser gets it."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))


def restored(clean: np.ndarray, stored: dict[str, str]) -> np.ndarray:
    """The picture that the browser makes of a stored one: ``core.js``, in integers."""
    if "pixels" in stored:
        return decoded(stored["pixels"])
    moved = decoded(stored["change"]).astype(int) - 128
    return (clean.astype(int) + moved).astype(np.uint8)


def browser_value(run: Run) -> dict[str, Any]:
    """The value as the browser reads it."""
    return json.loads(dump(story_value(shown(run))))


@pytest.fixture(scope="module")
def stepped(example_run: Run) -> Session:
    """A visitor for whom every stored step is there."""
    visitor = shown(example_run)
    visitor.attack_steps = tuple(attack_step_results(ToyEngine(spread=0.2), example_run))
    return visitor


@pytest.fixture(params=["example_run", "failed_run", "defend_only_run"])
def run(request: pytest.FixtureRequest) -> Run:
    return request.getfixturevalue(request.param)


def test_the_three_answers_before_and_after_and_the_place_of_every_crop_are_those_of_the_run(run: Run) -> None:
    value, found = browser_value(run), crop_field(run)
    assert [one["name"] for one in value["answers"]] == list(ANSWERS)
    assert value["answers"][1]["title"] == f"average of {len(run.clean.encoded_views.features)} crops"
    ends = (value["steps"][0], run.clean), (value["steps"][-1], run.attacked)
    for step, side in ends:
        for method in ANSWERS:
            said, verdict = step["says"][method], side.verdicts[method]
            assert value["names"][said["label"]] == NAMES[verdict.label]
            assert said["value"] == pytest.approx(verdict.probability[verdict.label], abs=1e-4)
            assert said["right"] is (None if run.given_label is None else verdict.label == run.label)
    assert value["last"] == value["steps"][-1]["step"] == last_step(run)
    assert bool(value["which"]) is not run.label_given
    second = NAMES[int(np.argsort(run.clean.verdicts["clip"].probability)[-2])]
    assert second in value["choices"], "the second best answer can be the true one"
    assert value["names"][:2] == [NAMES[found.reference], NAMES[found.rival]]
    assert np.allclose(value["boxes"], found.boxes, atol=1e-4)
    assert value["flipped"] == run.attacked.encoded_views.views.flipped.tolist()
    for step, at in zip(value["steps"], found.steps, strict=True):
        assert np.allclose(step["crops"], at.crops, atol=1e-4)
        assert [value["names"][k] for k in step["answers"]] == [NAMES[k] for k in at.answers]
        assert step["marks"] == pytest.approx({name: at.methods[name] for name in ANSWERS}, abs=1e-4)


def test_the_push_is_the_analysis_of_a_run_whose_margin_the_attack_lowered(example_run: Run) -> None:
    value, push = browser_value(example_run), push_left(example_run)
    assert push is not None
    assert np.allclose(value["push"]["share"], push.share, atol=1e-4)
    assert value["push"]["median"] == push.median
    assert value["mass"] == example_run.settings.transported_mass
    assert browser_value(replace(example_run, attacked=example_run.clean))["push"] is None
    assert browser_value(completed_run(ToyEngine(spread=0.2), views=1))["push"] is None, "no crops"


@pytest.mark.parametrize(("attack", "covers"), [("pgd", False), ("typographic", True)])
def test_the_attacked_picture_comes_back_bit_for_bit_and_a_patch_or_a_word_covers_a_part_of_it(
    attack: str, covers: bool, example_run: Run
) -> None:
    run = completed_run(ToyEngine(spread=0.2), attack=attack, views=8)
    value = browser_value(run)
    clean = decoded(value["clean"])
    assert np.array_equal(clean, run.clean.picture.pixels)
    assert np.array_equal(restored(clean, value["attacked"]), run.attacked.picture.pixels)
    sides = {
        side: replace(getattr(example_run, side), picture=getattr(run, side).picture) for side in ("clean", "attacked")
    }
    assert browser_value(replace(example_run, **sides))["push"]["covers"] is covers


@pytest.mark.parametrize(("most", "kind"), [(127, "change"), (128, "pixels")])
def test_a_change_of_any_size_and_sign_comes_back_bit_for_bit(example_run: Run, most: int, kind: str) -> None:
    random = np.random.default_rng(most)
    clean = random.integers(0, 256, (32, 32, 3))
    now = np.clip(clean + random.integers(-most, most + 1, clean.shape), 0, 255)
    clean[0, 0], now[0, 0], clean[0, 1], now[0, 1] = 0, most, 255, 255 - most  # both ends of the range
    assert example_run.attack is not None
    stored = change(replace(example_run.attack, frames=np.stack([clean, now]).astype(np.uint8)), 1)
    assert list(stored) == [kind]
    assert np.array_equal(restored(clean.astype(np.uint8), stored), now)


def test_the_stored_steps_are_sent_once_all_are_there_each_picture_bit_for_bit(stepped: Session) -> None:
    run = stepped.run
    assert run is not None
    assert run.attack is not None
    waiting = shown(run)
    assert story_steps(waiting) is None
    waiting.attack_steps, waiting.pending_steps = stepped.attack_steps[:3], 6
    assert story_steps(waiting) is None, "some are missing"
    value = json.loads(dump(story_steps(stepped)))
    kept = [result.step for result in stepped.attack_steps]
    assert [one["step"] for one in value["steps"]] == kept
    assert value["key"] == browser_value(run)["key"]
    assert [int(step) for step in value["pictures"]] == kept[1:-1], "the two ends are there already"
    for step, stored in value["pictures"].items():
        assert np.array_equal(restored(run.clean.picture.pixels, stored), run.attack.frames[int(step)])
    for one, result in zip(value["steps"], stepped.attack_steps, strict=True):
        for method in ANSWERS:
            verdict = result.image_result.verdicts[method]
            assert value["names"][one["says"][method]["label"]] == NAMES[verdict.label]
            assert one["says"][method]["value"] == pytest.approx(verdict.probability[verdict.label], abs=1e-4)


def test_class_names_are_one_short_line_and_with_an_unknown_word_there_are_no_shares(example_run: Run) -> None:
    value = browser_value(example_run)
    assert value["known"]
    assert value["steps"][0]["says"]["clip"]["share"].endswith(" %")
    hostile = ("<img src=x onerror=alert(1)>" * 3, "a\nb\u202ec", "cup", "piano")
    prompts = replace(example_run.class_prompts, names=hostile, unknown=(("motorbike",), (), (), ()))
    value = browser_value(replace(example_run, class_prompts=prompts))
    assert hostile[0][: NAME_LENGTH - 1] + "…" in value["names"]
    for name in value["names"]:
        assert len(name) <= NAME_LENGTH
        assert name.isprintable()
    assert not value["known"]
    assert {one["share"] for step in value["steps"] for one in step["says"].values()} == {"", "(unknown word)"}


@pytest.fixture(scope="module")
def checks(example_run: Run) -> StoryChecks:
    return run_to_end(checks_steps(ToyEngine(spread=0.2), example_run))


def checks_value(run: Run, checks: StoryChecks | None) -> Any:
    """The value as the browser reads it."""
    visitor = shown(run)
    visitor.checks = checks
    return json.loads(json.dumps(story_checks(visitor)))


def assert_said(said: dict[str, Any], answers: CheckedAnswers, run: Run) -> None:
    for method in ANSWERS:
        one = getattr(answers, method)
        assert said[method]["name"] == NAMES[one.label]
        assert said[method]["share"] == wording.percent(one.probability)
        assert said[method]["right"] is (one.label == run.label if run.label_given else None)


def test_every_row_is_what_was_asked_and_the_first_is_the_run(example_run: Run, checks: StoryChecks) -> None:
    value = checks_value(example_run, checks)
    assert value["key"] == browser_value(example_run)["key"]
    first, *rows = value["survive"]
    for method in ANSWERS:
        for side in ("clean", "attacked"):
            verdict = getattr(example_run, side).verdicts[method]
            assert first[side][method]["name"] == NAMES[verdict.label]
            assert first[side][method]["share"] == wording.percent(verdict.probability[verdict.label])
    assert [row["title"] for row in rows] == [title for title, _ in CHANGES.values()]
    for row, one in zip(rows, checks.changes, strict=True):
        assert one.attacked is not None
        assert_said(row["clean"], one.clean, example_run)
        assert_said(row["attacked"], one.attacked, example_run)
    assert checks.noise is not None
    assert_said(value["noise"], checks.noise, example_run)


# --- the plan of three crops
def solved_in_browser(browser: Browser, costs: list[Any]) -> np.ndarray:
    """The plans of the page's own solver."""
    core, plan = (Path(record.__file__).with_name(f"{name}.js").read_text("utf-8") for name in ("core", "plan"))
    helpers = " ".join(line for line in core.splitlines() if line.startswith(("const inOrder", "const sum")))
    solver = plan[plan.index("function cheapest") : plan.index("// Plans and prices")]
    page = browser.new_page()
    found = page.evaluate(f"(costs) => {{ {helpers} {solver}; return costs.map(cheapest); }}", costs)
    page.close()
    return np.array(found)


def test_the_costs_of_the_plan_are_distances_and_across_is_how_well_a_crop_fits(run: Run) -> None:
    value, trace = json.loads(json.dumps(small_plan(run))), run.attacked.trace
    assert len(value["views"]) == len(value["at"]) == CROPS
    for c, k in enumerate((run.label, rival_class(run))):
        for text, column in zip(value["sentences"][c], np.transpose(value["cost"][c]), strict=True):
            m = next(m for m, one in enumerate(run.class_prompts.prompts[k]) if one.startswith(text.split("…")[0][:20]))
            wanted = 1 - trace.view_features[value["views"]] @ trace.prompt_features[k, m]
            assert np.allclose(column, wanted, atol=1e-5)
    cost, pull = np.array(value["cost"]), np.array(value["pull"])
    leans = cost[..., 0] - cost[..., 1]
    assert (leans[:, 0] <= leans[:, -1]).all(), "the top crop leans to the first sentence of each class"
    assert list(leans[0]) == sorted(leans[0])
    apart = pull[0, :, 0].mean() - pull[1, :, 0].mean()
    assert apart > 0
    assert np.allclose(np.array(value["at"]) * apart, cost[1].mean(1) - cost[0].mean(1), atol=1e-4)


@pytest.mark.slow
def test_the_browsers_plan_is_the_cheapest_and_its_sums_are_those_of_the_engines_transport(
    example_run: Run, failed_run: Run, defend_only_run: Run, browser: Browser
) -> None:
    plans = [small_plan(run) for run in (example_run, failed_run, defend_only_run)]
    random = 0.7 + np.random.default_rng(3).uniform(-0.2, 0.2, (20, CROPS, 2))
    cost = np.concatenate([*(plan["cost"] for plan in plans if plan), random])
    assert cost.shape == (26, CROPS, 2)
    # without regularisation: the engine's price is above by at most lambda times an entropy
    engine = transport(torch.tensor(cost), torch.ones(CROPS), torch.ones(2), entropy_weight=1e-5)
    solved = solved_in_browser(browser, cost.tolist())
    assert np.allclose((solved * cost).sum((1, 2)), engine.distance.numpy(), atol=5e-5)
    assert np.allclose(solved.sum(2), 1 / CROPS)
    assert np.allclose(solved.sum(1), 1 / 2)
    assert small_plan(completed_run(ToyEngine(spread=0.2), views=1)) is None, "one view"
