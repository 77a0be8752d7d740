"""What a job says of the seconds that it still takes."""

import re

import pytest

from rita_demo.process.time_left import LONGER, TimeLeft
from rita_demo.ui.framework.notice import progress_html

#: (seconds since the job began, fraction done): steady; slower and slower; two quick stages before a long one; a stop in
#: the middle; uneven steps; a pace that falls to a quarter.
STEADY = [(t, t / 40) for t in range(1, 40)]
SLOWER = [(t, (t / 60) ** 0.5) for t in range(1, 60)]
STAGES = [(1.0, 0.1), (2.0, 0.2), *((2.0 + t, 0.2 + t / 100) for t in range(1, 60))]
BREAK = [*((t, t / 40) for t in range(1, 11)), *((30 + t, (10 + t) / 40) for t in range(1, 29))]
UNEVEN = [(t + 0.4 * (t % 3), t / 40) for t in range(1, 40)]
FALLS = [*((t, t / 40) for t in range(1, 11)), *((10 + t, 0.25 + t / 160) for t in range(1, 120))]


def said_along(times: list[tuple[float, float]]) -> list[str]:
    now = [0.0]
    job, said = TimeLeft(lambda: now[0]), []
    for now[0], fraction in times:
        said.append(re.sub("<[^>]+>", "", progress_html("Now", fraction, job)))
    return said


@pytest.mark.parametrize("times", [STEADY, SLOWER, STAGES, BREAK, UNEVEN, FALLS])
def test_an_estimate_never_grows_by_more_than_a_third(times: list[tuple[float, float]]) -> None:
    numbers = [int(found[1]) for text in said_along(times) if (found := re.search(r"about (\d+) s left", text))]
    assert len(numbers) > 1
    least = numbers[0]
    for number in numbers:
        assert number <= 4 / 3 * least
        least = min(least, number)


def test_an_estimate_that_would_grow_more_is_longer_than_expected_until_it_fits_again() -> None:
    said = said_along(FALLS)
    assert said[9] == "Now, about 30 s left"
    assert f"Now, {LONGER}" in said[10:30]
    assert said[-1] == "Now, about 1 s left"


def test_a_job_on_time_says_its_seconds_whatever_its_first_stages_took() -> None:
    assert said_along(STEADY)[:4] == ["Now", "Now", "Now", "Now, about 36 s left"]
    assert said_along(STAGES)[2:5] == ["Now", "Now, about 78 s left", "Now, about 77 s left"]
    assert said_along([*STEADY, (40, 1.0)])[-1] == "Now"
