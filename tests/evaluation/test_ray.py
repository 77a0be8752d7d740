"""The executor ``ray``: its message without Ray (always), and a real cluster of two workers (nightly)."""

import os
import secrets
import signal
import socket
import subprocess
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
from rita_demo.evaluation import pictures
from rita_demo.evaluation.run import RunSummary, evaluate
from rita_demo.records.errors import DemoError
from tests.evaluation.conftest import stored_rows
from tests.live_server import free_port, wait_until

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


@pytest.mark.nightly
def test_a_run_whose_workers_all_die_ends_with_an_error_message(
    ray_cluster, command_line, run_evaluate, rows_of, tmp_path
) -> None:
    words = command_line(tmp_path / "runs", *OPTIONS)
    with killing(lambda: True), pytest.raises(DemoError, match="3 workers ended while"):
        run_on_ray(words)
    assert run_on_ray(words).rows == EXPECTED_ROWS
    assert rows_of(tmp_path / "runs") == rows_of(run_evaluate(tmp_path / "here", *OPTIONS))


@pytest.mark.nightly
def test_an_unreadable_picture_is_named(ray_cluster, command_line, tmp_path, data_root, monkeypatch) -> None:
    bad = tmp_path / "own" / "cat" / "bad.png"
    for name in ("cat", "dog"):
        (tmp_path / "own" / name).mkdir(parents=True)
        (tmp_path / "own" / name / "good.png").write_bytes(next(data_root.rglob("0.png")).read_bytes())
    bad.write_bytes(b"\x89PNG\r\n\x1a\n no picture")
    more = ["--data-root", str(tmp_path), "--dataset", "own", "--split", "all"]
    with pytest.raises(DemoError, match=r"1 of 3 pictures cannot be used\..*\(cat/bad\.png\)"):
        run_on_ray(command_line(tmp_path / "runs", *more))
    # one that breaks after it was opened
    monkeypatch.setattr(pictures, "choose_usable", lambda items, choose, _: (tuple(choose(items)), ()))
    with pytest.raises(DemoError, match=r"The picture 'cat/bad.png': "):
        run_on_ray(command_line(tmp_path / "runs", *more))


@pytest.mark.nightly
def test_an_interrupted_command_resumes_later(command_line, run_evaluate, rows_of, tmp_path) -> None:
    out, more = tmp_path / "far", [*OPTIONS, "--set", "views=64"]
    environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "rita_demo", *command_line(out, *more, "--executor", "ray")]
    options = {"cwd": ROOT, "env": environment, "text": True, "stderr": subprocess.PIPE, "start_new_session": True}
    with subprocess.Popen(command, **options) as process:
        try:
            assert wait_until(lambda: stored_rows(out) >= 8, 150, 0.002)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole process group
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, f"{stored_rows(out)} rows, {err}"
    assert err.strip().endswith("Interrupted.")
    assert 0 < stored_rows(out) < EXPECTED_ROWS
    assert cli.main(command_line(out, *more)) == 0
    assert rows_of(out) == rows_of(run_evaluate(tmp_path / "here", *more))


@pytest.mark.nightly
def test_a_cluster_is_joined_by_its_address(command_line, run_evaluate, rows_of, tmp_path, capfd) -> None:
    """A head node with a token, started elsewhere: the code is uploaded with the work. Without it, an error message."""
    port = free_port()
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", f"--port={port}"]
    start += ["--num-cpus=2", "--num-gpus=0", "--include-dashboard=false", "--disable-usage-stats"]
    own = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    own["RAY_ADDRESS"] = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "rita_demo", *command_line(tmp_path / "far", "--executor", "ray")]
    refused = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=100)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"No Ray cluster answers at 127.0.0.1:{port}. Correct RAY_ADDRESS,")
    start, head_env = [*start, "--node-ip-address=127.0.0.1"], {k: v for k, v in own.items() if k != "RAY_ADDRESS"}
    head = subprocess.Popen(start, cwd=tmp_path, env=head_env, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        with socket.socket() as client:
            assert wait_until(lambda: client.connect_ex(("127.0.0.1", port)) == 0, 60, 0.1)
        subprocess.run(command, cwd=ROOT, env=own, check=True, timeout=200)
    finally:
        head.terminate()
        head.wait(timeout=30)
    assert "36 of them new" in capfd.readouterr().out
    assert rows_of(tmp_path / "far") == rows_of(run_evaluate(tmp_path / "here"))


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
