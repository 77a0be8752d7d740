"""Fixtures of this folder. All of it is TEST DATA, see ``synthetic``."""

import pytest

from rita_demo.records import Run
from tests.figures.synthetic import make_run


@pytest.fixture(scope="session")
def example_run() -> Run:
    """TEST DATA: one attacked and defended picture; names are hostile on purpose."""
    return make_run()
