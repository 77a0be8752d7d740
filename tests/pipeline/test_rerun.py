"""A what-if decides what a new run with its settings decides, from features alone."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.rerun import rescore
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED, Settings
from tests.toy_model import SIDE, ToyEngine

ENGINE, NAMES = ToyEngine(spread=0.2), ("motorbike", "crab", "cup")
QUICK = RECOMMENDED.replace(views=8, steps=2, max_entropy=9.0, views_per_image=2)


@cache
def decided(settings: Settings) -> Run:
    """A picture decided and attacked from a cache that holds another one; both begin with the same features."""
    first, second = (SAMPLES[key].load(square="model", side=SIDE) for key in ("coffee", "motorcycle"))
    before = run_picture(ENGINE, first, NAMES, QUICK.replace(attack="none"), label=2).cache_after
    return run_picture(ENGINE, second, NAMES, settings, label=0, cache=before)


@pytest.mark.parametrize("loss", ["marginal", "transport"])
@pytest.mark.parametrize(
    "change",
    [
        {"entropy_weight": 0.1},
        {"transported_mass": 0.8},
        {"cost": "loglik"},
        {"view_weight": "uniform"},
        {"cache_weight": 2.0},
        {"protocol": "off"},
        {"tuning_steps": 3},
        {"tuning_rate": 0.05},
        {"tuning_loss": "none"},
        {"subset_size": 2},
    ],
    ids=str,
)
def test_a_what_if_is_a_new_run_with_its_settings(change: dict[str, Any], loss: str) -> None:
    run = decided(QUICK.replace(tuning_loss=loss))
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


@pytest.mark.parametrize("change", [{"views": 5}, {"prompts": 2}, {"budget": 1}, {"hand_prompt": "a {}"}], ids=str)
def test_what_needs_pixels_or_sentences_needs_a_new_run(change: dict[str, Any]) -> None:
    run = decided(QUICK)
    with pytest.raises(SettingError, match="cannot change without a new run"):
        rescore(ENGINE, run, run.settings.replace(**change))
