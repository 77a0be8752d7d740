"""The attack through the defence lowers RITA's accuracy more than plain PGD."""

from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.report.results import result_rows

PICTURES = 16  # drawn textures, one of each of 16 words, among all 47


@pytest.mark.nightly
@pytest.mark.timeout(1800)  # measured: 140 s of one core
def test_the_attack_through_the_defence_lowers_rita_more_than_pgd(tmp_path: Path) -> None:
    words = ["evaluate", "--dataset", "textures", "--split", "test", "--methods", "rita"]
    words += ["--attack", "pgd,defence", "--budget", "4", "--steps", "7", "--protocols", "off"]
    words += ["--limit", str(PICTURES), "--out", str(tmp_path / "runs")]
    assert cli.main(words) == 0
    accuracy = {line.attack: line.accuracy for line in result_rows(tmp_path / "runs")}
    assert all(line.n == PICTURES for line in result_rows(tmp_path / "runs"))
    assert accuracy["pgd"] > 50
    assert accuracy["defence"] < accuracy["pgd"]  # measured: 5 and 13 of 16
