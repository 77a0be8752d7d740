"""Measurements as rows of one database, ``RUNS/rows.sqlite``.

The table ``measurements`` has everything that a number depends on as columns, and the table ``rows`` one line per picture:
what a method answered, or why the user's own code has no answer. A picture is written with all its methods in one
transaction with a rollback journal, so the file may be copied after a kill, mailed, and read from a folder that cannot be
written. On a network folder there may be one writer alone.

What is missing is a set difference. A stream is resumed from its first missing picture; its memory is rebuilt from its rows.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rita_demo.data.folders import is_leftover
from rita_demo.records.errors import DataError, refuse_earlier
from rita_demo.settings import SETTINGS

FORMAT = 3  # increased when stored numbers change their meaning
FILE = "rows.sqlite"
TIMEOUT = 60.0  # seconds that a writer waits for another one
MEASURE_AGAIN = "Measure again into a new folder, with --out; this one stays as it is."
#: What a number depends on, beside the picture: column -> its type.
KEY = {
    "format": "INTEGER",
    "dataset": "TEXT",
    "split": "TEXT",
    "backbone": "TEXT",
    "weights": "TEXT",  # a hash of them
    "class_names": "TEXT",  # JSON list, in their order
    "descriptions": "TEXT",  # JSON; "" where the method uses none
    "method": "TEXT",
    "method_settings": "TEXT",  # JSON of the settings that the method declares
    "attack": "TEXT",
    "against": "TEXT",  # the defence that an adaptive attacker knows; "each": the method itself; "" for other attacks
    "attack_settings": "TEXT",  # JSON of the settings that the attack declares
    "budget": "INTEGER",
    "steps": "INTEGER",
    "target": "TEXT",  # a class name, "next", or ""
    "square": "TEXT",
    "protocol": "TEXT",
    "seed": "INTEGER",  # -1 where nothing depends on it
    "given_seeds": "TEXT",  # JSON of the seeds that were given by hand
    "attacked_share": "INTEGER",
    "stream_order": "TEXT",
    "stream": "TEXT",  # hash of its pictures and of the memory that it begins with, or ""; seed and order say the rest
    "own_code": "TEXT",  # hashes of the user's own method, attack and known defence
}
#: Columns that hold settings. One that is newer than a stored row has its default there.
SETTINGS_COLUMNS = ("method_settings", "attack_settings")
ROW = {
    "measurement": "INTEGER NOT NULL REFERENCES measurements",
    "picture": "TEXT NOT NULL",
    "content": "TEXT NOT NULL",  # SHA-256 of the picture's file
    "place": "INTEGER NOT NULL",  # in the order of the run
    "seed": "INTEGER NOT NULL",
    "version": "TEXT NOT NULL",
    "label": "TEXT",
    "answer": "TEXT",
    "right": "INTEGER",
    "probability": "REAL",
    "margin": "REAL",
    "linf": "REAL",  # in 1/255
    "l2": "REAL",
    "already_wrong": "INTEGER",  # NULL without an attack
    "gradient": "REAL",  # norm of the attack's first gradient; NULL without one
    "picture_seed": "INTEGER",
    "attacked": "INTEGER",
    "seconds_attack": "REAL",
    "seconds_views": "REAL",
    "seconds_method": "REAL",
    "target": "TEXT",  # the class that the attack on this picture aims at, or ""
    "entered": "TEXT",  # JSON: (class, slot, view, entropy) of each view that entered the memory
    "entered_features": "BLOB",  # their features, float32, one after the other
    "fault": "TEXT",  # why the user's own code has no answer; NULL where there is one
    "detail": "TEXT",
}
#: The columns of :func:`rita_demo.evaluation.frames.read` that ``load_runs`` has had from the beginning, in their order.
COLUMNS = (
    *("dataset", "split", "backbone", "version", "picture", "method", "attack", "budget", "steps", "protocol", "seed"),
    *("settings", "label", "answer", "right", "probability", "margin", "linf", "l2", "already_wrong", "gradient"),
    *("picture_seed", "entered", "target", "weights", "non_default"),
    *("seconds_attack", "seconds_views", "seconds_method"),
)
#: Columns of the tables as CSV; the column ``settings`` is a hash of all other parts of the key.
IN_TABLES = ("dataset", "split", "backbone", "method", "attack", "against", "budget", "steps", "protocol", "seed")
Row = dict[str, Any]
NOT_ATTACKED: Row = {"attack": "none", "budget": 0, "steps": 0}  # in the tables, of a picture in mixed traffic


def text_of(value: Any) -> str:
    """A JSON value as the text that the database holds."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """A hash of a JSON value, twelve characters; the order of its keys does not matter."""
    return hashlib.sha256(text_of(value).encode()).hexdigest()[:12]


def column_list(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _definition(columns: Mapping[str, str]) -> str:
    return ", ".join(f'"{name}" {kind}' for name, kind in columns.items())


SCHEMA = (
    f"CREATE TABLE IF NOT EXISTS measurements (id INTEGER PRIMARY KEY, {_definition(KEY)}, facts TEXT NOT NULL, "
    f"UNIQUE ({column_list(KEY)}))",
    f'CREATE TABLE IF NOT EXISTS "rows" ({_definition(ROW)}, PRIMARY KEY (measurement, picture, content))',
    f"PRAGMA user_version = {FORMAT}",
)


class Rows:
    """The rows of a run folder, to be written: ``with Rows(folder) as rows``. Several processes may write at once: each
    waits for the other's transaction, and a row that is there already is ignored. Raises DataError: the folder cannot
    be made or written, the disk is full, or a file there is of an earlier version."""

    def __init__(self, folder: Path) -> None:
        refuse_earlier_run(folder)
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"The folder for the results cannot be used: {error.strerror}.", "Name another one with --out."
            ) from error
        with sqlite_errors(self.path):
            # one user at a time, but a page may go on in another thread
            self._db = sqlite3.connect(self.path, TIMEOUT, isolation_level=None, check_same_thread=False)
            try:
                self._db.execute("PRAGMA foreign_keys = ON")
                if not _version(self._db, self.path):
                    with transaction(self._db):
                        for statement in SCHEMA:
                            self._db.execute(statement)
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Rows:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def measurement(self, key: Mapping[str, Any], facts: Mapping[str, Any]) -> int:
        """The number of the measurement with this ``key`` (the columns ``KEY``, those of settings as {name: value}), found or
        made; ``facts`` about it are renewed. A stored one that lacks a setting has its default."""
        plain = {name: key[name] for name in KEY if name not in SETTINGS_COLUMNS}
        facts_text, where = text_of(facts), " AND ".join(f'"{name}" = ?' for name in plain)
        sql = f"SELECT id, facts, {column_list(SETTINGS_COLUMNS)} FROM measurements WHERE {where}"

        def find() -> tuple[int, str] | None:
            for number, stored, *texts in self._db.execute(sql, tuple(plain.values())).fetchall():
                if all(_same_settings(json.loads(text), key[name]) for text, name in zip(texts, SETTINGS_COLUMNS)):
                    return number, stored
            return None

        with sqlite_errors(self.path):
            if (stored := find()) and stored[1] == facts_text:
                return stored[0]
            with transaction(self._db):
                if stored := find():
                    self._db.execute("UPDATE measurements SET facts = ? WHERE id = ?", (facts_text, stored[0]))
                    return stored[0]
                values = [*(text_of(key[n]) if n in SETTINGS_COLUMNS else key[n] for n in KEY), facts_text]
                marks = ", ".join("?" * len(values))
                insert = f"INSERT INTO measurements ({column_list(KEY)}, facts) VALUES ({marks})"
                number = self._db.execute(insert, values).lastrowid
                assert number is not None  # of an INSERT it is there
                return number

    def stored(self, measurement: int) -> set[tuple[str, str]]:
        """(picture, content) of the rows of a measurement, and of those that the user's own code failed at."""
        with sqlite_errors(self.path):
            sql = 'SELECT picture, content FROM "rows" WHERE measurement = ?'
            return set(self._db.execute(sql, (measurement,)))

    def forget_faults(self, measurement: int) -> None:
        """A measurement without any answer begins anew: a package may be installed by now."""
        sql = 'SELECT count(fault), count(*) FROM "rows" WHERE measurement = ?'
        with sqlite_errors(self.path):
            failed, all_rows = self._db.execute(sql, (measurement,)).fetchone()
            if failed and failed == all_rows:
                with transaction(self._db):
                    self._db.execute('DELETE FROM "rows" WHERE measurement = ?', (measurement,))

    def stream(self, measurement: int) -> list[Row]:
        """The rows of a stream in its order, with the features that entered."""
        with sqlite_errors(self.path):
            return _stream(self._db, measurement)

    def write(self, rows: Collection[Mapping[str, Any]]) -> int:
        """Write the rows of one picture in one transaction; returns how many are new. Where the picture was swapped under its
        name, its row of before goes."""
        new, marks = 0, ", ".join("?" * len(ROW))
        stale = 'DELETE FROM "rows" WHERE measurement = ? AND picture = ? AND content <> ?'
        with sqlite_errors(self.path), transaction(self._db):
            for row in rows:
                self._db.execute(stale, (row["measurement"], row["picture"], row["content"]))
                line = {**row, "entered": text_of(row["entered"])} if row.get("entered") is not None else row
                values = [line.get(name) for name in ROW]
                new += self._db.execute(f'INSERT OR IGNORE INTO "rows" VALUES ({marks})', values).rowcount
        return new


def _same_settings(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether two measurements have the same settings; one that was not there yet when a row was stored has its default."""
    return stored.keys() <= asked.keys() and all(
        value == (stored[name] if name in stored else SETTINGS[name].default) for name, value in asked.items()
    )


def _stream(db: sqlite3.Connection, measurement: int) -> list[Row]:
    cursor = db.execute('SELECT * FROM "rows" WHERE measurement = ? ORDER BY place', (measurement,))
    rows = [dict(zip(ROW, values)) for values in cursor]
    for row in rows:
        row["entered"] = json.loads(row["entered"] or "[]")
    return rows


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it is written, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """What SQLite complains about, as a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if "locked" in message:
            raise DataError(
                f"Another process has been writing into {path.parent.name} for more than {TIMEOUT:.0f} seconds.",
                "Wait until it has ended, or name another folder with --out.",
            ) from error
        if isinstance(error, sqlite3.OperationalError):
            reason = "no space left on the device" if message == "database or disk is full" else message
            raise DataError(
                f"The results cannot be written: {reason}.",
                "Make room or name another folder with --out; the same command goes on.",
            ) from error
        raise DataError(
            f"{path.parent.name}/{path.name} is damaged: {message}.", "Measure into a new folder."
        ) from error


def _version(db: sqlite3.Connection, path: Path) -> int:
    """The format of a database, 0 of an empty one. Raises DataError: of another version."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version not in (0, FORMAT):
        refuse_earlier(f"The run folder {path.parent.name}", MEASURE_AGAIN)
    return int(version)


def refuse_earlier_run(folder: Path) -> None:
    """Raises DataError about a run folder of an earlier version, which had a folder per measurement."""
    if (folder / "cells").is_dir():
        refuse_earlier(f"The run folder {folder.name}", MEASURE_AGAIN)


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The run folders among ``paths`` and directly below them. Raises DataError: a path is neither, or is of an earlier
    version."""
    folders: list[Path] = []
    for path in paths:
        if not path.exists():
            hint = "Name the folder that evaluate wrote to."
            raise DataError(f"The folder {path.name or path} does not exist.", hint)
        refuse_earlier_run(path)
        below = [place.parent for place in sorted(path.glob(f"*/{FILE}")) if not is_leftover(place.parent.name)]
        if not (path / FILE).is_file() and not below:
            for place in sorted(path.glob("*/cells")):
                refuse_earlier_run(place.parent)
            raise DataError(
                f"There are no measurements in the folder {path.name or path}.",
                "Name the folder that evaluate wrote to. Where it was stopped before its first picture, run it again.",
            )
        folders += [path] if (path / FILE).is_file() else below
    return list(dict.fromkeys(folders))


@contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database of a run folder, to be read; another process may be writing to it. Raises DataError: it is damaged, or of
    an earlier version."""
    path = folder / FILE
    uri = path.absolute().as_uri()
    try:
        with closing(sqlite3.connect(f"{uri}?mode=ro", TIMEOUT, uri=True, check_same_thread=False)) as db:
            try:
                db.execute("SELECT count(*) FROM sqlite_master")
            except sqlite3.OperationalError:  # killed in a commit: the journal is rolled back by who may write
                with closing(sqlite3.connect(f"{uri}?mode=rw", TIMEOUT, uri=True)) as writer:
                    writer.execute("SELECT count(*) FROM sqlite_master")
            _version(db, path)
            yield db
    except sqlite3.Error as error:
        raise DataError(
            f"{folder.name}/{FILE} cannot be read: {error}.",
            "If its process was killed, copy the whole folder to where it can be written.",
        ) from error


def read_stream(folder: Path, measurement: int) -> list[Row]:
    """The rows of one measurement of a run folder in the order of the stream, with the features that entered the memory. Raises
    DataError: as :func:`reading`."""
    with reading(folder) as db:
        return _stream(db, measurement)


def stored_measurements(folder: Path) -> list[Row]:
    """The measurements of a run folder that have rows: ``id``, the columns ``KEY``, ``facts`` (JSON), and the numbers of
    ``answers`` and of ``faults``. Raises DataError: as :func:`reading`."""
    names = ("id", *KEY, "facts", "answers", "faults")
    counts = 'SELECT measurement, count(*) - count(fault) AS answers, count(fault) AS faults FROM "rows" GROUP BY 1'
    with reading(folder) as db:
        if not _version(db, folder / FILE):
            return []
        sql = f"SELECT {column_list(names)} FROM measurements JOIN ({counts}) ON measurement = id ORDER BY id"
        return [dict(zip(names, values)) for values in db.execute(sql)]


def stored_contents(folder: Path) -> list[tuple[int, str, str, str]]:
    """(measurement, dataset, picture, content) of every row of a run folder, as they were written. Raises DataError: as
    :func:`reading`."""
    sql = 'SELECT measurement, dataset, picture, content FROM "rows" r JOIN measurements ON measurement = id ORDER BY r.rowid'
    with reading(folder) as db:
        return db.execute(sql).fetchall() if _version(db, folder / FILE) else []


def attack_label(key: Mapping[str, Any]) -> str:
    """The attack of a measurement as the tables name it: ``pgd``, ``adaptive:rita``; targeted ``pgd@next``; on half of the
    pictures ``pgd:50``."""
    against = f":{key['against']}" if key["against"] not in ("", "each") else ""
    target, share = key["target"], key["attacked_share"]
    return key["attack"] + against + (f"@{target}" if target else "") + (f":{share}" if share != 100 else "")


def settings_hash(key: Mapping[str, Any]) -> str:
    """The column ``settings`` of the tables: a hash of everything that decides a number and has no column there."""
    return digest({name: key[name] for name in KEY if name not in IN_TABLES})
