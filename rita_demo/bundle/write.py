"""A story as a zip: settings, answers, arrays, pictures, the memory it was decided from, a page to look at.

The same story gives the same bytes: members carry no date. Nothing in it names this machine.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from safetensors.numpy import save

from rita_demo.data.pictures import png_bytes
from rita_demo.errors import SettingError
from rita_demo.exports import to_arrays, to_json
from rita_demo.records import Side, Story
from rita_demo.settings import KNOBS

FORMAT = "rita-demo run 1"
LARGEST_ARRAYS = 64 << 20  # bytes; a run with larger ones (many classes) is saved without them
ABOUT = """A run of the RITA demo, as it was made (what-ifs are not part of it). To see it again: python -m rita_demo open THIS_FILE.zip

settings.json        every setting, the class names, true class, target, methods, model
result.json          what every method answered (the format of: explain --json)
verdicts.csv         the answers as a table; probability in [0, 1], margin in its own unit
costs.csv            per class d_OT, alpha * d_cOT and their sum (cosine distances; the lowest total wins)
arrays.safetensors   what RITA decided from (the format of: explain --arrays); left out above 64 MB
clean.png, attacked.png   the squares, exact to the pixel
perturbation.png     128 + attacked - clean, channel by channel
memory.safetensors   the memory the picture was decided from, where it had seen a picture
page.html            the run as one page that needs no server and no network
figures/             the figures that were on screen, as SVG
"""


def pack(
    story: Story, page: str, memory: bytes | None = None, figures: Mapping[str, str] | None = None
) -> bytes:
    """The zip's bytes.

    Args:
        page: the story as one HTML page.
        memory: ``story.cache_before`` as a file, where it has seen a picture.
        figures: name -> SVG.

    Raises:
        SettingError: the run used a file of the machine it was made on.
    """
    members: dict[str, bytes] = {
        "README.txt": ABOUT.encode(),
        "settings.json": _json(asked(story, memory is not None)),
        "result.json": _json(to_json(story)),
        "verdicts.csv": _csv(_verdicts(story)),
        "costs.csv": _csv(_costs(story)),
        "clean.png": png_bytes(story.clean.picture.pixels),
        "page.html": page.encode(),
    }
    if story.attack is not None:
        clean, attacked = story.clean.picture.pixels, story.attacked.picture.pixels
        members["attacked.png"] = png_bytes(attacked)
        change = attacked.astype(np.int16) - clean
        members["perturbation.png"] = png_bytes((128 + change).clip(0, 255).astype(np.uint8))
    arrays = to_arrays(story)
    if sum(array.nbytes for array in arrays.values()) <= LARGEST_ARRAYS:
        members["arrays.safetensors"] = save(arrays)
    if memory is not None:
        members["memory.safetensors"] = memory
    members |= {f"figures/{name}.svg": svg.encode() for name, svg in (figures or {}).items()}
    return _zipped(members)


def asked(story: Story, memory: bool) -> dict[str, Any]:
    """``settings.json``: all that makes the run again, apart from the square and the memory."""
    settings, names = story.settings.as_dict(), story.bank.names
    for knob in KNOBS.values():
        if knob.kind == "file" and settings[knob.name] not in knob.choices:
            raise SettingError(
                f"{knob.label} came from a file of the machine this run was made on.",
                "Only runs without such a file can be saved.",
            )
    target = None if story.attack is None else story.attack.target
    return {
        "format": FORMAT,
        "settings": settings,
        "classes": list(names),
        "label": names[story.label] if story.label_given else None,
        "target": None if target is None else names[target],
        "methods": list(story.methods),
        "backbone": story.backbone.name,
        "memory": memory,
    }


def _sides(story: Story) -> list[tuple[str, Side]]:
    clean = [("clean", story.clean)]
    return clean if story.attack is None else [*clean, ("attacked", story.attacked)]


def _costs(story: Story) -> list[list[Any]]:
    """Rows of ``costs.csv``: head, then one per class."""
    columns: dict[str, Iterable[Any]] = {"class": story.bank.names}
    weight = story.settings.cache_weight
    for name, side in _sides(story):
        trace = side.trace
        columns[f"{name}_prompt_distance"] = trace.prompt.distance
        columns[f"{name}_weighted_cache_distance"] = weight * trace.cache_distance
        columns[f"{name}_total"] = trace.total
    return [list(columns), *([_plain(v) for v in row] for row in zip(*columns.values()))]


def _verdicts(story: Story) -> list[list[Any]]:
    """Rows of ``verdicts.csv``: head, then one per method."""
    sides = _sides(story)
    parts = ("answer", "probability", "margin")
    rows: list[list[Any]] = [
        ["method", *(f"{name}_{part}" for name, _ in sides for part in parts), "margin_unit"]
    ]
    for method, first in story.clean.verdicts.items():
        row: list[Any] = [method]
        for _, side in sides:
            said = side.verdicts[method]
            share = float(said.probability[said.label])
            row += [story.bank.names[said.label], share, float(said.margin)]
        rows.append([*row, first.margin_unit])
    return rows


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).encode()


def _csv(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([[_harmless(cell) for cell in row] for row in rows])
    return text.getvalue().encode()


def _harmless(cell: Any) -> Any:
    """A class name that a spreadsheet would run as a formula gets an apostrophe in front."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell


def _zipped(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)  # dated 1980: the same story, the same bytes
            info.compress_type = (
                zipfile.ZIP_STORED if name.endswith(".png") else zipfile.ZIP_DEFLATED
            )
            file.writestr(info, data)
    return buffer.getvalue()
