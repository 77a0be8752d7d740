"""The ladder's tool: a line for every picture that all parts answered; and the detector's threshold."""

from pathlib import Path

import numpy as np

from rita_demo.records.measurement import LADDER
from tools.story.detector import FALSE_ALARMS, threshold
from tools.story.ladder import ladder


def test_every_part_is_read_from_its_own_cell_of_the_same_attacked_picture(tmp_path: Path, run_evaluate) -> None:
    few = ("--attack", "pgd", "--protocols", "off,stream", "--limit", "3", "--methods")
    runs = run_evaluate(tmp_path / "runs", *few, "clip,ensemble,ensemble_area,rita")
    found = ladder(runs)
    assert len({row.picture for row in found}) == len(found) == 3
    assert {getattr(row, part) for row in found for part in LADDER} <= {0, 1}


def test_the_threshold_is_the_lowest_with_few_false_alarms() -> None:
    clean = np.arange(100) / 100
    at = threshold(clean)
    assert (clean >= at).mean() <= FALSE_ALARMS < (clean >= at - 0.01).mean()
    assert threshold(np.ones(3)) > 1
