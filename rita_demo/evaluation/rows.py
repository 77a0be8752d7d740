"""Temporary stand-in until the store of h-rows is merged: both frames from the cells of today."""

from pathlib import Path
from typing import Any

import pandas

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.planned_cells import canonical_settings
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.store import files
from rita_demo.evaluation.store.cell_file import FAILED, CellHeader, run_folders
from rita_demo.records.errors import SettingError
from rita_demo.settings import in_groups


def _cells(folders: tuple[Path, ...]) -> list[tuple[CellHeader, list[dict], list[dict]]]:
    cells: dict[str, tuple[CellHeader, list[dict], list[dict]]] = {}
    for folder in run_folders(map(Path, folders)):
        for place in sorted((folder / "cells").iterdir()):
            rows = files.read_lines(place / "rows.jsonl") if (place / "header.json").is_file() else []
            if len(rows) > (len(cells[place.name][1]) if place.name in cells else 0):
                cells[place.name] = CellHeader.read(place), rows, files.read_lines(place / FAILED)
    return list(cells.values())


def found(folder: Path) -> list[tuple[Path, CellHeader, list[dict]]]:
    all_places = [place for place in sorted((folder / "cells").iterdir()) if files.read_lines(place / "rows.jsonl")]
    return [(place, header, rows) for place, (header, rows, _) in zip(all_places, _cells((folder,)))]


def read(*folders: str | Path) -> pandas.DataFrame:
    found: list[dict[str, Any]] = []
    for number, (header, rows, failed) in enumerate(_cells(folders)):
        text = ", ".join(f"{name}={value}" for name, value in header.non_default.items())
        after = {"weights": header.weights, "non_default": text, "measurement": number, "fault": None}
        for place, row in enumerate(rows):
            attack = "none" if row["attack"] == "none" else header.columns["attack"]
            found.append(row | after | {"attack": attack, "place": place, "attacked": attack != "none"})
        shared = header.columns | {"seed": header.seed, "detail": ""}
        found += [{"measurement": number} | shared | one for one in failed]
    return pandas.json_normalize(found, sep="_")


def measurements(*folders: str | Path) -> pandas.DataFrame:
    found = []
    for header, _, _ in _cells(folders):
        try:
            cell = header.cell
            method_settings = canonical_settings(cell.method, cell.requested.replace(attack="none"), cell.fixed_seeds)
            row = DEFENCES[cell.method]
            names = {*in_groups(*row.groups), *row.setting_names} - set(SEEDS)
            known = {name: getattr(method_settings, name) for name in names}
            _, made, also = planned_cells.settings_by_part(cell, header.names)
        except SettingError:
            known, made, also = header.settings, {}, {}
        one = dict(vars(header)) | header.columns | {"requested": header.settings, "method_settings": known, "attack_settings": made | also}
        one |= {"threat": header.threat_model["sentences"], "class_names": list(header.names)}
        one["aim"] = one.pop("target")
        one |= {"attacked_share": header.traffic.get("share", 100)}
        for name in ("columns", "threat_model", "names", "seeds", "pool"):
            one.pop(name)
        found.append(one)
    frame = pandas.DataFrame(found)
    frame.index.name = "measurement"
    return frame
