"""A run as files: JSON, arrays and tables (docs/python.md), and all of it as one zip, which
:mod:`rita_demo.pipeline.bundle_read` opens; the arena as a table.

The same run gives the same bytes: members of the zip carry no date. Nothing in them names this machine."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from safetensors.numpy import save

import rita_demo
from rita_demo.data import record_file
from rita_demo.data.descriptions import missing_note, with_used_descriptions
from rita_demo.data.pictures import png_bytes
from rita_demo.pipeline.arena import ArenaTable, TowerTable, cell_settings, columns, masked, unattacked
from rita_demo.pipeline.run import threat_model
from rita_demo.records import ImageResult, Run, Verdict
from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import Json, JsonValue
from rita_demo.records.masking_signs import QUESTIONS
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.settings import SETTINGS, Settings
from rita_demo.settings.attack_name import attack_text

FORMAT, ARENA_FORMAT = "rita-demo run 2", "rita-demo arena 1"
CONTAINER = "run.zip"  # what is opened again
MAX_ARRAY_BYTES = 64 << 20  # a run with larger arrays (many classes) is saved without them
README_TEXT = """A run of the RITA demo, as it was made (what-ifs are not part of it). To see it again: python -m rita_demo open THIS_FILE.zip

settings.json        every setting, the class names, true class, target, methods, model
result.json          what every method answered (the format of: explain --json)
verdicts.csv         the answers as a table; probability in [0, 1], margin in its own unit
costs.csv            per class d_OT, alpha * d_cOT and their sum (cosine distances; the lowest total wins)
arrays.safetensors   what RITA decided from (the format of: explain --arrays); left out above 64 MB
clean.png, attacked.png   the squares, exact to the pixel
perturbation.png     128 + attacked - clean, channel by channel
run.zip              what is opened again: the request, the answers and the memory it was decided from
arena.csv, arena.json   every defence against every attacker on this picture, if the Arena was filled
page.html            the run as one page that needs no server and no network
figures/             the figures that were on screen, as SVG
"""


@dataclass(frozen=True, eq=False)
class StoredRun:
    """What is opened again: the request and its answers. ``label`` and ``target`` are numbers of ``names``; pictures are PNG
    files, ``memory`` is the cache before the run as a file."""

    format: str
    settings: Mapping[str, Any]
    names: tuple[str, ...]
    label: int | None
    target: int | None
    methods: tuple[str, ...]
    backbone: str
    clean: bytes
    attacked: bytes | None
    memory: bytes | None
    answers: tuple[tuple[str, str, str, float], ...]  # side, method, class name, probability


def to_json(run: Run) -> dict[str, Any]:
    """``explain --json``: classes, settings, threat model, device, timings, clean and attacked answers.

    ``masking``: signs of masking; a run can show one, a gradient of zero, so without it the list is None.
    ``attacked`` repeats ``clean`` with ``linf`` = ``l2`` = 0 and ``fooled`` = False when nothing was attacked."""
    attack = run.attack
    attacked = _result_json(run.attacked, run) | {
        "linf": float(attack.linf) if attack else 0.0,
        "l2": float(attack.l2) if attack else 0.0,
        "masking": [QUESTIONS[1]] if attack and attack.gradient == 0 else None,
        "fooled": bool(attack.fooled) if attack else False,
        "already_wrong": bool(attack.already_wrong) if attack else False,
    }
    return {
        "classes": list(run.class_prompts.names),
        "label": run.class_prompts.names[run.label],
        "label_given": run.label_given,
        "unknown_words": {n: list(w) for n, w in zip(run.class_prompts.names, run.class_prompts.unknown) if w},
        "settings": used_settings(run).as_dict(),
        "notes": list(notes(run)),
        "threat_model": asdict(run.threat_model),
        "backbone": run.backbone.name,
        "temperature": float(run.class_prompts.temperature),
        "version": rita_demo.__version__,
        "device": run.backbone.device,
        "timings": {name: round(value, 6) for name, value in run.seconds.items()},
        "clean": _result_json(run.clean, run),
        "attacked": attacked,
    }


def used_settings(run: Run) -> Settings:
    """The settings as they act on the classes of the run: what is printed and stored. ``run.settings`` are the request."""
    return with_used_descriptions(run.settings, run.class_prompts.names)


def notes(run: Run) -> tuple[str, ...]:
    """Sentences on what the settings ask for and is not done, and on class names that the model cannot tell apart."""
    return tuple(filter(None, [missing_note(run.settings, used_settings(run)), run.class_prompts.warning]))


def answers_of(result: Mapping[str, Any]) -> dict[tuple[str, str], tuple[str, float]]:
    """Side and method -> class name and probability, of an ``explain --json``."""
    return {
        (side, method): (answer["label"], answer["probability"])
        for side in ("clean", "attacked")
        for method, answer in result[side]["methods"].items()
    }


def _result_json(side: ImageResult, run: Run) -> dict[str, Any]:
    methods: dict[str, dict[str, Any]] = {}
    for name, verdict in side.verdicts.items():
        label, probability = run.class_prompts.names[verdict.label], float(verdict.probability[verdict.label])
        methods[name] = {"label": label, "probability": probability, "margin": float(verdict.margin)}
        methods[name]["margin_unit"] = verdict.margin_unit
    trace = side.trace
    methods["rita"] |= {
        "prompt_distance": trace.prompt_transport.distance.tolist(),
        "cache_distance": trace.cache_distance.tolist(),
        "total": trace.total.tolist(),
    }
    faults = {name: str(fault) for name, fault in side.faults.items()}
    return {"methods": methods} | ({"faults": faults} if faults else {})


def to_arrays(run: Run) -> dict[str, np.ndarray]:
    """``explain --arrays``: RITA on the delivered picture exactly as it decided; from these alone
    numpy recomputes the decision. Shapes: N views, K classes, M prompts, J slots, D width.
    ``text_mean`` is zbar_k, what a class without memory is compared with (``empty_class=text_mean``)."""
    trace = run.attacked.trace
    prompts = trace.prompt_features if run.settings.cache_text == "tuned" else run.class_prompts.features
    arrays = {
        "view_features": trace.view_features,  # (N, D)
        "prompt_features": trace.prompt_features,  # (K, M, D)
        "view_weight": trace.view_weight,  # (N,)
        "prompt_weight": trace.prompt_weight,  # (K, M)
        "prompt_plan": trace.prompt_transport.plan,  # (K, N, M)
        "prompt_distance": trace.prompt_transport.distance,  # (K,)
        "view_entropy": trace.confidence.entropy,  # (N,)
        "boxes": run.attacked.encoded_views.views.boxes,  # (N, 4)
        "cache_features": trace.cache.features,  # (K, J, D)
        "cache_aligned": trace.alignment.aligned,  # (K, J, D)
        "cache_distance": trace.cache_distance,  # (K,)
        "temperature": [run.class_prompts.temperature],  # (1,)
        "text_mean": np.einsum("kmd,km->kd", prompts, trace.prompt_weight),  # (K, D)
    }
    numbers = {name: np.ascontiguousarray(a, np.float32) for name, a in arrays.items()}
    return numbers | {
        "kept": np.ascontiguousarray(trace.confidence.kept, bool),  # (N,)
        "cache_count": np.ascontiguousarray(trace.cache.count, np.int64),  # (K,)
    }


def arrays_file(run: Run) -> bytes:
    """:func:`to_arrays` as safetensors, with the version, the backbone and the settings (JSON) as metadata.

    The library writes metadata in an order that differs between processes; here the same run gives the same bytes."""
    data = save(to_arrays(run))
    size = int.from_bytes(data[:8], "little")
    settings = json.dumps(used_settings(run).as_dict(), ensure_ascii=False)
    about = {"version": rita_demo.__version__, "backbone": run.backbone.name, "settings": settings}
    header = json.dumps({"__metadata__": about} | json.loads(data[8 : 8 + size]), separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def write_bundle(
    run: Run,
    page: str,
    cache_file: bytes | None = None,
    figures: Mapping[str, str] | None = None,
    more: Mapping[str, bytes] | None = None,
) -> bytes:
    """The bytes of the zip. ``page``: the run as one HTML page; ``cache_file``: ``run.cache_before`` as a file, if it
    has seen a picture; ``figures``: name -> SVG; ``more``: further members by name. Raises SettingError: the run used a
    file of this machine."""
    members: dict[str, bytes] = {
        "README.txt": README_TEXT.encode(),
        "settings.json": json_bytes(request_json(run)),
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
    stored = StoredRun(
        format=FORMAT,
        settings=run.settings.as_dict(),
        names=run.class_prompts.names,
        label=run.label if run.label_given else None,
        target=None if run.attack is None else run.attack.target,
        methods=run.answered,
        backbone=run.backbone.name,
        clean=members["clean.png"],
        attacked=members.get("attacked.png"),
        memory=cache_file,
        answers=tuple((*at, *answer) for at, answer in answers_of(to_json(run)).items()),
    )
    members[CONTAINER] = record_file.pack(stored)
    members |= {f"figures/{name}.svg": svg.encode() for name, svg in (figures or {}).items()}
    return record_file.zip_bytes({**members, **(more or {})})


def request_json(run: Run) -> dict[str, JsonValue]:
    """``settings.json``: the request, apart from the picture and the cache. ``result.json`` has the settings as they act."""
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
    }


def _sides(run: Run) -> list[tuple[str, ImageResult]]:
    clean = [("clean", run.clean)]
    return clean if run.attack is None else [*clean, ("attacked", run.attacked)]


def _costs(run: Run) -> list[list[Json]]:
    """Rows of ``costs.csv``: head, then one per class."""
    columns: dict[str, Iterable[Json]] = {"class": run.class_prompts.names}
    for name, side in _sides(run):
        trace = side.trace
        columns[f"{name}_prompt_distance"] = trace.prompt_transport.distance.tolist()
        columns[f"{name}_weighted_cache_distance"] = (run.settings.cache_weight * trace.cache_distance).tolist()
        columns[f"{name}_total"] = trace.total.tolist()
    return [list(columns), *map(list, zip(*columns.values()))]


def verdict_rows(run: Run) -> list[list[Json]]:
    """Rows of ``verdicts.csv``: head, then one per method."""
    sides = _sides(run)
    parts = ("answer", "probability", "margin")
    rows: list[list[Json]] = [["method", *(f"{name}_{part}" for name, _ in sides for part in parts), "margin_unit"]]
    for method in run.answered:
        row: list[Json] = [method]
        for _, side in sides:
            verdict = side.verdicts[method]
            share = float(verdict.probability[verdict.label])
            row += [run.class_prompts.names[verdict.label], share, float(verdict.margin)]
        rows.append([*row, run.clean.verdicts[method].margin_unit])
    return rows


def json_bytes(value: Json) -> bytes:
    """A value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode()


def arena_rows(table: ArenaTable) -> list[dict[str, Json]]:
    """One row per known cell: ``attack`` as ``explain`` takes it, ``budget`` in 1/255, ``probability`` in [0, 1],
    ``margin`` in ``margin_unit``; ``masked``: see :func:`rita_demo.pipeline.arena.masked`; ``fault``: why there is no
    answer."""
    return [
        _row(table, tower, name, column)
        for tower in table.towers.values()
        for name in table.methods
        for column in columns()
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


def _row(table: ArenaTable, tower: TowerTable, name: str, column: str) -> dict[str, Json]:
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
        "fault": None if isinstance(cell, Verdict) else cell,
        "threat_model": " ".join(threat.sentences),
    }
