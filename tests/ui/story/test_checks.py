"""What the Story shows of its checks is what the engine was asked."""

import json
from dataclasses import replace
from typing import Any

import pytest

from rita_demo.pipeline.story import CHANGES, story_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import CheckedAnswers, Run, StoryChecks
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.checks import story_checks
from rita_demo.ui.story.record import story_value
from rita_demo.ui.widgets import wording
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES

METHODS = ("clip", "ensemble", "rita")


@pytest.fixture(scope="module")
def checks(example_run: Run) -> StoryChecks:
    return run_to_end(story_steps(ToyEngine(spread=0.2), example_run))


def browser_value(run: Run, checks: StoryChecks | None) -> Any:
    """The value as the browser reads it."""
    visitor = Session()
    visitor.show(run)
    visitor.checks = checks
    return json.loads(json.dumps(story_checks(visitor)))


def assert_said(said: dict[str, Any], answers: CheckedAnswers, run: Run) -> None:
    for method in METHODS:
        one = getattr(answers, method)
        assert said[method]["name"] == NAMES[one.label]
        assert said[method]["share"] == wording.percent(one.probability)
        assert said[method]["right"] is (one.label == run.label if run.label_given else None)


def test_every_row_is_what_was_asked_and_the_first_is_the_run(example_run: Run, checks: StoryChecks) -> None:
    value = browser_value(example_run, checks)
    visitor = Session()
    visitor.show(example_run)
    shown = story_value(visitor)
    assert shown is not None
    assert value["key"] == shown["key"]
    first, *rows = value["survive"]
    for method in METHODS:
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


def test_nothing_is_told_before_it_is_asked_and_nothing_survives_where_nothing_was_attacked(
    example_run: Run, defend_only_run: Run
) -> None:
    assert browser_value(example_run, None) is None
    assert story_checks(Session()) is None
    value = browser_value(defend_only_run, run_to_end(story_steps(ToyEngine(), defend_only_run)))
    assert (value["survive"], value["noise"]) == (None, None)


def test_without_a_true_class_nothing_is_right_and_with_an_unknown_word_nothing_has_a_share(
    example_run: Run, checks: StoryChecks
) -> None:
    rows = browser_value(replace(example_run, label_given=False), checks)["survive"]
    assert {row["attacked"][method]["right"] for row in rows for method in METHODS} == {None}
    prompts = replace(example_run.class_prompts, unknown=(("motorbike",), (), (), ()))
    value = browser_value(replace(example_run, class_prompts=prompts), checks)
    assert {row["clean"][method]["share"] for row in value["survive"] for method in METHODS} == {""}
