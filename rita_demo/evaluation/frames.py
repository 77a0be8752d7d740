"""The rows and the measurements of run folders as two DataFrames."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.evaluation.measurement import Measurement, settings_text
from rita_demo.evaluation.rows import (
    COLUMNS,
    KEY,
    ROW,
    SETTINGS_COLUMNS,
    Row,
    attack_label,
    column_list,
    reading,
    run_folders,
    settings_hash,
    stored_measurements,
)
from rita_demo.records.errors import DataError

if TYPE_CHECKING:
    import pandas

#: Columns of the database -> what frames call them, where ``attack`` is the tables' and ``target`` a row's.
RENAMED = {"attack": "attack_name", "target": "aim"}


def _chosen(folders: Sequence[str | Path]) -> list[tuple[Path, Row]]:
    """The measurements of run folders. One that several folders have counts once: the one with most answers."""
    best: dict[tuple[Any, ...], tuple[Path, Row]] = {}
    for folder in run_folders(map(Path, folders)):
        for one in stored_measurements(folder):
            key = tuple(one[name] for name in KEY)
            if key not in best or one["answers"] > best[key][1]["answers"]:
                best[key] = folder, one
    if not best:
        names = ", ".join(Path(folder).name for folder in folders)
        raise DataError(f"Nothing is measured yet in {names}.", "Run its evaluate again: it goes on where it ended.")
    return list(best.values())


def measurements(*folders: str | Path) -> pandas.DataFrame:
    """The measurements of run folders, or of folders of them, with at least one row, indexed by ``measurement``: the columns
    ``KEY`` (settings, names and descriptions as they are, not as JSON; the attack's name is ``attack_name`` and the
    request's target ``aim``), ``attack`` and ``settings`` as in the tables, the numbers of ``answers`` and ``faults``, and
    the facts of the last run: see :mod:`rita_demo.evaluation.measurement`.

    Raises:
        DataError: a folder is not a run folder, or its database is damaged or of an earlier version.
    """
    import pandas

    lines = [_line(one) for _, one in _chosen(folders)]
    return pandas.DataFrame(lines).rename_axis("measurement")


def _line(one: Row) -> Row:
    key = {RENAMED.get(name, name): one[name] for name in KEY}
    for name in ("class_names", "descriptions", "given_seeds", *SETTINGS_COLUMNS):
        key[name] = json.loads(key[name]) if key[name] else None
    about = Measurement.of(one)
    return (
        key
        | json.loads(one["facts"])
        | {"attack": attack_label(one), "settings": settings_hash(one), "non_default": about.non_default}
        | {"method_title": about.title, "id": one["id"], "answers": one["answers"], "faults": one["faults"]}
        | {"pictures": about.pictures}
    )


def read(*folders: str | Path) -> pandas.DataFrame:
    """One line per row of run folders, or of folders of them: the columns ``COLUMNS``, then ``measurement`` (the index of
    :func:`measurements` of the same folders), ``content``, ``place``, ``fault``, ``detail`` and the rest of the key.

    ``attack`` is what the tables call it; in mixed traffic a clean picture has ``none``. Where ``fault`` is not missing, the
    user's own code failed and there is no answer.

    Raises:
        DataError: as :func:`measurements`.
    """
    import pandas

    lines, texts = list[Row](), ("class_names", "descriptions", *SETTINGS_COLUMNS)
    names = [name for name in ROW if name != "entered_features"]
    for number, (folder, one) in enumerate(_chosen(folders)):
        about = Measurement.of(one)
        shared = {RENAMED.get(name, name): one[name] for name in KEY if name not in ("seed", "budget", "steps")}
        shared |= {
            "measurement": number,
            "settings": settings_hash(one),
            "non_default": settings_text(about.non_default),
        }
        attacked = {"attack": attack_label(one), "budget": one["budget"], "steps": one["steps"]}
        clean = {"attack": "none", "budget": 0, "steps": 0}
        with reading(folder) as db:
            sql = f'SELECT {column_list(names)} FROM "rows" WHERE measurement = ? ORDER BY place'
            for values in db.execute(sql, (one["id"],)):
                row = dict(zip(names, values))
                row["entered"] = json.loads(row["entered"] or "[]")
                for name in ("right", "already_wrong"):
                    row[name] = None if row[name] is None else bool(row[name])
                lines.append(row | shared | (attacked if row["attacked"] else clean))
    beside = ("measurement", "content", "place", "fault", "detail")
    order = [*COLUMNS, *beside, *(n for n in (RENAMED.get(n, n) for n in KEY) if n not in COLUMNS)]
    frame = pandas.DataFrame(lines, columns=order)
    return frame.astype(dict.fromkeys(texts, "category"))  # long texts, each once
