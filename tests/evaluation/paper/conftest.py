"""One small measurement on the tiny model, and the figures and tables written from it."""

from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from tests.evaluation.conftest import command_line, data_root, single_threaded  # noqa: F401


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, command_line) -> Path:  # noqa: F811
    """A run folder: clean and PGD at two budgets, without and with a step of the prompt update."""
    out = tmp_path_factory.mktemp("measured") / "runs" / "small"
    more = ("--attack", "none,pgd", "--budget", "1,4", "--sweep", "tuning_steps=0,1", "--limit", "4")
    assert cli.main(command_line(out, *more)) == 0
    return out
