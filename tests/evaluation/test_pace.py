"""What takes least is measured first, and the time left counts what was not measured yet by its passes of the model."""

import re
from pathlib import Path

import pytest

from rita_demo.cli import evaluate as evaluate_command
from rita_demo.cli import main as cli
from rita_demo.evaluation import run as clock_of
from rita_demo.evaluation.run import Kind, Pace


def seconds_left(sentence: str) -> float:
    hours, minutes, seconds = map(int, re.search(r"(\d+):(\d+):(\d+) left", sentence).groups())
    return 3600 * hours + 60 * minutes + seconds


def test_the_time_left_counts_kinds_that_were_not_measured_yet_by_their_passes(monkeypatch) -> None:
    clock = iter((0.0, 20.0, 140.0))
    monkeypatch.setattr(clock_of.time, "perf_counter", lambda: next(clock))
    cheap, dear = Kind("none", ("clip",), 10), Kind("adaptive", ("rita",), 100)
    pace = Pace([(cheap, 4), (dear, 5), (cheap, 6)])
    assert pace.sentence == "0 of 15 in all"
    pace.add_stored(cheap, 4)
    pace.add(cheap, 4)
    assert seconds_left(pace.sentence) == 2 * 5 + 5 * 50, "5 seconds a picture; of ten times the passes ten times that"
    pace.add(dear, 1)
    assert seconds_left(pace.sentence) == 2 * 5 + 4 * 120, "and its own speed once it is measured"


@pytest.mark.slow
def test_the_cells_that_take_least_are_measured_first(tmp_path: Path, command_line, monkeypatch) -> None:
    more = ("--attack", "adaptive,pgd,none", "--budget", "2", "--limit", "2", "--methods", "clip,rita")
    said: list[str] = []
    monkeypatch.setattr(evaluate_command, "ProgressLog", lambda: said.append)
    assert cli.main(command_line(tmp_path / "runs", *more)) == 0
    told = re.findall(r"seed 0, (\w+), part (\d+) of (\d+)", "\n".join(said))
    order = list(dict.fromkeys(attack for attack, _, _ in told))
    assert order == ["none", "pgd", "adaptive"]
    assert [int(part) for _, part, _ in told] == sorted(int(part) for _, part, _ in told)
