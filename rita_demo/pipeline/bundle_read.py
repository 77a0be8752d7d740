"""Read a saved run from an untrusted zip: every part of its container is checked, and nothing is written to disk.

The other members are for people; they are never decompressed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rita_demo.data import record_file
from rita_demo.data.pictures import open_picture
from rita_demo.data.record_file import FileError, require
from rita_demo.data.vocabularies import check_names
from rita_demo.defences.registry import DEFAULT_METHODS, DEFENCES, validated
from rita_demo.pipeline.export import CONTAINER, FORMAT, StoredRun, answers_of, to_json
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import Run
from rita_demo.records.errors import refuse_earlier
from rita_demo.settings import SETTINGS, Settings, is_complete

MAX_CONTAINER_BYTES = 64 << 20
SIDES = ("clean", "attacked")
UNKNOWN_SETTINGS = "This saved run has unknown settings: it was changed, or is of a newer version."
MAX_DIFFERENCE = 1e-6  # of a probability; JSON keeps more digits


@dataclass(frozen=True, kw_only=True)
class SavedRun(RunRequest):
    """A saved run: the request, whose picture is a PNG file, and the answers."""

    backbone: str  # the name of the model
    attacked: bytes | None  # a PNG file, None: only defended
    cache_file: bytes | None  # the cache it was decided from, None without pictures
    answers: Mapping[tuple[str, str], tuple[str, float]]  # side and method -> class name and probability


def read_file(path: Path) -> SavedRun:
    """The run in a file. Raises DemoError: as :func:`read`, or when there is no such file."""
    return read(record_file.read_limited(path, "a saved run"))


def read(data: bytes) -> SavedRun:
    """The run in a zip. Raises DemoError: one sentence on the first thing that is wrong, one on what to do."""
    if record_file.member_names(data, "saved run") & {CONTAINER, "settings.json"} == {"settings.json"}:
        refuse_earlier("This saved run", "Run its picture again and save that.", FileError)
    inside = record_file.read_member(data, CONTAINER, MAX_CONTAINER_BYTES, "saved run")
    stored = record_file.unpack(inside, "saved run", (StoredRun,), MAX_CONTAINER_BYTES)
    ours = isinstance(stored, StoredRun) and stored.format == FORMAT
    require(ours, "This zip is not a run of this page, or of another version of it.")
    require(stored.settings.keys() <= SETTINGS.keys(), UNKNOWN_SETTINGS)
    if not is_complete(stored.settings):
        refuse_earlier("This saved run", "Run its picture again and save that.", FileError)
    # untrusted: no path of this machine
    settings = Settings(**{name: SETTINGS[name].parse_untrusted(value) for name, value in stored.settings.items()})
    names = check_names(list(stored.names))
    require(names == stored.names, "A class name in this saved run occurs twice or cannot be used.")
    for part in ("label", "target"):
        number = getattr(stored, part)
        require(number is None or 0 <= number < len(names), f"The {part} in this saved run is not one of the classes.")
    attacked = settings.attack != "none"
    aimed = stored.target is None or (stored.target != stored.label and attacked)
    require(aimed, "In this saved run the target is the true class, or nothing attacks.")
    require((stored.attacked is not None) is attacked, "The attacked picture is missing or should not be there.")
    names_saved = {*validated(stored.methods), *DEFAULT_METHODS}
    methods = tuple(name for name in DEFENCES if name in names_saved)
    answers = {(side, method): (label, share) for side, method, label, share in stored.answers}
    complete = set(answers) == {(side, method) for side in SIDES for method in methods}
    complete = complete and all(label in names and 0 <= share <= 1.0001 for label, share in answers.values())
    require(complete, "This saved run does not hold an answer of every method that was asked.")
    shapes = {open_picture(png).pixels.shape for png in (stored.clean, stored.attacked) if png is not None}
    require(len(shapes) == 1, "The attacked picture in this zip is not as large as the clean one.")
    return SavedRun(
        *(stored.clean, names, settings, stored.label, stored.target),
        methods=methods,
        backbone=stored.backbone[:200],
        attacked=stored.attacked,
        cache_file=stored.memory,
        answers=answers,
    )


def differences(saved: SavedRun, run: Run) -> list[str]:
    """Sentences on what differs in ``run``, the saved run made again.

    Compared are answers, probabilities (more than 0.000001 apart) and every pixel of the attacked picture."""
    now, sentences, most = answers_of(to_json(run)), [], 0.0
    sides = SIDES[: 1 if saved.attacked is None else 2]
    for (side, method), (label, share) in saved.answers.items():
        if side in sides:
            again, again_share = now.get((side, method), ("no answer", 0.0))
            if again != label:
                sentences.append(f"{DEFENCES[method].title}, {side} picture: {label} in the file, {again} here.")
            else:
                most = max(most, abs(again_share - share))
    if most > MAX_DIFFERENCE:
        sentences.append(f"Probabilities differ by up to {most:.2g}.")
    if saved.attacked is not None:
        side = run.attacked.picture.pixels.shape[0]
        before = open_picture(saved.attacked, square="model", side=side)
        moved = np.abs(before.pixels.astype(np.int16) - run.attacked.picture.pixels)
        if moved.any():
            sentences.append(f"The attacked square differs by up to {moved.max()}/255.")
    return sentences
