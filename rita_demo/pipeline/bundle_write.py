"""A run as a zip: settings, answers, arrays, pictures, the cache it was decided from, and a page; the arena as a table.

The same run gives the same bytes: members carry no date. Nothing in the zip names this machine.
"""

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rita_demo.attacks.adaptive import attack_text
from rita_demo.data.pictures import png_bytes
from rita_demo.pipeline.arena import COLUMNS, ArenaTable, TowerTable, cell_settings, masked, unattacked
from rita_demo.pipeline.export import arrays_file, to_json, used_settings
from rita_demo.pipeline.run import threat_model
from rita_demo.records import ImageResult, Run, Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings import SETTINGS

FORMAT, ARENA_FORMAT = "rita-demo run 1", "rita-demo arena 1"
MAX_ARRAY_BYTES = 64 << 20  # a run with larger arrays (many classes) is saved without them
README_TEXT = """A run of the RITA demo, as it was made (what-ifs are not part of it). To see it again: python -m rita_demo open THIS_FILE.zip

settings.json        every setting, the class names, true class, target, methods, model
result.json          what every method answered (the format of: explain --json)
verdicts.csv         the answers as a table; probability in [0, 1], margin in its own unit
costs.csv            per class d_OT, alpha * d_cOT and their sum (cosine distances; the lowest total wins)
arrays.safetensors   what RITA decided from (the format of: explain --arrays); left out above 64 MB
clean.png, attacked.png   the squares, exact to the pixel
perturbation.png     128 + attacked - clean, channel by channel
memory.safetensors   the memory the picture was decided from, unless it was empty
arena.csv, arena.json   every defence against every attacker on this picture, if the tab Arena was filled
page.html            the run as one page that needs no server and no network
figures/             the figures that were on screen, as SVG
"""


def write_bundle(
    run: Run,
    page: str,
    cache_file: bytes | None = None,
    figures: Mapping[str, str] | None = None,
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """The bytes of the zip. ``page``: the run as one HTML page; ``cache_file``: ``run.cache_before`` as a file, if it has
    seen a picture; ``figures``: name -> SVG; ``more``: further members by name.

    Raises:
        SettingError: the run used a file of this machine.
    """
    members: dict[str, bytes] = {
        "README.txt": README_TEXT.encode(),
        "settings.json": json_bytes(request_json(run, cache_file is not None)),
        "result.json": json_bytes(to_json(run)),
        "verdicts.csv": csv_bytes(verdict_rows(run)),
        "costs.csv": csv_bytes(_costs(run)),
        "clean.png": png_bytes(run.clean.picture.pixels),
        "page.html": page.encode(),
    }
    if run.attack is not None:
        clean, attacked = run.clean.picture.pixels, run.attacked.picture.pixels
        members["attacked.png"] = png_bytes(attacked)
        change = attacked.astype(np.int16) - clean
        members["perturbation.png"] = png_bytes((128 + change).clip(0, 255).astype(np.uint8))
    if len(arrays := arrays_file(run)) <= MAX_ARRAY_BYTES:
        members["arrays.safetensors"] = arrays
    if cache_file is not None:
        members["memory.safetensors"] = cache_file
    members |= {f"figures/{name}.svg": svg.encode() for name, svg in (figures or {}).items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in {**members, **(more or {})}.items():
            info = zipfile.ZipInfo(name)  # dated 1980
            info.compress_type = zipfile.ZIP_STORED if name.endswith(".png") else zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    return buffer.getvalue()


def request_json(run: Run, has_cache: bool) -> dict[str, Any]:
    """``settings.json``: the request, which makes the run again, apart from the picture and the cache. ``result.json``
    has the settings as they act."""
    settings, names = run.settings.as_dict(), run.class_prompts.names
    for setting in SETTINGS.values():
        if setting.kind == "file" and getattr(run.settings, setting.name) not in setting.choices:
            raise SettingError(
                f"{setting.label} came from a file of the machine this run was made on.",
                "Only runs without such a file can be saved.",
            )
    target = None if run.attack is None else run.attack.target
    return {
        "format": FORMAT,
        "settings": settings,
        "classes": list(names),
        "label": names[run.label] if run.label_given else None,
        "target": None if target is None else names[target],
        "methods": list(run.answered),
        "backbone": run.backbone.name,
        "memory": has_cache,
    }


def _sides(run: Run) -> list[tuple[str, ImageResult]]:
    clean = [("clean", run.clean)]
    return clean if run.attack is None else [*clean, ("attacked", run.attacked)]


def _costs(run: Run) -> list[list[Any]]:
    """Rows of ``costs.csv``: head, then one per class."""
    columns: dict[str, Iterable[Any]] = {"class": run.class_prompts.names}
    for name, side in _sides(run):
        trace = side.trace
        columns[f"{name}_prompt_distance"] = trace.prompt_transport.distance.tolist()
        columns[f"{name}_weighted_cache_distance"] = (run.settings.cache_weight * trace.cache_distance).tolist()
        columns[f"{name}_total"] = trace.total.tolist()
    return [list(columns), *map(list, zip(*columns.values()))]


def verdict_rows(run: Run) -> list[list[Any]]:
    """Rows of ``verdicts.csv``: head, then one per method."""
    sides = _sides(run)
    parts = ("answer", "probability", "margin")
    rows: list[list[Any]] = [["method", *(f"{name}_{part}" for name, _ in sides for part in parts), "margin_unit"]]
    for method in run.answered:
        row: list[Any] = [method]
        for _, side in sides:
            said = side.verdicts[method]
            share = float(said.probability[said.label])
            row += [run.class_prompts.names[said.label], share, float(said.margin)]
        rows.append([*row, run.clean.verdicts[method].margin_unit])
    return rows


def json_bytes(value: Any) -> bytes:
    """A value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode()


def csv_bytes(rows: list[list[Any]]) -> bytes:
    """Rows as CSV; a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    formula = ("=", "+", "-", "@")
    text = io.StringIO()
    for row in rows:
        cells = [f"'{cell}" if isinstance(cell, str) and cell.startswith(formula) else cell for cell in row]
        csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def arena_rows(table: ArenaTable) -> list[dict[str, Any]]:
    """One row per known cell: ``attack`` as ``explain`` takes it, ``budget`` in 1/255, ``probability`` in [0, 1],
    ``margin`` in ``margin_unit``; ``masked``: see :func:`rita_demo.pipeline.arena.masked`; ``fault``: why there is no
    answer."""
    return [
        _row(table, tower, name, column)
        for tower in table.towers.values()
        for name in table.methods
        for column in COLUMNS
        if (name, column) in tower.cells
    ]


def arena_json(table: ArenaTable) -> bytes:
    """Class names, settings and :func:`arena_rows`."""
    run = table.run
    settings = unattacked(used_settings(run)).as_dict()
    classes = list(run.class_prompts.names)
    return json_bytes({"format": ARENA_FORMAT, "classes": classes, "settings": settings, "rows": arena_rows(table)})


def arena_csv(table: ArenaTable) -> bytes:
    """:func:`arena_rows` with a head."""
    rows = arena_rows(table)
    return csv_bytes([list(rows[0]), *(list(row.values()) for row in rows)] if rows else [])


def _row(table: ArenaTable, tower: TowerTable, name: str, column: str) -> dict[str, Any]:
    run, cell, settings = table.run, tower.cells[name, column], cell_settings(table.run.settings, name, column)
    prompts, square = run.class_prompts, run.clean.picture
    threat = threat_model(settings, prompts, square, tower.label, run.label_given, None, (name,))
    answer = cell if isinstance(cell, Verdict) else None
    return {
        "model": tower.backbone.name,
        "defence": name,
        "attacker": column,
        "attack": attack_text(settings),
        "budget": threat.budget if column != "none" else 0,
        "steps": threat.steps if column != "none" else 0,
        "label": prompts.names[tower.label],
        "label_given": run.label_given,
        "answer": prompts.names[answer.label] if answer else None,
        "right": tower.right.get((name, column)),
        "probability": float(answer.probability[answer.label]) if answer else None,
        "margin": float(answer.margin) if answer else None,
        "margin_unit": answer.margin_unit if answer else None,
        "masked": column == "adaptive" and masked(tower, name),
        "fault": None if answer else cell,
        "threat_model": " ".join(threat.sentences),
    }
