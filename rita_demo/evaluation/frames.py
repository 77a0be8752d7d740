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


def _chosen(folders: Sequence[str | Path]) -> list[tuple[Path, Row]]:
    """The measurements of run folders, each with its ``swapped`` pictures in words (:func:`_swapped`). One that several
    folders have of the same pictures counts once: the one with most answers."""
    best: dict[tuple[Any, ...], tuple[Path, Row]] = {}
    found = run_folders(map(Path, folders))
    swapped = _swapped(found)
    for folder in found:
        for stored in stored_measurements(folder):
            one = stored | {"swapped": swapped.get((folder, stored["id"]), "")}
            key = (*(one[name] for name in KEY), one["swapped"])
            if key not in best or one["answers"] > best[key][1]["answers"]:
                best[key] = folder, one
    if not best:
        names = ", ".join(Path(folder).name for folder in folders)
        raise DataError(f"Nothing is measured yet in {names}.", "Run its evaluate again: it goes on where it ended.")
    return list(best.values())


def _swapped(folders: Sequence[Path]) -> dict[tuple[Path, int], str]:
    """(folder, measurement) -> its pictures that later rows have under the same name with another content, and a digest of
    its contents; only of measurements that have one. Of several folders the last one is the latest."""
    contents = {folder: stored_contents(folder) for folder in folders}
    newest: dict[tuple[str, str], str] = {}
    changed = set[tuple[str, str]]()
    for rows in contents.values():
        for _, dataset, picture, content in rows:
            place = dataset.removesuffix(PRESENT_SUFFIX), picture
            if newest.setdefault(place, content) != content:
                newest[place] = content
                changed.add(place)
    old: dict[tuple[Path, int], dict[str, str]] = {}
    for folder, rows in contents.items() if changed else ():
        for number, dataset, picture, content in rows:
            if newest[dataset.removesuffix(PRESENT_SUFFIX), picture] != content:
                old.setdefault((folder, number), {})[picture] = content
    return {place: f"{join_names(sorted(one), MAX_NAMED)} ({digest(one)[:8]})" for place, one in old.items()}


def _told_apart(one: Row, about: Measurement) -> tuple[str, dict[str, Any]]:
    """The hash ``settings`` and ``non_default`` of a measurement; both say which of its pictures are not the latest."""
    if not one["swapped"]:
        return settings_hash(one), about.non_default
    return digest([settings_hash(one), one["swapped"]]), about.non_default | {"swapped": one["swapped"]}


def measurements(*folders: str | Path) -> pandas.DataFrame:
    """The measurements of run folders, or of folders of them, with at least one row, indexed by ``measurement``: the columns
    ``KEY`` (settings, names and descriptions as they are, not as JSON; the attack's name is ``attack_name`` and the
    request's target ``aim``), ``attack`` and ``settings`` as in the tables, the numbers of ``answers`` and ``faults``, and
    the facts of the last run: see :mod:`rita_demo.evaluation.measurement`.

    Raises:
        DataError: a folder is not a run folder, or its database is damaged or of an earlier version.
    """
    import pandas

    lines = list[Row]()
    for _, one in _chosen(folders):
        key = {RENAMED.get(name, name): one[name] for name in KEY}
        for name in ("class_names", "descriptions", "given_seeds", *SETTINGS_COLUMNS):
            key[name] = json.loads(key[name]) if key[name] else None
        about = Measurement.of(one)
        settings, non_default = _told_apart(one, about)
        key |= json.loads(one["facts"])
        key |= {"attack": attack_label(one), "settings": settings, "non_default": non_default}
        key |= {"method_title": about.title, "id": one["id"], "answers": one["answers"], "faults": one["faults"]}
        lines.append(key | {"pictures": about.pictures})
    return pandas.DataFrame(lines).rename_axis("measurement")


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
        settings, non_default = _told_apart(one, Measurement.of(one))
        shared = {RENAMED.get(name, name): one[name] for name in KEY if name not in ("seed", "budget", "steps")}
        shared |= {"measurement": number, "settings": settings, "non_default": settings_text(non_default)}
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
