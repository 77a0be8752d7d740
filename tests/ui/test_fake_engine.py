"""The made-up engine of these tests decides as the real one does."""

import pytest

from rita_demo.settings import RECOMMENDED
from rita_demo.views.boxes import area_fractions
from tests.ui.conftest import completed_run
from tests.ui.fake_engine import FakeEngine


def test_its_views_weigh_what_the_recommended_settings_say() -> None:
    run = completed_run(FakeEngine())
    assert run.settings.view_weight == RECOMMENDED.view_weight == "area"
    for side in (run.clean, run.attacked):
        hidden = (1 - area_fractions(side.encoded_views.views.boxes)).clip(0.001)
        assert side.trace.view_weight == pytest.approx(hidden / hidden.sum(), rel=1e-5)
