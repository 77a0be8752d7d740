"""Read a saved run from an untrusted zip: every part is checked, and nothing is written to disk.

The list of members is checked before any of them is decompressed, and each is decompressed only up to its limit.
Members that are not needed (page, tables, arrays, figures) are not decompressed. Nothing is unpickled.
"""

import copy
import io
import json
import re
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import check_names
from rita_demo.defences.registry import DEFAULT_METHODS, DEFENCES, validated
from rita_demo.pipeline.bundle_write import FORMAT
from rita_demo.pipeline.export import to_json
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED, SETTINGS, Settings

MB = 1 << 20
MAX_FILE_BYTES = 192 * MB
MAX_UNPACKED_BYTES = 512 * MB  # of all members
MAX_MEMBERS = 64
MAX_DIRECTORY_BYTES = 16 << 10  # of the list of members
#: member -> its largest size in bytes
MEMBER_LIMITS: dict[str, int] = {
    "settings.json": MB,
    "result.json": 8 * MB,
    "clean.png": 16 * MB,
    "attacked.png": 16 * MB,
    "memory.safetensors": 32 * MB,
    "perturbation.png": 16 * MB,
    "README.txt": MB,
    "arena.csv": MB,
    "arena.json": MB,
    "verdicts.csv": 4 * MB,
    "costs.csv": 4 * MB,
    "page.html": 128 * MB,
    "arrays.safetensors": 96 * MB,
}
FIGURE_NAME = re.compile(r"figures/[a-z0-9-]{1,80}\.svg")
MAX_FIGURE_BYTES = 16 * MB
SIDES = ("clean", "attacked")
MAX_DIFFERENCE = 1e-6  # of a probability; JSON keeps more digits
RETRY_HINT = "Save the run again on the page, or choose another file."

Answers = dict[tuple[str, str], tuple[str, float]]


class BundleError(DemoError):
    """The file is not a run that was saved by the page."""


@dataclass(frozen=True)
class SavedRun:
    """A saved run: the request and the answers.

    ``label`` and ``target``: indices of classes or None; ``backbone``: the name of the model; ``clean`` and
    ``attacked`` (None: only defended): PNG files; ``cache_file``: the cache it was decided from, None without pictures;
    ``answers``: side and method -> class name and probability.
    """

    settings: Settings
    names: tuple[str, ...]
    label: int | None
    target: int | None
    methods: tuple[str, ...]
    backbone: str
    clean: bytes
    attacked: bytes | None
    cache_file: bytes | None
    answers: Answers


def read_file(path: Path) -> SavedRun:
    """The run in a file; its size is checked before it is read.

    Raises:
        BundleError: as :func:`read`, or when there is no such file.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BundleError(f"A saved run has at most {MAX_FILE_BYTES // MB} MB; this file is larger.", RETRY_HINT)
        data = path.read_bytes()
    except OSError as error:
        raise BundleError(
            f"The file {path.name!r} cannot be read: {(error.strerror or 'no reason given').lower()}."
        ) from error
    return read(data)


def read(data: bytes) -> SavedRun:
    """The run in a zip.

    Raises:
        DemoError: one sentence on the first thing that is wrong, one on what to do.
    """
    if len(data) > MAX_FILE_BYTES:
        raise BundleError(f"A saved run has at most {MAX_FILE_BYTES // MB} MB; this one is larger.", RETRY_HINT)
    _check_directory(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {info.filename: info for info in file.infolist()}
            _check_members(file.infolist())
            return _read_run(lambda name: _member(file, members, name), set(members))
    except (DemoError, MemoryError):
        raise
    except Exception as error:  # what zipfile, zlib, json and the readers of members raise
        raise BundleError("This saved run is damaged, or it was changed.", RETRY_HINT) from error


def _check_directory(data: bytes) -> None:
    """Check the size of the list of members before ``zipfile`` reads all of it."""
    end = data[-22:]
    if len(end) < 22 or end[:4] != b"PK\x05\x06":
        raise BundleError("This is not a zip file, or it is cut off.", RETRY_HINT)
    count, size = struct.unpack("<HL", end[10:16])
    if count > MAX_MEMBERS or size > MAX_DIRECTORY_BYTES or data[-42:-38] == b"PK\x06\x07":
        raise BundleError(f"A saved run has at most {MAX_MEMBERS} members; this zip has more.", RETRY_HINT)


def _check_members(infos: list[zipfile.ZipInfo]) -> None:
    names = [info.filename for info in infos]
    for info in infos:
        name = info.filename
        limit = MAX_FIGURE_BYTES if FIGURE_NAME.fullmatch(name) else MEMBER_LIMITS.get(name)
        if limit is None or names.count(name) > 1 or info.orig_filename != name:
            raise BundleError(f"A saved run has no such member, or not twice: {name[:60]!r}.", RETRY_HINT)
        if info.file_size > limit:
            raise BundleError(f"In this zip {name} is larger than any of ours ({limit // MB} MB).", RETRY_HINT)
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"In this zip {name} is encrypted or packed in another way.", RETRY_HINT)
    if sum(info.file_size for info in infos) > MAX_UNPACKED_BYTES:
        raise BundleError(f"Unpacked, this zip holds more than {MAX_UNPACKED_BYTES // MB} MB.", RETRY_HINT)


def _member(file: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    if name not in members:
        raise BundleError(f"This is no saved run, or it was changed: {name} is missing.", RETRY_HINT)
    said = members[name].file_size  # checked against the limits
    one_more = copy.copy(members[name])
    one_more.file_size += 1  # zipfile cuts at this size, and what is longer than it says shall be seen
    with file.open(one_more) as member:
        data = member.read(said + 1)  # without a size all that is packed is inflated, and then cut
    if len(data) != said:
        raise BundleError(f"In this zip {name} is not as long as the zip's list says.", RETRY_HINT)
    return data


def _read_run(member: Any, member_names: set[str]) -> SavedRun:
    asked = _json_object(member("settings.json"), "settings.json")
    if asked.get("format") != FORMAT:
        raise BundleError("This zip is not a run of this page, or of another version of it.", RETRY_HINT)
    settings = _settings(asked.get("settings"))
    names = _names(asked.get("classes"))
    label, target = (_class_index(asked, part, names) for part in ("label", "target"))
    attacked = settings.attack != "none"
    if target is not None and (target == label or not attacked):
        raise BundleError("In settings.json the target is the true class, or nothing attacks.", RETRY_HINT)
    methods, backbone, memory = (asked.get(n) for n in ("methods", "backbone", "memory"))
    if not isinstance(methods, list) or not isinstance(backbone, str) or not isinstance(memory, bool):
        raise BundleError("In settings.json methods, backbone or memory has a wrong type.", RETRY_HINT)
    if memory is not ("memory.safetensors" in member_names) or attacked is not ("attacked.png" in member_names):
        raise BundleError("The memory or the attacked picture is missing or should not be there.", RETRY_HINT)
    names_saved = {*validated(methods), *DEFAULT_METHODS}
    wanted = tuple(name for name in DEFENCES if name in names_saved)
    result = _json_object(member("result.json"), "result.json")
    run = SavedRun(
        settings,
        names,
        label,
        target,
        wanted,
        backbone[:200],
        clean=member("clean.png"),
        attacked=member("attacked.png") if attacked else None,
        cache_file=member("memory.safetensors") if memory else None,
        answers=_answers(result, wanted, names),
    )
    clean = open_picture(run.clean)
    if run.attacked is not None and open_picture(run.attacked).pixels.shape != clean.pixels.shape:
        raise BundleError("The attacked picture in this zip is not as large as the clean one.", RETRY_HINT)
    return run


def _json_object(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name} in this zip is not JSON.", RETRY_HINT) from error
    if not isinstance(found, dict):
        raise BundleError(f"{name} in this zip is not a JSON object.", RETRY_HINT)
    return found


def _settings(given: Any) -> Settings:
    """Every setting, checked as untrusted input: no path of this machine."""
    always = set(RECOMMENDED.as_dict())
    if not isinstance(given, dict) or not always <= set(given) <= set(SETTINGS):
        raise BundleError("settings.json does not hold exactly the settings there are.", RETRY_HINT)
    return Settings(**{name: SETTINGS[name].parse_untrusted(value) for name, value in given.items()})


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise BundleError("The classes in settings.json are not a list of names.", RETRY_HINT)
    names = check_names(given)
    if list(names) != given:
        raise BundleError("A class name in settings.json occurs twice or cannot be used.", RETRY_HINT)
    return names


def _class_index(request: Mapping[str, Any], part: str, names: tuple[str, ...]) -> int | None:
    name = request.get(part)
    if name is not None and name not in names:
        raise BundleError(f"The {part} in settings.json is not one of the classes.", RETRY_HINT)
    return None if name is None else names.index(name)


def _answers(result: Mapping[str, Any], methods: tuple[str, ...], names: tuple[str, ...]) -> Answers:
    wrong = BundleError("result.json does not hold an answer of every method that was asked.", RETRY_HINT)
    try:
        found = answers_of(result)
    except (LookupError, TypeError, AttributeError) as error:
        raise wrong from error
    if set(found) != {(side, method) for side in SIDES for method in methods}:
        raise wrong
    for label, share in found.values():
        if label not in names or not isinstance(share, int | float) or not 0 <= share <= 1.0001:
            raise wrong
    return found


def answers_of(result: Mapping[str, Any]) -> Answers:
    """Side and method -> class name and probability, of an ``explain --json``."""
    return {
        (side, method): (said["label"], said["probability"])
        for side in SIDES
        for method, said in result[side]["methods"].items()
    }


def differences(saved: SavedRun, run: Run) -> list[str]:
    """Sentences on what differs in ``run``, the saved run made again.

    Compared are answers, probabilities (more than 0.000001 apart) and every pixel of the attacked picture.
    """
    now, found, most = answers_of(to_json(run)), [], 0.0
    sides = SIDES[: 1 if saved.attacked is None else 2]
    for (side, method), (label, share) in saved.answers.items():
        if side in sides:
            again, again_share = now.get((side, method), ("no answer", 0.0))
            if again != label:
                found.append(f"{DEFENCES[method].title}, {side} picture: {label} in the file, {again} here.")
            else:
                most = max(most, abs(again_share - share))
    if most > MAX_DIFFERENCE:
        found.append(f"Probabilities differ by up to {most:.2g}.")
    if saved.attacked is not None:
        side = run.attacked.picture.pixels.shape[0]
        before = open_picture(saved.attacked, square="model", side=side)
        moved = np.abs(before.pixels.astype(np.int16) - run.attacked.picture.pixels)
        if moved.any():
            found.append(f"The attacked square differs by up to {moved.max()}/255.")
    return found
