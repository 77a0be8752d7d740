"""The rows and the measurements of run folders as two DataFrames."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.evaluation.measurement import Measurement, settings_text
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.rows import (
    COLUMNS,
    KEY,
    NOT_ATTACKED,
    ROW,
    SETTINGS_COLUMNS,
    Row,
    attack_label,
    column_list,
    digest,
    reading,
    run_folders,
    settings_hash,
    stored_contents,
    stored_measurements,
)
from rita_demo.records.errors import DataError, join_names

if TYPE_CHECKING:
    import pandas

#: Columns of the database -> what frames call them, where ``attack`` is the tables' and ``target`` a row's.
RENAMED = {"attack": "attack_name", "target": "aim"}
MAX_NAMED = 5  # swapped pictures


def _measured(folders: Sequence[str | Path]) -> list[tuple[Path, Row, Measurement]]:
    """The measurements of run folders: each folder, the line of its database with ``settings`` and ``non_default`` as in the
    tables, and the record. One that several folders have of the same pictures counts once: the one with most answers."""
    paths = run_folders(map(Path, folders))
    swapped, best = _swapped(paths), dict[tuple[Any, ...], tuple[Path, Row, str]]()
    for folder in paths:
        for line in stored_measurements(folder):
            other = swapped.get((folder, line["id"]), "")
            key = (*(line[name] for name in KEY), other)
            if key not in best or line["answers"] > best[key][1]["answers"]:
                best[key] = folder, line, other
    if not best:
        names = ", ".join(Path(folder).name for folder in folders)
        raise DataError(f"Nothing is measured yet in {names}.", "Run its evaluate again: it goes on where it ended.")
    measured = []
    for folder, line, other in best.values():
        about, settings = Measurement.of(line), settings_hash(line)
        told = {"settings": settings, "non_default": about.non_default}
        if other:  # both say which of its pictures are not the latest
            told = {"settings": digest([settings, other]), "non_default": about.non_default | {"swapped": other}}
        measured.append((folder, line | told, about))
    return measured


def _swapped(folders: Sequence[Path]) -> dict[tuple[Path, int], str]:
    """(folder, measurement) -> its pictures that later rows have under the same name with another content, and a digest of
    its contents; only of measurements that have one. Of several folders the last one is the latest."""
    import pandas

    lines = [(folder, *line) for folder in folders for line in stored_contents(folder)]
    rows = pandas.DataFrame(lines, columns=["folder", "measurement", "dataset", "picture", "content"])
    rows["dataset"] = [name.removesuffix(PRESENT_SUFFIX) for name in rows["dataset"]]
    old = rows[rows["content"] != rows.groupby(["dataset", "picture"])["content"].transform("last")]
    contents = {
        place: dict(zip(same["picture"], same["content"]))
        for place, same in old.groupby(["folder", "measurement"], sort=False)
    }
    return {place: f"{join_names(sorted(one), MAX_NAMED)} ({digest(one)[:8]})" for place, one in contents.items()}


def measurements(*folders: str | Path) -> pandas.DataFrame:
    """The measurements of run folders, or of folders of them, with at least one row, indexed by ``measurement``: the
    columns ``KEY`` (settings, names and descriptions as they are, not as JSON; the attack's name is ``attack_name`` and
    the request's target ``aim``), ``attack`` and ``settings`` as in the tables, the numbers of ``answers`` and
    ``faults``, and the facts of the last run: see :mod:`rita_demo.evaluation.measurement`. Raises DataError: a folder
    is not a run folder, or its database is damaged or of an earlier version."""
    import pandas

    lines = list[Row]()
    for _, line, about in _measured(folders):
        key = {RENAMED.get(name, name): line[name] for name in KEY}
        for name in ("class_names", "descriptions", "given_seeds", *SETTINGS_COLUMNS):
            key[name] = json.loads(key[name]) if key[name] else None
        tables = {name: line[name] for name in ("settings", "non_default", "id", "answers", "faults")}
        titles = {"attack": attack_label(line), "method_title": about.title, "pictures": about.pictures}
        lines.append(key | json.loads(line["facts"]) | tables | titles)
    return pandas.DataFrame(lines).rename_axis("measurement")


def read(*folders: str | Path) -> pandas.DataFrame:
    """One line per row of run folders, or of folders of them: the columns ``COLUMNS``, then ``measurement`` (the index
    of :func:`measurements` of the same folders), ``content``, ``place``, ``fault``, ``detail`` and the rest of the key.
    ``attack`` is what the tables call it; in mixed traffic a clean picture has ``none``. Where ``fault`` is not
    missing, the user's own code failed and there is no answer. Raises DataError: as :func:`measurements`."""
    import pandas

    lines, names = list[Row](), [name for name in ROW if name != "entered_features"]
    sql = f'SELECT {column_list(names)} FROM "rows" WHERE measurement = ? ORDER BY place'
    for number, (folder, line, _) in enumerate(_measured(folders)):
        shared = {RENAMED.get(name, name): line[name] for name in KEY if name not in ("seed", "budget", "steps")}
        shared |= {
            "measurement": number,
            "settings": line["settings"],
            "non_default": settings_text(line["non_default"]),
        }
        attacked = {"attack": attack_label(line), "budget": line["budget"], "steps": line["steps"]}
        with reading(folder) as db:
            for values in db.execute(sql, (line["id"],)):
                row = dict(zip(names, values))
                row["entered"] = json.loads(row["entered"] or "[]")
                for name in ("right", "already_wrong"):
                    row[name] = None if row[name] is None else bool(row[name])
                lines.append(row | shared | (attacked if row["attacked"] else NOT_ATTACKED))
    beside = ("measurement", "content", "place", "fault", "detail")
    order = [*COLUMNS, *beside, *(n for n in (RENAMED.get(n, n) for n in KEY) if n not in COLUMNS)]
    texts = dict.fromkeys(("class_names", "descriptions", *SETTINGS_COLUMNS), "category")  # long texts, each once
    return pandas.DataFrame(lines, columns=order).astype(texts)
