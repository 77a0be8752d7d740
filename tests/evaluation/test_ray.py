"""The executor ``ray``: its message without Ray (always), and a real cluster of two workers (nightly)."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rita_demo.cli import main as cli
from rita_demo.cli.evaluate import request_of
from rita_demo.evaluation.run import RunSummary, evaluate
from tests.evaluation.conftest import stored_rows

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["--methods", "clip,ensemble,rita", "--attack", "none,pgd", "--protocols", "off,stream"]
EXPECTED_ROWS = 2 * 4 * 12  # attacks, cells, pictures


def test_a_missing_ray_package_gives_install_instructions(command_line, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert cli.main(command_line(tmp_path / "runs", "--executor", "ray")) == 1
    err = capsys.readouterr().err
    assert err.startswith("The executor ray needs the package ray, which is not installed.")
    assert "requirements-ray.txt" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()
    assert (ROOT / "requirements-ray.txt").read_text().startswith("#")


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[Any]:
    """A cluster for this module with room for two workers; an error, not a skip, without Ray."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(address="local", num_cpus=2, num_gpus=0, object_store_memory=128 << 20, **options)
    yield ray
    ray.shutdown()


def run_on_ray(words: list[str], report: Callable[[str], None] = lambda _: None) -> RunSummary:
    return evaluate(request_of(cli.build_parser().parse_args(words)), report, "ray")


@pytest.mark.nightly
def test_ray_rows_equal_the_local_executor(ray_cluster, command_line, run_evaluate, rows_of, tmp_path: Path) -> None:
    out = tmp_path / "far"
    assert run_on_ray(command_line(out, *OPTIONS)).new_rows == EXPECTED_ROWS
    assert rows_of(out) == rows_of(run_evaluate(tmp_path / "here", *OPTIONS))
    assert run_on_ray(command_line(out, *OPTIONS)).new_rows == 0


@contextmanager
def killing(ready: Callable[[], bool], most: int = 10**6) -> Iterator[list[int]]:
    """Kill workers that execute a unit once it is ``ready``, at most so many; gives their process ids."""
    over, killed = threading.Event(), list[int]()

    def kill() -> None:
        while not over.is_set() and len(killed) < most:
            for pid in busy_workers()[: most - len(killed)] if ready() else ():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


@pytest.mark.nightly
def test_the_work_of_a_killed_worker_is_repeated(ray_cluster, command_line, run_evaluate, rows_of, tmp_path) -> None:
    more, out = [*OPTIONS, "--set", "views=64"], tmp_path / "far"
    with killing(lambda: stored_rows(out) >= 8, most=1) as killed:
        done = run_on_ray(command_line(out, *more))
    assert len(killed) == 1
    assert done.new_rows == EXPECTED_ROWS
    assert rows_of(out) == rows_of(run_evaluate(tmp_path / "here", *more))


def busy_workers() -> list[int]:
    """Process ids of the workers of this process's cluster that execute a unit at this moment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            at_work = (place / "cmdline").read_bytes().startswith(b"ray::measure_part")
            raylet = _parent_pid(place) if at_work else 0
            if raylet and _parent_pid(Path(f"/proc/{raylet}")) == os.getpid():
                found.append(int(place.name))
        except OSError:  # it has ended
            continue
    return found


def _parent_pid(place: Path) -> int:
    return int((place / "stat").read_text().rpartition(")")[2].split()[1])
