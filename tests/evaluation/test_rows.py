"""``rows.sqlite``: two writers, a kill at any moment, a copy, a full disk, files of before."""

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rita_demo.evaluation import rows as store
from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.rows import FILE, Rows
from rita_demo.records.errors import DataError
from rita_demo.settings import RECOMMENDED

ROOT = Path(__file__).resolve().parents[2]
#: What a process writes: pictures FIRST to LAST of one measurement, one transaction each; prints how many were new.
WRITER = """
import sys
from pathlib import Path
from tests.evaluation.test_rows import FACTS, Rows, key, row
with Rows(Path(sys.argv[1])) as rows:
    number, new = rows.measurement(key(), FACTS), 0
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(sys.argv[2])):
        new += rows.write([row(number, n)])
    print(new)
"""
FACTS: dict[str, Any] = {
    "requested": {n: v for n, v in RECOMMENDED.replace(attack="none").as_dict().items() if "seed" not in n},
    **{"seed": 0, "non_default": {}, "threat": ["None."], "pictures": 5, "available": 5, "left_out": {}, "missing": 0},
    **{"listed": 0, "classes_present": 2, "note": "", "width": 8, "side": 32, "machine": {}, "folder": ""},
    "method_title": "CLIP",
}


def key(**changes: Any) -> dict[str, Any]:
    """The key of a measurement of CLIP on clean pictures."""
    values: dict[str, Any] = {name: "" if kind == "TEXT" else 0 for name, kind in store.KEY.items()}
    values |= {"format": store.FORMAT, "dataset": "toys", "split": "all", "backbone": "tiny", "method": "clip"}
    values |= {"class_names": '["cat", "dog"]', "given_seeds": "{}", "attack": "none", "seed": -1, "protocol": "off"}
    values |= {"attacked_share": 100, "method_settings": {"hand_prompt": "photo"}, "attack_settings": {}}
    return values | {"stream_order": "random"} | changes


def row(measurement: int, n: int, **changes: Any) -> dict[str, Any]:
    """The row of picture ``n``, with a blob."""
    values = {"measurement": measurement, "picture": f"cat/{n}.png", "content": f"c{n}", "place": n, "seed": 0}
    values |= {
        "version": "1",
        "label": "cat",
        "answer": "cat",
        "right": True,
        "probability": 1 / (n + 3),
        "margin": 0.1,
    }
    values |= {"linf": 0.0, "l2": 0.0, "picture_seed": n, "attacked": False, "seconds_attack": 0.0, "target": ""}
    values |= {"seconds_views": 0.0, "seconds_method": 0.0, "entered": [[0, n, 1, 0.5]]}
    return values | {"entered_features": bytes([n % 256]) * 400} | changes


def started(out: Path, count: int):
    """A process that writes so many rows once it gets a line."""
    command = [sys.executable, "-c", WRITER, str(out), str(count)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def go(process) -> None:
    process.stdin.write("\n")
    process.stdin.flush()


def contents(out: Path) -> list[dict[str, Any]]:
    """The stored rows, in order, after a check of the file."""
    with sqlite3.connect(out / FILE) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return store.read_stream(out, 1)


def expected(count: int) -> list[dict[str, Any]]:
    return [dict.fromkeys(store.ROW) | row(1, n) for n in range(count)]


def write(out: Path, count: int) -> int:
    with Rows(out) as rows:
        number = rows.measurement(key(), FACTS)
        return sum(rows.write([row(number, n)]) for n in range(count))


def test_two_processes_that_lack_the_same_rows_write_each_once(tmp_path: Path) -> None:
    writers = [started(tmp_path, 150) for _ in range(2)]
    for one in writers:
        go(one)
    new = [int(one.communicate(timeout=120)[0]) for one in writers]
    assert sum(new) == 150
    assert contents(tmp_path) == expected(150)
    assert len(measurements(tmp_path)) == 1


@pytest.mark.slow
def test_killed_at_any_moment_and_copied_the_rows_are_those_of_whole_transactions(tmp_path: Path) -> None:
    for number, milliseconds in enumerate((5, 15, 40, 90)):
        out = tmp_path / str(number)
        process = started(out, 100_000)
        go(process)
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGKILL)
        process.wait()
        copied = Path(shutil.copytree(out, tmp_path / f"copy {number}"))
        had = len(read(copied)) if contents(copied) else 0
        assert contents(copied) == expected(had)
        assert write(copied, had + 3) == 3
        assert contents(copied) == expected(had + 3)


def test_a_journal_that_a_kill_left_is_rolled_back_by_a_reader(tmp_path: Path) -> None:
    write(tmp_path, 3)
    with sqlite3.connect(tmp_path / FILE, isolation_level=None) as db:  # a commit that is killed half-way
        db.execute("PRAGMA cache_spill = 1")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN IMMEDIATE")
        for n in range(3, 400):
            values = [row(1, n).get(name) if name != "entered" else "[]" for name in store.ROW]
            db.execute(f'INSERT INTO "rows" VALUES ({", ".join("?" * len(values))})', values)
        assert (tmp_path / f"{FILE}-journal").stat().st_size
        killed = Path(shutil.copytree(tmp_path, tmp_path / "killed"))
        db.execute("ROLLBACK")
    assert len(read(killed)) == 3
    assert contents(killed) == expected(3)


@contextmanager
def powerless() -> Iterator[None]:
    """Nobody's rights: root may write everywhere."""
    if user := os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_folder_that_cannot_be_written_is_read_and_refused_to_a_writer() -> None:
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "runs"
        write(out, 4)
        for path, mode in ((Path(place), 0o755), (out, 0o555), (out / FILE, 0o444)):
            path.chmod(mode)
        with powerless():
            assert list(read(out).picture) == [f"cat/{n}.png" for n in range(4)]
            assert len(measurements(out)) == 1
            with Rows(out) as rows:
                assert len(rows.stored(rows.measurement(key(), FACTS))) == 4, "nothing is missing: nothing is written"
                with pytest.raises(DataError, match=r"^The results cannot be written: .*readonly.*--out"):
                    rows.write([row(1, 4)])
            with pytest.raises(DataError, match="folder for the results cannot be used: Permission denied"):
                Rows(out / "below")
        assert len(read(out)) == 4
        out.chmod(0o755)


def test_a_full_disk_is_a_sentence_and_loses_no_row(tmp_path: Path) -> None:
    write(tmp_path, 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    written: list[int] = []
    with Rows(tmp_path) as rows:
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / FILE).stat().st_size + 12_000, hard))
        try:
            with pytest.raises(DataError, match=r"^The results cannot be written: .*Make room or name another folder"):
                written.extend(rows.write([row(1, n)]) for n in range(2, 1000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    had = 2 + len(written)
    assert 2 < had < 1000
    assert contents(tmp_path) == expected(had)
    assert write(tmp_path, had + 2) == 2


def test_files_of_before_and_damaged_ones_are_refused_and_stay(tmp_path: Path) -> None:
    before, later, damaged = (tmp_path / name for name in ("before", "later", "damaged"))
    (before / "cells" / "one").mkdir(parents=True)
    write(later, 1)
    with sqlite3.connect(later / FILE) as db:
        db.execute(f"PRAGMA user_version = {store.FORMAT - 1}")
    damaged.mkdir()
    (damaged / FILE).write_text("no database" * 1000)
    for folder in (before, later):
        was = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
        for opening in (lambda: Rows(folder), lambda: read(folder), lambda: read(folder.parent / folder.name)):  # noqa: B023
            with pytest.raises(DataError, match=f"The run folder {folder.name} was made by an earlier version"):
                opening()
        assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == was
    for opening in (lambda: Rows(damaged), lambda: read(damaged)):
        with pytest.raises(DataError, match=r"rows.sqlite .*not a database"):
            opening()
    with pytest.raises(DataError, match="There are no measurements in the folder cells"):
        read(before / "cells")
    with pytest.raises(DataError, match="The folder nowhere does not exist"):
        read(tmp_path / "nowhere")


def test_a_picture_swapped_under_its_name_takes_the_place_of_its_row(tmp_path: Path) -> None:
    write(tmp_path, 3)
    with Rows(tmp_path) as rows:
        assert ("cat/1.png", "other") not in rows.stored(1)
        assert rows.write([row(1, 1, content="other", answer="dog")]) == 1
        assert rows.write([row(1, 1, content="other", answer="cat")]) == 0, "the second insert is ignored"
        assert sorted(rows.stored(1)) == [("cat/0.png", "c0"), ("cat/1.png", "other"), ("cat/2.png", "c2")]
    assert list(read(tmp_path).answer) == ["cat", "dog", "cat"]


def test_a_later_setting_finds_the_rows_of_before_and_measures_its_other_values(tmp_path: Path) -> None:
    asked = {"hand_prompt": "photo"}
    later = asked | {"sinkhorn_iterations": RECOMMENDED.sinkhorn_iterations}
    with Rows(tmp_path) as rows:
        first = rows.measurement(key(method_settings=asked), FACTS)
        assert rows.measurement(key(method_settings=later), FACTS) == first
        other = rows.measurement(key(method_settings=later | {"sinkhorn_iterations": 7}), FACTS)
        assert other != first
        assert rows.measurement(key(method_settings=asked | {"views": 3}), FACTS) not in (first, other)
        for column, value in (("weights", "w"), ("descriptions", '["a"]'), ("own_code", "x"), ("stream", "s")):
            assert rows.measurement(key(method_settings=asked, **{column: value}), FACTS) not in (first, other)


def test_the_frame_has_the_columns_of_load_runs_first_and_a_cell_counts_once(tmp_path: Path) -> None:
    one, other = tmp_path / "all" / "one", tmp_path / "all" / "other"
    write(one, 2)
    write(other, 3)
    with Rows(other) as rows:
        mixed = key(method="ensemble", attack="pgd", budget=4, steps=7, attacked_share=50, seed=0)
        number = rows.measurement(mixed, FACTS)
        rows.write([row(number, 0, attacked=True, already_wrong=False, gradient=0.5), row(number, 1)])
    frame, about = read(tmp_path / "all"), measurements(tmp_path / "all")
    assert tuple(frame)[: len(store.COLUMNS)] == store.COLUMNS
    assert (len(frame), set(frame.measurement), frame.right.dtype) == (5, set(about.index), bool)
    assert about.loc[frame.measurement.iloc[0]].answers == 3, "the folder with most rows"
    pgd = frame[frame.method == "ensemble"][["attack", "budget", "steps"]]
    assert pgd.to_numpy().tolist() == [["pgd:50", 4, 7], ["none", 0, 0]]
    assert about.class_names.iloc[0] == json.loads(frame.class_names.iloc[0]) == ["cat", "dog"]


def test_a_measurement_without_any_answer_begins_anew(tmp_path: Path) -> None:
    with Rows(tmp_path) as rows:
        number = rows.measurement(key(), FACTS)
        failed = {"answer": None, "right": None, "fault": "It fails.", "detail": "why"}
        rows.write([row(number, 0, **failed)])
        assert read(tmp_path).fault.tolist() == ["It fails."]
        rows.forget_faults(number)
        assert not rows.stored(number)
        rows.write([row(number, 0)])
        rows.write([row(number, 1, **failed)])
        rows.forget_faults(number)
        assert len(rows.stored(number)) == 2
