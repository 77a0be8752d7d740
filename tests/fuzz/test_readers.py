"""Every reader of visitors' files, with thousands of broken ones that hypothesis makes: a result or a sentence.

It makes a case that fails as simple as it can, and prints it with a line that repeats it.
"""

import resource
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, Case, receive

QUICK_CASES = 25  # cases of every target in `make test`
SLOW_CASES = {"model.pt": 300, "model.safetensors": 500, "model folder": 500, "saved run": 700}
MANY_CASES = 1_000  # of each other target, at night
#: Nothing is written outside the places that a test watches; no case may take longer than ``deadline``.
HYPOTHESIS = settings(
    database=None, derandomize=True, deadline=timedelta(seconds=15), suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, an empty working directory and an empty place for temporary files."""
    for name, variable in (("home", "HOME"), ("cwd", "PWD"), ("tmp", "TMPDIR")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


@contextmanager
def nothing_written(place: Path) -> Iterator[None]:
    """What lies in the three places is the same before and after."""
    before = sorted(place.rglob("*"))
    yield
    assert sorted(place.rglob("*")) == before


def receive_cases(name: str, count: int, place: Path) -> int:
    """Up to ``count`` different cases of a target, one after the other; how many there were."""
    target, received = TARGETS[name], 0

    @settings(HYPOTHESIS, max_examples=count)
    @given(st.randoms(use_true_random=False).map(target.make))
    def each(case: Case) -> None:
        nonlocal received
        received += 1
        with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=place.parent) as folder:
            warnings.simplefilter("ignore")  # decoders remark on what they are given
            receive(target, case, Path(folder))

    each()
    return received


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_broken_input_gives_an_error_message(name: str, place: Path) -> None:
    with nothing_written(place):
        assert receive_cases(name, QUICK_CASES, place) >= QUICK_CASES


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_ten_thousand_broken_inputs_give_an_error_message(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    total = 0
    with nothing_written(place):
        for name in TARGETS:
            begin, count = perf_counter(), receive_cases(name, SLOW_CASES.get(name, MANY_CASES), place)
            total += count
            with capsys.disabled():
                print(f"\n  {name}: {count} cases in {perf_counter() - begin:.0f} s", end="")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with capsys.disabled():
        print(f"\n  {total} cases, 0 faults, at most {most:.0f} MB resident")
    assert total >= 10_000


def test_a_crashing_reader_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_data: object, _folder: Path) -> None:
        raise KeyError("ours")

    monkeypatch.setitem(TARGETS, "event", TARGETS["event"].__class__(TARGETS["event"].make, broken))
    with pytest.raises(KeyError, match="ours"):
        receive_cases("event", 2, tmp_path)
