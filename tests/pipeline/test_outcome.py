"""The outcome of every method: a table of cases. Class 0 is the true one."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.pipeline.outcome import outcome
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.widgets.wording import OUTCOME_MARKS
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


@pytest.fixture(scope="module")
def attacked_run() -> Run:
    return completed_run(ToyEngine(spread=0.2), views=4, steps=1)


@pytest.mark.parametrize("method", ["clip", "ensemble", "rita"])
@pytest.mark.parametrize(
    # answer before, now, target, true class -> right before, right now, target reached, missed, word, sign of it
    ("case", "expected"),
    [
        ((0, 0, None, 0), (True, True, False, False, "holds", "✓")),
        ((0, 1, None, 0), (True, False, False, False, "fooled", "✗")),
        ((1, 0, None, 0), (False, True, False, False, "was wrong, now right", "~")),
        ((1, 1, None, 0), (False, False, False, False, "was already wrong", "–")),
        ((1, 2, None, 0), (False, False, False, False, "was already wrong, now another", "~")),
        ((0, 0, 2, 0), (True, True, False, False, "holds", "✓")),
        ((0, 2, 2, 0), (True, False, True, False, "fooled", "✗")),
        ((0, 1, 2, 0), (True, False, False, True, "wrong now, but not the target", "≠")),
        ((1, 2, 2, 0), (False, False, True, False, "was already wrong, now the target", "~")),
        ((2, 2, 2, 0), (False, False, True, False, "was already wrong", "–")),
        ((0, 0, None, None), (None, None, False, False, "unchanged", "=")),
        ((0, 1, None, None), (None, None, False, False, "changed", "≠")),
        ((0, 2, 2, None), (None, None, True, False, "changed to the target", "≠")),
        ((0, 1, 2, None), (None, None, False, True, "changed", "≠")),
    ],
)
def test_what_became_of_an_answer(
    attacked_run: Run, method: str, case: tuple[int, int, int | None, int | None], expected: tuple
) -> None:
    before, now, target, truth = case
    sides = {
        side: replace(one, verdicts=one.verdicts | {method: replace(one.verdicts[method], label=label)})
        for side, one, label in (("clean", attacked_run.clean, before), ("attacked", attacked_run.attacked, now))
    }
    assert attacked_run.attack is not None
    attack = replace(attacked_run.attack, target=target)
    found = outcome(replace(attacked_run, **sides, attack=attack, label=0, label_given=truth is not None))[method]
    assert (found.before, found.now) == (before, now)
    parts = (found.right_before, found.right, found.reached, found.missed, found.word)
    assert (*parts, OUTCOME_MARKS[found.word][1]) == expected
    assert found.wrong_before == (truth is not None and before != truth)
    assert found.fooled == (truth is not None and before == truth != now)


@pytest.mark.parametrize(("attack", "known"), [("adaptive", "rita"), ("adaptive", "clip"), ("pgd", "")])
def test_the_attacker_knows_the_method_that_the_attack_is_made_against(
    attacked_run: Run, attack: str, known: str
) -> None:
    settings = RECOMMENDED.replace(attack=attack, **({"adaptive.against": known} if known else {}))
    found = outcome(replace(attacked_run, settings=settings))
    assert [name for name, one in found.items() if one.known] == ([known] if known else [])


def test_without_an_attack_both_answers_are_the_same() -> None:
    run = completed_run(ToyEngine(), attack="none", views=4)
    for name, found in outcome(run).items():
        assert found.before == found.now == int(np.argmax(run.clean.verdicts[name].probability))
        assert found.right == found.right_before
        assert not any((found.reached, found.missed, found.known))
