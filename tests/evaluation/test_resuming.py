"""A run that dies at any moment goes on and ends with the numbers of one that did not."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rita_demo import cli
from rita_demo.evaluation import files

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole") / "runs"


@pytest.fixture
def uninterrupted(whole: Path, measure) -> Path:
    """Measured once for the module."""
    return whole if whole.exists() else measure(whole)


@pytest.mark.slow
def test_killed_with_9_and_started_again_equals_uninterrupted(
    uninterrupted: Path, words, rows_of, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    process = subprocess.Popen(
        [sys.executable, "-m", "rita_demo", *words(out)],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        until = time.monotonic() + 120
        while sum(map(len, rows_of_safely(rows_of, out))) < 6 and time.monotonic() < until:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = sum(map(len, rows_of_safely(rows_of, out)))
    assert 0 < before < 36
    assert cli.main(words(out)) == 0
    assert rows_of(out) == rows_of(uninterrupted)


def rows_of_safely(rows_of, out: Path) -> list[list[dict]]:
    return [files.read_lines(path) for path in out.glob("cells/*/rows.jsonl")]


def test_dying_in_the_middle_of_any_write_loses_nothing(
    uninterrupted: Path, words, rows_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs"
    honest, died = files.append_bytes, 0
    for patience in (0, 1, 2, 3, 5, 7, 11, 13, 17):
        left = [patience]

        def mortal(path: Path, data: bytes, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                honest(path, data[: len(data) // 2])
                raise KeyboardInterrupt
            honest(path, data)

        monkeypatch.setattr(files, "append_bytes", mortal)
        died += cli.main(words(out)) == 130
    monkeypatch.setattr(files, "append_bytes", honest)
    assert cli.main(words(out)) == 0
    assert died == 9
    assert rows_of(out) == rows_of(uninterrupted)
    stored = [path.stat().st_size for path in sorted(out.glob("*/*/*.f*"))]
    assert stored == [path.stat().st_size for path in sorted(uninterrupted.glob("*/*/*.f*"))]


def test_the_memory_of_a_stream_goes_on_where_it_was(
    uninterrupted: Path, words, rows_of, tmp_path: Path
) -> None:
    (rows,) = (rows for name, rows in rows_of(uninterrupted).items() if "_rita_" in name)
    counts = [len(row["entered"]) for row in rows]
    assert 3 < sum(counts[:5]) < sum(counts), "the test needs a memory that fills before and after"
    out = tmp_path / "runs"
    shutil.copytree(uninterrupted, out)
    (path,) = out.glob("cells/*_rita_*/rows.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:5]))
    assert cli.main(words(out)) == 0
    assert rows_of(out) == rows_of(uninterrupted)
    stored = [next(place.glob("cells/*/memory.f32")).read_bytes() for place in (out, uninterrupted)]
    assert stored[0] == stored[1]


def test_a_torn_last_line_is_dropped_and_written_again(
    uninterrupted: Path, words, rows_of, tmp_path: Path
) -> None:
    out = tmp_path / "runs"
    shutil.copytree(uninterrupted, out)
    for path in out.glob("cells/*/rows.jsonl"):
        os.truncate(path, path.stat().st_size - 40)
    assert all(len(rows) == 11 for rows in map(files.read_lines, out.glob("cells/*/rows.jsonl")))
    assert cli.main(words(out)) == 0
    assert rows_of(out) == rows_of(uninterrupted)


def test_a_finished_run_does_nothing_when_started_again(
    uninterrupted: Path, words, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words(uninterrupted)) == 0
    assert "3 cells, 36 rows, 0 of them new" in capsys.readouterr().out


def test_a_second_process_on_the_same_folder_gets_a_sentence(
    words, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with files.writing_alone(tmp_path):
        assert cli.main(words(tmp_path)) == 1
    err = capsys.readouterr().err
    assert err.startswith("Another evaluation is writing into this folder.")
    assert err.count("\n") == 1


def test_a_damaged_line_in_the_middle_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a"\n{"a": 2}\n')
    with pytest.raises(files.DataError, match=r"Line 2 of .*rows.jsonl is damaged"):
        files.read_lines(path)
