"""A run killed at any moment, or on a full disk, resumes and ends with the numbers of an uninterrupted run."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.rows import FILE, Row, Rows
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


@pytest.mark.slow
def test_a_crash_at_any_picture_loses_nothing(full_run, command_line, rows_of, tmp_path, monkeypatch) -> None:
    out, write = tmp_path / "runs", Rows.write
    for writes in (0, 1, 2, 3, 5):
        left = iter(range(writes))

        def failing(rows: Rows, lines: Collection[Row], left=left) -> int:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return write(rows, lines)

        monkeypatch.setattr(Rows, "write", failing)
        assert cli.main(command_line(out)) == 130
    monkeypatch.setattr(Rows, "write", write)
    assert cli.main(command_line(out)) == 0
    assert rows_of(out) == rows_of(full_run)
    (rows,) = (rows for name, rows in rows_of(out).items() if "_rita_" in name)
    assert sum(bool(row["entered"]) for row in rows) > 3, "the memory grows all the time"


#: What is lost of the rows -> how many are there at once, and how many are new.
LOSSES = [
    *(
        (
            f"place >= {first} AND measurement IN (SELECT id FROM measurements WHERE method = 'rita')",
            24 + first,
            12 - first,
        )
        for first in (1, 7)
    ),
    ("place = 4", 11 + 11 + 4, 3),  # a hole: a stream is measured anew from there on, others there alone
    ("place >= 6", 3 * 6, 3 * 6),  # and without what was kept of every picture
]


@pytest.mark.parametrize(("lost", "known", "new"), LOSSES)
def test_what_is_missing_is_measured_and_a_stream_from_its_first_missing_picture_on(
    full_run, command_line, rows_of, tmp_path, lost, known, new, capsys
) -> None:
    out = Path(shutil.copytree(full_run, tmp_path / "runs"))
    with sqlite3.connect(out / FILE) as db:
        assert db.execute(f'DELETE FROM "rows" WHERE {lost}').rowcount
    if known == 18:
        (out / "artifacts.sqlite").unlink()
    assert cli.main(command_line(out)) == 0
    printed = capsys.readouterr().out
    assert f"{known} of 36 rows are there already." in printed
    assert f"3 cells, 36 rows, {new} of them new" in printed
    assert rows_of(out) == rows_of(full_run)


@contextmanager
def limited_disk(place: Path, kilobytes: int) -> Iterator[Callable[[int], None]]:
    """A file system of that size; yields a function that changes the size. Skips where mounting is not allowed."""

    def mount(options: str) -> int:
        words = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
        return subprocess.run(words, capture_output=True, check=False).returncode

    place.mkdir()
    try:
        mounted = mount(f"size={kilobytes}k") == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip(
            "mounting a file system is not allowed here; tests/evaluation/test_rows.py has the limit on a file's size"
        )
    try:
        yield lambda now: mount(f"remount,size={now}k") and pytest.fail("cannot be made larger")
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk_loses_no_row_and_the_same_command_resumes(command_line, run_evaluate, rows_of, tmp_path, capsys):
    whole = run_evaluate(tmp_path / "whole")
    stops, had = 0, 0
    with limited_disk(tmp_path / "disk", 48) as resize:
        out = tmp_path / "disk" / "runs"
        for kilobytes in (48, 64, 80, 112, 160, 224, 4_096):
            resize(kilobytes)
            capsys.readouterr()
            status = cli.main(command_line(out))
            now = stored_rows(out)
            assert now >= had, "a written row is lost"
            had = now
            if status == 0:
                break
            said = capsys.readouterr().err.strip().splitlines()[-1]
            assert said.startswith("The results cannot be written: no space left on the device.")
            stops += 1
        assert stops >= 3
        assert rows_of(out) == rows_of(whole)


@pytest.mark.slow
def test_a_picture_swapped_under_its_name_and_changed_descriptions_are_measured_anew(
    command_line, rows_of, data_root, tmp_path
) -> None:
    root, out = Path(shutil.copytree(data_root, tmp_path / "data")), tmp_path / "runs"
    words = tmp_path / "words.json"
    words.write_text(json.dumps({name: ["a thing"] for name in ("cat", "dog", "cup")}))
    more = ["--methods", "clip,rita", "--protocols", "off,stream", "--attack", "none", "--set", f"descriptions={words}"]
    line = command_line(out, *more)
    line[line.index("--data-root") + 1] = str(root)
    assert cli.main(line) == 0
    before = rows_of(out)
    pictures = root / "caltech-101" / "101_ObjectCategories"
    size = (pictures / "cup" / "2.png").stat().st_size
    swapped = (pictures / "cup" / "1.png").read_bytes()
    (pictures / "cup" / "2.png").write_bytes(swapped[:size] + bytes(max(0, size - len(swapped))))  # the same size
    assert cli.main(line) == 0
    after = rows_of(out)
    again = {name for name, rows in after.items() for row in rows if row not in before.get(name, [])}
    assert {name.split("_")[1] for name in again} == {"clip", "rita"}
    assert len(after) == len(before) + 1, "a stream of other pictures is another one"
    for name in before:
        changed = [row["picture"] for row, old in zip(after[name], before[name], strict=True) if row != old]
        assert [name.rpartition("Categories/")[2] for name in changed] == ([] if "_stream_" in name else ["cup/2.png"])
    words.write_text(json.dumps({name: ["another thing"] for name in ("cat", "dog", "cup")}))
    assert cli.main(line) == 0
    last = rows_of(out)
    assert {name: last[name] for name in after} == after
    assert {tuple(name.split("_")[1:4:2]) for name in last.keys() - after} == {("rita", "off"), ("rita", "stream")}
