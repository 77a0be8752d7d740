"""The worked examples do what the page says beside them: measured again on the shipped model."""

import pytest

from rita_demo.data import measured, samples
from rita_demo.engine import Engine
from rita_demo.examples import outcome
from rita_demo.settings import RECOMMENDED

CLEAR = 0.005  # a margin (cosine distance) that another machine's rounding does not turn


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("embedded")


def test_the_stored_outcomes_are_of_the_shipped_weights_and_settings(engine: Engine) -> None:
    found = measured.outcomes()
    assert set(found) == set(samples.SAMPLES)
    for one in found.values():
        assert one.weights == engine.weights_key()[:8]
        assert (one.attack, one.budget, one.steps) == (
            RECOMMENDED.attack, RECOMMENDED.budget, RECOMMENDED.steps,
        )  # fmt: skip


def test_ten_examples_and_some_where_rita_fails() -> None:
    kinds = [one.kind for one in measured.outcomes().values()]
    assert len(kinds) >= 10
    assert kinds.count("rescued") >= 5
    assert kinds.count("fails") >= 1


@pytest.mark.slow
@pytest.mark.parametrize("key", samples.SAMPLES)
def test_an_example_comes_out_as_it_is_called(engine: Engine, key: str) -> None:
    stored, now = measured.outcomes()[key], outcome(engine, key)
    if stored.rita_margin >= CLEAR:
        assert now.kind == stored.kind
    assert abs(now.rita_margin - stored.rita_margin) < 0.05
