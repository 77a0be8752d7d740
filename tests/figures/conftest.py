"""Runs of the toy engine. All of it is TEST DATA."""

import pytest

from rita_demo.records import Run
from tests.figures.synthetic import make_run
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


@pytest.fixture(scope="session")
def example_run() -> Run:
    """One attacked and defended picture; names are hostile on purpose."""
    return make_run()


@pytest.fixture(scope="package")
def engine() -> ToyEngine:
    return ToyEngine(spread=0.2)


@pytest.fixture(scope="package")
def run(engine: ToyEngine) -> Run:
    """A run with all that is computed after it."""
    return completed_run(engine)
