"""A threshold on a drift against counting by hand, and the stored drifts."""

import math

import numpy as np
import pytest

from rita_demo.analysis.drift import Detector, detector
from rita_demo.data.shipped_results import drift_rows, sample_outcomes
from rita_demo.records.measurement import DriftRow


def row(attack: str, offset: float, square: str = "picture") -> DriftRow:
    return DriftRow("dtd", "val", square, attack, 4, offset, 1 - offset, "b224c4ba")


ROWS = [row("none", d) for d in (0.3, 0.1, 0.2, 0.4)] + [row("pgd", d) for d in (0.5, 0.3, 0.25)]


def test_alarms_and_hits_are_shares_at_or_above_the_threshold() -> None:
    found = detector([*ROWS, row("none", 9, "model"), row("adaptive", 9)], "crop_offset", "pgd", "picture")
    assert found is not None
    assert found.clean.tolist() == [0.1, 0.2, 0.3, 0.4]
    for threshold in (0.0, 0.1, 0.25, 0.3, 0.35, 0.6):
        assert found.false_alarms(threshold) == sum(d >= threshold for d in (0.3, 0.1, 0.2, 0.4)) / 4
        assert found.hits(threshold) == pytest.approx(sum(d >= threshold for d in (0.5, 0.3, 0.25)) / 3)


def test_the_separation_counts_pairs_and_half_of_the_ties() -> None:
    found = Detector("noise", "pgd", np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.25, 0.3, 0.5]))
    pairs = [(a > c) + 0.5 * (a == c) for a in (0.25, 0.3, 0.5) for c in (0.1, 0.2, 0.3, 0.4)]
    assert found.separation == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.parametrize(("share", "threshold"), [(1.0, 0.1), (0.5, 0.3), (0.25, 0.4), (0.2, math.nextafter(0.4, 1))])
def test_the_threshold_for_a_share_of_false_alarms_is_the_lowest_that_keeps_to_it(
    share: float, threshold: float
) -> None:
    found = detector(ROWS, "crop_offset", "pgd", "picture")
    assert found is not None
    assert found.threshold(share) == threshold
    assert found.false_alarms(threshold) <= share


def test_what_was_not_measured_has_no_detector() -> None:
    assert detector(ROWS, "noise", "fgsm", "picture") is None
    assert detector(ROWS, "noise", "pgd", "model") is None


def test_the_stored_drifts_are_of_the_embedded_model_and_pgd_moves_the_picture_away_from_its_crops() -> None:
    rows = drift_rows()
    assert {one.weights for one in rows} == {one.weights for one in sample_outcomes().values()}
    found = detector(rows, "crop_offset", "pgd", "picture")
    assert found is not None
    assert len(found.clean) == 200
    assert len(found.attacked) >= 90
    assert found.separation > 0.9
