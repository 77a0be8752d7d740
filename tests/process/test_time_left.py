"""What a job says of the seconds that it still takes."""

import re

import pytest

from rita_demo.process.time_left import LONGER, TimeLeft
from rita_demo.ui.framework.notice import progress_html
from rita_demo.vlm.hub_download import HubProgress

#: (seconds since the job began, fraction done): steady; slower and slower; a first stage that took a twentieth of what follows.
STEADY = [(t, t / 40) for t in range(1, 40)]
SLOWER = [(t, (t / 60) ** 0.5) for t in range(1, 60)]
SUDDEN = [(1.0, 0.1), (2.0, 0.2), *((2.0 + t, 0.2 + t / 100) for t in range(1, 60))]


def said_along(times: list[tuple[float, float]]) -> list[str]:
    now = [0.0]
    job, said = TimeLeft(lambda: now[0]), []
    for now[0], fraction in times:
        said.append(re.sub("<[^>]+>", "", progress_html("Now", fraction, job)))
    return said


@pytest.mark.parametrize("times", [STEADY, SLOWER, SUDDEN])
def test_an_estimate_never_grows_by_more_than_a_third(times: list[tuple[float, float]]) -> None:
    numbers = [int(found[1]) for text in said_along(times) if (found := re.search(r"about (\d+) s left", text))]
    least = numbers[0]
    for number in numbers:
        assert number <= 4 / 3 * least
        least = min(least, number)


def test_an_estimate_that_would_grow_more_is_longer_than_expected_until_it_fits_again() -> None:
    said = said_along(SUDDEN)
    assert said[:2] == ["Now", "Now, about 8 s left"]
    assert f"Now, {LONGER}" in said
    assert said_along([*SUDDEN, (63.0, 0.95)])[-1] == "Now, about 3 s left"


def test_a_job_on_time_says_its_seconds() -> None:
    assert said_along(STEADY)[9] == "Now, about 30 s left"
    assert said_along([(1.0, 0.5), (2.0, 0.04), (2.0, 1.0)]) == ["Now"] * 3


def test_a_download_that_slows_down_says_no_larger_number() -> None:
    job = TimeLeft()
    said = [HubProgress("x", done, 100_000_000, seconds, job).sentence for done, seconds in ((5e7, 10), (5.5e7, 30))]
    assert said[0].endswith("0:00:10 left")
    assert said[1].endswith(LONGER)
