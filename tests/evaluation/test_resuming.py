"""A run killed at any moment resumes and ends with the numbers of an uninterrupted run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.store import files
from tests.evaluation.conftest import stored_rows

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def full_run(tmp_path_factory: pytest.TempPathFactory, run_evaluate) -> Path:
    return run_evaluate(tmp_path_factory.mktemp("whole") / "runs")


@pytest.mark.slow
def test_killed_with_9_and_started_again_equals_uninterrupted(full_run, command_line, rows_of, tmp_path) -> None:
    out = tmp_path / "runs"
    process = subprocess.Popen(
        [sys.executable, "-m", "rita_demo", *command_line(out)], cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    try:
        until = time.monotonic() + 120
        while stored_rows(out) < 6 and time.monotonic() < until:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < stored_rows(out) < 36
    assert cli.main(command_line(out)) == 0
    assert rows_of(out) == rows_of(full_run)


def test_a_crash_during_any_write_loses_nothing(full_run, command_line, rows_of, tmp_path, monkeypatch) -> None:
    out = tmp_path / "runs"
    append, died = files.append_bytes, 0
    for writes in (0, 1, 2, 3, 5, 7, 11, 13, 17):
        left = [writes]

        def failing(path: Path, data: bytes, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                append(path, data[: len(data) // 2])
                raise KeyboardInterrupt
            append(path, data)

        monkeypatch.setattr(files, "append_bytes", failing)
        died += cli.main(command_line(out)) == 130
    monkeypatch.setattr(files, "append_bytes", append)
    assert cli.main(command_line(out)) == 0
    assert died == 9
    assert rows_of(out) == rows_of(full_run)
    (rows,) = (rows for name, rows in rows_of(out).items() if "_rita_" in name)
    assert sum(bool(row["entered"]) for row in rows) > 3, "the memory grows all the time"
    assert [path.read_bytes() for path in sorted(out.glob("*/*/*.f*"))] == [
        path.read_bytes() for path in sorted(full_run.glob("*/*/*.f*"))
    ]


def test_a_second_process_on_the_same_folder_gives_an_error_message(command_line, tmp_path, capsys) -> None:
    with files.exclusive_lock(tmp_path):
        assert cli.main(command_line(tmp_path)) == 1
    err = capsys.readouterr().err
    assert err.startswith("Another evaluation is writing into this folder.")
    assert err.count("\n") == 1


def test_a_damaged_line_in_the_middle_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a"\n{"a": 2}\n')
    with pytest.raises(files.DataError, match=r"Line 2 of .*rows.jsonl is damaged"):
        files.read_lines(path)
