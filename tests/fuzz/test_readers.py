"""Every reader of visitors' files, with thousands of broken ones: a result or a sentence.

A case that fails is repeated by its name and number: ``python -m tests.fuzz "saved run" 137``.
"""

import resource
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import pytest

from tests.fuzz.targets import TARGETS, case, fault

QUICK_CASES = 25  # cases of every target in `make test`
SLOW_CASES = {"model.pt": 300, "model.safetensors": 500, "model folder": 500, "saved run": 700}
MANY_CASES = 1_000  # of each other target, at night
MAX_SECONDS = 15.0  # seconds that any case may take


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


def run_cases(name: str, count: int, place: Path) -> list[str]:
    """The first ``count`` cases of a target, one after the other; what was wrong."""
    found = []
    for number in range(count):
        begin = perf_counter()
        with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=place.parent) as folder:
            warnings.simplefilter("ignore")  # decoders remark on what they are given
            said = fault(name, number, Path(folder))
        took = perf_counter() - begin
        slow = f"{name} {number}: took {took:.0f} s" if took > MAX_SECONDS else ""
        found += [line for line in (said, slow) if line]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_broken_input_gives_an_error_message(name: str, place: Path) -> None:
    with nothing_written(place):
        assert run_cases(name, QUICK_CASES, place) == []


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_ten_thousand_broken_inputs_give_an_error_message(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts, found = {name: SLOW_CASES.get(name, MANY_CASES) for name in TARGETS}, []
    with nothing_written(place):
        for name, count in counts.items():
            begin = perf_counter()
            found += run_cases(name, count, place)
            with capsys.disabled():
                print(f"\n  {name}: {count} cases in {perf_counter() - begin:.0f} s", end="")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with capsys.disabled():
        print(f"\n  {sum(counts.values())} cases, {len(found)} faults, at most {most:.0f} MB resident")
    assert found == []
    assert sum(counts.values()) >= 10_000


def test_a_case_is_the_same_every_time_it_is_made() -> None:
    for name in TARGETS:
        assert repr(case(name, 3)) == repr(case(name, 3))
        assert len({repr(case(name, number)) for number in range(8)}) > 4


def test_a_crashing_reader_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_data: object, _folder: Path) -> None:
        raise KeyError("ours")

    monkeypatch.setitem(TARGETS, "event", TARGETS["event"].__class__(TARGETS["event"].make, broken))
    assert fault("event", 0, tmp_path) == "event 0: KeyError: 'ours'"
