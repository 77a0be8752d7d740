"""The executor ``ray``: what it says where Ray is missing (always), and a real cluster of two workers (nightly)."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rita_demo import cli
from rita_demo.errors import DemoError, SettingError
from rita_demo.evaluation import files
from rita_demo.evaluation.commands import request_of
from rita_demo.evaluation.executor import executor
from rita_demo.evaluation.run import Done, evaluate

ROOT = Path(__file__).resolve().parents[2]
MORE = ["--methods", "clip,ensemble,rita", "--attack", "none,pgd", "--protocols", "off,stream"]
ROWS = 2 * 4 * 12  # attacks, cells, pictures


def test_without_the_package_one_sentence_says_what_to_install(
    words, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert cli.main(words(tmp_path / "runs", "--executor", "ray")) == 1
    err = capsys.readouterr().err
    assert err.startswith("The executor ray needs the package ray, which is not installed.")
    assert "requirements-ray.txt" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "runs").exists()
    assert (ROOT / "requirements-ray.txt").read_text().startswith("#")


def test_an_unknown_executor_lists_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"one of local, ray; got 'moon'"):
        executor("moon")


@pytest.mark.slow
def test_ray_is_imported_only_when_asked_for() -> None:
    code = (
        "import sys, rita_demo.cli, rita_demo.evaluation.run as run\n"
        "run.executor('local')\n"
        "sys.exit('ray' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Any]:
    """A cluster of this module's own, with room for two; it fails, not skips, where Ray is missing."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        address="local", num_cpus=2, num_gpus=0, include_dashboard=False, log_to_driver=False,
        logging_level="ERROR", object_store_memory=128 << 20,
    )  # fmt: skip
    yield ray
    ray.shutdown()


def on_ray(words: list[str], say: Callable[[str], None] = lambda _: None) -> Done:
    return evaluate(request_of(cli.build_parser().parse_args(words)), say, "ray")


@pytest.mark.nightly
def test_the_numbers_are_those_of_the_local_executor(
    two_workers, words, measure, rows_of, tmp_path: Path
) -> None:
    out, said = tmp_path / "far", []
    assert on_ray(words(out, *MORE), said.append).new == ROWS
    assert said[0] == "Workers that load the model: 2"
    assert rows_of(out) == rows_of(measure(tmp_path / "here", *MORE))
    assert on_ray(words(out, *MORE)).new == 0


@pytest.mark.nightly
def test_the_task_of_a_killed_worker_is_done_again(
    two_workers, words, measure, rows_of, tmp_path: Path
) -> None:
    more, said, killed = [*MORE, "--set", "views=64"], [], []

    def kill_one_at_work() -> None:
        until = time.monotonic() + 100
        while not killed and time.monotonic() < until:
            if rows(tmp_path / "far") >= 8:
                for pid in working():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
            time.sleep(0.001)

    killer = threading.Thread(target=kill_one_at_work)
    killer.start()
    done = on_ray(words(tmp_path / "far", *more), said.append)
    killer.join()
    assert len(killed) == 1
    assert said.count("A worker was lost; what it did is done again") == 1
    assert done.new == ROWS
    assert rows_of(tmp_path / "far") == rows_of(measure(tmp_path / "here", *more))


@pytest.mark.nightly
def test_what_ends_every_worker_ends_the_run_in_a_sentence(
    two_workers, words, measure, rows_of, tmp_path: Path
) -> None:
    over = threading.Event()

    def kill_whoever_works() -> None:
        while not over.is_set():
            for pid in working():
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)

    killer = threading.Thread(target=kill_whoever_works)
    killer.start()
    try:
        with pytest.raises(DemoError, match="3 workers ended while"):
            on_ray(words(tmp_path / "runs", *MORE))
    finally:
        over.set()
        killer.join()
    assert on_ray(words(tmp_path / "runs", *MORE)).rows == ROWS
    assert rows_of(tmp_path / "runs") == rows_of(measure(tmp_path / "here", *MORE))


@pytest.mark.nightly
def test_a_picture_that_cannot_be_read_is_named(
    two_workers, words, tmp_path: Path, data_root: Path
) -> None:
    bad = tmp_path / "own" / "cat" / "bad.png"
    for name in ("cat", "dog"):
        (tmp_path / "own" / name).mkdir(parents=True)
        (tmp_path / "own" / name / "good.png").write_bytes(
            next(data_root.rglob("0.png")).read_bytes()
        )
    bad.write_bytes(b"\x89PNG\r\n\x1a\n no picture")
    more = ["--data-root", str(tmp_path), "--dataset", "own", "--split", "all"]
    with pytest.raises(DemoError, match=r"The picture 'cat/bad.png': "):
        on_ray(words(tmp_path / "runs", *more))


@pytest.mark.nightly
def test_a_worker_has_one_thread(two_workers) -> None:
    from rita_demo.evaluation.on_ray import remote_worker

    class Counting:
        def threads(self) -> int:
            import torch

            return torch.get_num_threads()

    counting = remote_worker(Counting, gpu=False).remote()
    assert two_workers.get(counting.threads.remote()) == 1


@pytest.mark.nightly
def test_an_interrupted_command_goes_on_later(words, measure, rows_of, tmp_path: Path) -> None:
    out, more = tmp_path / "far", [*MORE, "--set", "views=64"]
    environment = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "rita_demo", *words(out, *more, "--executor", "ray")],
        cwd=ROOT, env=environment | {"OMP_NUM_THREADS": "1"}, text=True, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 150
        while rows(out) < 8 and time.monotonic() < until:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody in the foreground
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, f"{rows(out)} rows, {err}"
    assert err.strip().endswith("Interrupted.")
    assert 0 < rows(out) < ROWS
    assert cli.main(words(out, *more)) == 0
    assert rows_of(out) == rows_of(measure(tmp_path / "here", *more))


@pytest.mark.nightly
def test_an_interrupt_that_a_library_swallows_still_ends_the_run(
    two_workers, words, tmp_path: Path
) -> None:
    def swallow(sentence: str) -> None:
        if rows(tmp_path / "far"):
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        on_ray(words(tmp_path / "far", *MORE), swallow)
    assert 0 < rows(tmp_path / "far") < ROWS
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.nightly
def test_a_cluster_is_joined_by_its_address(
    words, measure, rows_of, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A head that was started somewhere else, with a token: the code goes there with the work."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
    start += ["--num-cpus=2", "--num-gpus=0", "--include-dashboard=false", "--disable-usage-stats"]
    start += [f"--port={port}", "--node-ip-address=127.0.0.1"]
    own = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    head = subprocess.Popen(
        start, cwd=tmp_path, env=own, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 60
        while not answers(port) and time.monotonic() < until:
            time.sleep(0.1)
        subprocess.run(
            [sys.executable, "-m", "rita_demo", *words(tmp_path / "far", "--executor", "ray")],
            cwd=ROOT, env=own | {"RAY_ADDRESS": f"127.0.0.1:{port}"}, check=True, timeout=200,
        )  # fmt: skip
    finally:
        head.terminate()
        head.wait(timeout=30)
    assert "36 of them new" in capfd.readouterr().out
    assert rows_of(tmp_path / "far") == rows_of(measure(tmp_path / "here"))


@pytest.mark.nightly
def test_a_cluster_that_does_not_answer_is_told(words, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rita_demo", *words(tmp_path, "--executor", "ray")],
        cwd=ROOT, env=os.environ | {"RAY_ADDRESS": "127.0.0.1:1"}, capture_output=True, text=True,
        timeout=100,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("No Ray cluster answers at 127.0.0.1:1. Correct RAY_ADDRESS,")


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) == 0


def rows(out: Path) -> int:
    """How many rows are on disk while somebody writes."""
    return sum(len(files.read_lines(path)) for path in out.glob("cells/*/rows.jsonl"))


def working() -> list[int]:
    """Processes of Ray below this one that are measuring at this moment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            at_work = (place / "cmdline").read_bytes().startswith(b"ray::Worker.do")
            raylet = _parent(place) if at_work else 0
            if raylet and _parent(Path(f"/proc/{raylet}")) == os.getpid():
                found.append(int(place.name))
        except OSError:  # it has just ended
            continue
    return found


def _parent(place: Path) -> int:
    return int((place / "stat").read_text().rpartition(")")[2].split()[1])
