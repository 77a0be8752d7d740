"""The worked examples do what the page says beside them: measured again on the shipped model."""

import pytest

from rita_demo.data import samples, shipped_results
from rita_demo.engine.engine import Engine
from rita_demo.settings import RECOMMENDED
from tools.story.samples import measure_sample

TYPICAL = ("motorcycle", "coffee", "brick")  # the worked example, another object, a texture; all at night
CLEAR_MARGIN = 0.005  # a margin (cosine distance) that another machine's rounding does not turn


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("embedded")


def test_the_stored_outcomes_are_of_the_shipped_weights_and_settings(engine: Engine) -> None:
    found = shipped_results.sample_outcomes()
    assert set(found) == set(samples.SAMPLES)
    for one in found.values():
        assert one.weights == engine.weights_key()[:8]
        assert (one.attack, one.budget, one.steps) == (RECOMMENDED.attack, RECOMMENDED.budget, RECOMMENDED.steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [key if key in TYPICAL else pytest.param(key, marks=pytest.mark.nightly) for key in samples.SAMPLES]
)
def test_an_example_has_the_outcome_in_its_title(engine: Engine, key: str) -> None:
    stored, now = shipped_results.sample_outcomes()[key], measure_sample(engine, key)
    if stored.rita_margin >= CLEAR_MARGIN:
        assert now.kind == stored.kind
    assert abs(now.rita_margin - stored.rita_margin) < 0.05
