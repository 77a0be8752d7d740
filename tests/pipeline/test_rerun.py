"""A what-if decides what a new run with its settings decides, from features alone; the outcome of every method, a table of
cases in which class 0 is the true one."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.outcome import outcome
from rita_demo.pipeline.rerun import rescore
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.ui.widgets.wording import OUTCOME_MARKS
from tests.toy_model import SIDE, ToyEngine
from tests.ui.conftest import completed_run

ENGINE, NAMES = ToyEngine(spread=0.2), ("motorbike", "crab", "cup")
QUICK = RECOMMENDED.replace(views=8, steps=2, max_entropy=9.0, views_per_image=2)


@cache
def decided(settings: Settings) -> Run:
    """A picture decided and attacked from a cache that holds another one; both begin with the same features."""
    first, second = (SAMPLES[key].load(square="model", side=SIDE) for key in ("coffee", "motorcycle"))
    before = run_picture(ENGINE, first, NAMES, QUICK.replace(attack="none"), label=2).cache_after
    return run_picture(ENGINE, second, NAMES, settings, label=0, cache=before)


@pytest.mark.parametrize(
    "change",
    [
        {"entropy_weight": 0.1},
        {"cost": "loglik"},
        {"cache_weight": 2.0},
        {"protocol": "off"},
        {"tuning_steps": 3},
        {"subset_size": 2},
    ],
    ids=str,
)
def test_a_what_if_is_a_new_run_with_its_settings(change: dict[str, Any]) -> None:
    run = decided(QUICK)
    wanted = decided(run.settings.replace(**change))
    again = rescore(ENGINE, run, wanted.settings)
    for side in ("clean", "attacked"):
        new, fresh, old = (getattr(one, side).trace for one in (again, wanted, run))
        np.testing.assert_allclose(new.total, fresh.total, atol=1e-6)
        np.testing.assert_allclose(new.prompt_features, fresh.prompt_features, atol=1e-6)
        assert new.verdict.label == fresh.verdict.label
        assert not np.allclose(old.total, fresh.total, atol=1e-7), "the setting matters here"
    np.testing.assert_allclose(again.cache_after.features, wanted.cache_after.features, atol=1e-6)
    assert again.settings == wanted.settings


@pytest.mark.parametrize("change", [{"views": 5}, {"budget": 1}], ids=str)
def test_what_needs_pixels_or_sentences_needs_a_new_run(change: dict[str, Any]) -> None:
    run = decided(QUICK)
    with pytest.raises(SettingError, match="cannot change without a new run"):
        rescore(ENGINE, run, run.settings.replace(**change))


@pytest.fixture(scope="module")
def attacked_run() -> Run:
    return completed_run(ToyEngine(spread=0.2), views=4, steps=1)


@pytest.mark.parametrize(
    "case",  # answer before, now, target, true class -> wrong before, target reached, word, sign of it
    [
        (0, 0, None, 0, False, False, "holds", "✓"),
        (0, 1, None, 0, False, False, "fooled", "✗"),
        (1, 0, None, 0, True, False, "was wrong, now right", "~"),
        (0, 2, 2, 0, False, True, "fooled", "✗"),
        (0, 1, 2, 0, False, False, "wrong now, but not the target", "≠"),
        (1, 2, 2, 0, True, True, "was already wrong, now the target", "~"),
        (0, 1, None, None, False, False, "changed", "≠"),
        (0, 2, 2, None, False, True, "changed to the target", "≠"),
    ],
)
def test_what_became_of_an_answer(attacked_run: Run, case: tuple) -> None:
    before, now, target, truth, *expected = case
    sides = {
        side: replace(one, verdicts=one.verdicts | {"rita": replace(one.verdicts["rita"], label=label)})
        for side, one, label in (("clean", attacked_run.clean, before), ("attacked", attacked_run.attacked, now))
    }
    assert attacked_run.attack is not None
    attack = replace(attacked_run.attack, target=target)
    found = outcome(replace(attacked_run, **sides, attack=attack, label=0, label_given=truth is not None))["rita"]
    assert (found.before, found.now) == (before, now)
    assert [found.wrong_before, found.reached, found.word, OUTCOME_MARKS[found.word][1]] == expected
    assert found.right is (None if truth is None else now == truth)


@pytest.mark.parametrize(("attack", "known"), [("adaptive", "clip"), ("pgd", "")])
def test_the_attacker_knows_the_method_that_the_attack_is_made_against(attacked_run, attack, known) -> None:
    settings = RECOMMENDED.replace(attack=attack, **({"adaptive.against": known} if known else {}))
    found = outcome(replace(attacked_run, settings=settings))
    assert [name for name, one in found.items() if one.known] == ([known] if known else [])
