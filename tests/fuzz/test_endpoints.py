"""Every event of the running page, its uploads, links and routes, with malformed input.

The page runs in a process with a home and a working directory of its own, so that anything it wrote there
would be seen.
"""

import json
import random
from itertools import count
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rita_demo.server import cleanup
from tests.fuzz.endpoints import EVENTS_PER_ROUND, FuzzReport, our_tracebacks, run_round
from tests.fuzz.page import FOLDERS, isolated_page
from tests.fuzz.test_readers import HYPOTHESIS
from tests.live_server import wait_until

QUICK_ROUNDS = 1  # rounds in `make test`
MANY_ROUNDS = 40  # at night: every event several times


def fuzz_clients(place: Path, rounds: int) -> FuzzReport:
    """What came of so many rounds; the server's own log is part of it."""
    heard, numbers = FuzzReport(), count(5)
    with isolated_page(place) as address:
        everything = json.loads(written(place / "watched" / "addresses.json"))

        @settings(HYPOTHESIS, max_examples=rounds, deadline=None, phases=[Phase.generate])
        @given(st.randoms(use_true_random=True))  # a round is too long to be drawn thing by thing
        def each(rng: random.Random) -> None:
            run_round(address, next(numbers), rng, heard, everything)

        each()
        heard.faults += [f"in no budget: {path}" for path in leftover_files(place)]
    heard.faults += [f"log: {line}" for line in our_tracebacks(place / "log.txt")]
    for name in ("cwd", "home"):
        heard.faults += [f"written: {path}" for path in (place / name).rglob("*")]
    left = {path.name for path in place.iterdir()}
    heard.faults += [f"written: {name}" for name in left - {*FOLDERS, "log.txt"}]
    return heard


def written(path: Path) -> str:
    """What the page's process writes there, as soon as it does."""
    wait_until(path.exists, 30, 0.1)
    return path.read_text()


def leftover_files(place: Path) -> list[str]:
    """Temporary files and uploads that are there after their hour; an upload that was cut off a moment ago is given some
    seconds."""

    def left() -> list[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cleanup, "UPLOAD_MAX_AGE", -1)
            cleanup.sweep_uploads(place / "uploads")
        return [str(path) for name in ("tmp", "uploads") for path in (place / name).rglob("*") if path.is_file()]

    wait_until(lambda: not left(), 15, 0.5)
    return left()


@pytest.mark.nightly
@pytest.mark.slow
def test_malformed_requests_break_nothing(tmp_path: Path) -> None:
    heard = fuzz_clients(tmp_path, QUICK_ROUNDS)
    assert heard.faults == []
    assert heard.sent.total() == QUICK_ROUNDS * EVENTS_PER_ROUND


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_thousand_malformed_requests_break_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin = perf_counter()
    heard = fuzz_clients(tmp_path, MANY_ROUNDS)
    with capsys.disabled():
        said = ", ".join(f"{count} {kind}s" for kind, count in sorted(heard.sent.items()))
        print(
            f"\n  {heard.sent.total()} requests ({said}) in {perf_counter() - begin:.0f} s, {len(heard.faults)} faults"
        )
    assert heard.faults == []
    assert heard.sent.total() >= 1_000


def test_an_own_traceback_in_the_log_is_detected(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    ours = 'Traceback (most recent call last):\n  File "/x/rita_demo/a.py", line 1\n    f()\nKeyError: 1\n'
    log.write_text(ours.replace("rita_demo", "gradio") + "quiet\n" + ours)
    assert our_tracebacks(log) == ["KeyError: 1"]
