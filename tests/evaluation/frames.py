"""The two DataFrames of stored rows, made by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas

from rita_demo.evaluation.frames import measurements, read
from rita_demo.evaluation.report import cells, paired, tables

Cell = tuple[dict[str, Any], list[dict[str, Any]]]


def cell(method: str = "rita", attack: str = "pgd", rights: str = "yyyynnnn", **more: Any) -> Cell:
    """One measurement of one seed, and its rows: a letter per picture, y where it is right, n where wrong, f where the
    user's own code failed; the pictures are a, b, c, ... ``more`` replaces other columns."""
    clean = attack == "none"
    about = {
        **{"dataset": "caltech101", "split": "test", "backbone": "embedded", "weights": "abcdef0123456789"},
        **{"method": method, "attack": attack, "budget": 0 if clean else 1, "steps": 0 if clean else 7},
        **{"protocol": "stream" if method == "rita" else "off", "settings": "x", "seed": 0, "aim": ""},
        **{"attacked_share": 100, "against": "", "method_settings": {}, "attack_settings": {}, "non_default": {}},
        **{"requested": {"views": 64}, "threat": [f"About {attack}."], "class_names": ["cat", "dog"]},
        **{"classes_present": 2, "pictures": len(rights), "available": len(rights), "left_out": {}, "missing": 0},
        **{"listed": 0, "note": "", "folder": "", "method_title": method},
    }
    names = more.pop("names", [chr(ord("a") + n) for n in range(len(rights))])
    of_rows = {name: more.pop(name) for name in ("l2", "gradient", "already_wrong", "view_seconds") if name in more}
    about |= more
    rows = []
    for name, letter in zip(names, rights):
        row = {
            **{"picture": name, "content": f"content of {name}", "picture_seed": about["seed"], "linf": 1.0},
            **{"label": "cat", "answer": "cat" if letter == "y" else "dog", "right": letter == "y"},
            **{"l2": of_rows.get("l2", 2.0), "gradient": of_rows.get("gradient", float("nan"))},
            **{"already_wrong": of_rows.get("already_wrong", False), "target": about["aim"], "version": "0.1.0"},
            **{"seconds_method": 0.4, "seconds_views": of_rows.get("view_seconds", 0.9), "fault": None},
            **{name: about[name] for name in ("dataset", "attack", "method")},
            "detail": None,
        }
        if letter == "f":
            row |= {"right": None, "answer": None, "fault": "it failed", "detail": "ValueError"}
        rows.append(row)
    return about, rows


def frames(*found: Cell) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The rows, and the measurements."""
    measured = pandas.DataFrame([about for about, _ in found]).rename_axis("measurement")
    rows = [row | {"measurement": number} for number, (_, rows) in enumerate(found) for row in rows]
    return pandas.DataFrame(rows), measured


def table(*found: Cell) -> pandas.DataFrame:
    """The cells as tables have them."""
    rows, measured = frames(*found)
    return paired.against_references(cells.summarise(rows, measured), rows)


def overview(folder: Path) -> str:
    """What ``tables`` prints of a run folder."""
    rows = read(folder)
    return tables.as_markdown(paired.against_references(cells.summarise(rows, measurements(folder)), rows))


def markdown_tables(text: str) -> list[list[list[str]]]:
    """The tables of a text: rows of cells, the first the head."""
    found: list[list[list[str]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("| "):
            if not before.startswith("|"):
                found.append([])
            found[-1].append([part.strip() for part in line.strip("|").split(" | ")])
        before = line
    return [[rows[0], *rows[2:]] for rows in found]


def column(rows: Sequence[Sequence[str]], name: str) -> list[str]:
    """The cells of a column of a table."""
    return [row[list(rows[0]).index(name)] for row in rows[1:]]
