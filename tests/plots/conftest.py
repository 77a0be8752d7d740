"""Fixtures of this folder. All of it is TEST DATA, see ``synthetic``."""

from __future__ import annotations

import pytest

from rita_demo.records import Story
from tests.plots.synthetic import make_story


@pytest.fixture(scope="session")
def story() -> Story:
    """TEST DATA: one attacked and defended picture; names are hostile on purpose."""
    return make_story()
