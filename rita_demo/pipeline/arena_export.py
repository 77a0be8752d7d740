"""The arena's table as CSV and JSON: one row per answer, with unit and threat model."""

from typing import Any

from rita_demo.attacks.adaptive import attack_text
from rita_demo.pipeline.arena import COLUMNS, ArenaTable, TowerTable, cell_settings, masked, right, unattacked
from rita_demo.pipeline.bundle_write import csv_bytes, json_bytes
from rita_demo.pipeline.threat_model import threat_model
from rita_demo.records import Verdict

FORMAT = "rita-demo arena 1"


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
    settings = unattacked(run.settings).as_dict()
    classes = list(run.class_prompts.names)
    return json_bytes({"format": FORMAT, "classes": classes, "settings": settings, "rows": arena_rows(table)})


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
        "right": right(tower, name, column),
        "probability": float(answer.probability[answer.label]) if answer else None,
        "margin": float(answer.margin) if answer else None,
        "margin_unit": answer.margin_unit if answer else None,
        "masked": column == "adaptive" and masked(tower, name),
        "fault": None if answer else cell,
        "threat_model": " ".join(threat.sentences),
    }
