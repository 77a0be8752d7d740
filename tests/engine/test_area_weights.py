"""Views weigh by what they leave out of the picture, in the decision and in the Ensemble that has RITA's weights."""

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.settings import RECOMMENDED
from tests.oracles.baselines import ensemble
from tests.toy_model import TEMPERATURE, ToyEngine


def test_decision_and_ensemble_weigh_views_by_their_boxes() -> None:
    picture, settings = SAMPLES["motorcycle"].load(), RECOMMENDED.replace(views=8, steps=3)
    assert settings.view_weight == "area"
    run = run_picture(ToyEngine(), picture, ("motorbike", "crab"), settings, label=0, methods=("ensemble_area",))
    side = run.attacked  # the whole picture and its crops differ there
    left, top, right, bottom = side.encoded_views.views.boxes.astype(float).T
    hidden = np.maximum(1 - (right - left) * (bottom - top), 0.001)
    assert side.trace.view_weight == pytest.approx(hidden / hidden.sum(), rel=1e-5)
    seen = side.encoded_views.features, run.class_prompts.template_features, TEMPERATURE, "probability"
    by_hand = {"ensemble": ensemble(*seen), "ensemble_area": ensemble(*seen, hidden)}
    for name, expected in by_hand.items():
        assert side.verdicts[name].probability == pytest.approx(expected, abs=1e-5)
    assert np.abs(by_hand["ensemble"] - by_hand["ensemble_area"]).max() > 0.01
