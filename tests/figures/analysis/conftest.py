"""A run of the toy engine with all that is computed after it."""

import pytest

from rita_demo.records import Run
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


@pytest.fixture(scope="package")
def engine() -> ToyEngine:
    return ToyEngine(spread=0.2)


@pytest.fixture(scope="package")
def run(engine: ToyEngine) -> Run:
    return completed_run(engine)
