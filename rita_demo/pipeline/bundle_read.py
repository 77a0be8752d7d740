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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.data.folders import fault_of_name, is_leftover
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import check_names
from rita_demo.defences.registry import DEFAULT_METHODS, DEFENCES, validated
from rita_demo.pipeline.export import FORMAT, to_json
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records import Run
from rita_demo.records.errors import DemoError, refuse_earlier
from rita_demo.settings import SETTINGS, Settings, is_complete

MB = 1 << 20
MAX_FILE_BYTES = 192 * MB
MAX_UNPACKED_BYTES = 512 * MB  # of all members
MAX_MEMBERS = 64
MAX_DIRECTORY_BYTES = 16 << 10  # of the list of members
#: member -> its largest size in bytes
MEMBER_LIMITS: dict[str, int] = {
    **dict.fromkeys(("README.txt", "settings.json", "arena.csv", "arena.json"), MB),
    **dict.fromkeys(("verdicts.csv", "costs.csv"), 4 * MB),
    **dict.fromkeys(("clean.png", "attacked.png", "perturbation.png"), 16 * MB),
    **{"result.json": 8 * MB, "memory.safetensors": 32 * MB, "arrays.safetensors": 96 * MB, "page.html": 128 * MB},
}
FIGURE_NAME = re.compile(r"figures/[a-z0-9-]{1,80}\.svg")
MAX_FIGURE_BYTES = 16 * MB
SIDES = ("clean", "attacked")
MAX_DIFFERENCE = 1e-6  # of a probability; JSON keeps more digits
TOO_LARGE = f"A saved run has at most {MAX_FILE_BYTES // MB} MB; this file is larger."
RETRY_HINT = "Save it again on the page, or choose another file."

Answers = dict[tuple[str, str], tuple[str, float]]


class FileError(DemoError):
    """The file is not one that the page saved, or it was changed."""


def require(holds: object, sentence: str, hint: str = RETRY_HINT) -> None:
    """Raise :class:`FileError` unless a check of an untrusted file holds."""
    if not holds:
        raise FileError(sentence, hint)


@dataclass(frozen=True, kw_only=True)
class SavedRun(RunRequest):
    """A saved run: the request, whose picture is a PNG file, and the answers."""

    backbone: str  # the name of the model
    attacked: bytes | None  # a PNG file, None: only defended
    cache_file: bytes | None  # the cache it was decided from, None without pictures
    answers: Answers  # side and method -> class name and probability


def read_file(path: Path) -> SavedRun:
    """The run in a file. Raises DemoError: as :func:`read`, or when there is no such file."""
    return read(read_limited(path, MAX_FILE_BYTES, TOO_LARGE))


def read_limited(path: Path, most: int, too_large: str) -> bytes:
    """A file of at most ``most`` bytes; its size is checked before it is read. Raises FileError: the sentence
    ``too_large``, or that it cannot be read."""
    try:
        require(path.stat().st_size <= most, too_large)
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise FileError(f"The file {path.name!r} cannot be read: {reason}.") from error


def read(data: bytes) -> SavedRun:
    """The run in a zip.

    Raises:
        DemoError: one sentence on the first thing that is wrong, one on what to do.
    """
    require(len(data) <= MAX_FILE_BYTES, TOO_LARGE)
    _check_directory(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            infos = file.infolist()
            top = _top_folder([info.filename for info in infos])
            _check_members(infos, top)
            members = {info.filename.removeprefix(top): info for info in infos}
            return _read_run(lambda name: _member(file, members, name), set(members))
    except (DemoError, MemoryError):
        raise
    except Exception as error:  # what zipfile, zlib, json and the readers of members raise
        raise FileError("This saved run is damaged, or it was changed.", RETRY_HINT) from error


def _check_directory(data: bytes) -> None:
    """Check the size of the list of members before ``zipfile`` reads all of it."""
    end = data[-22:]
    require(len(end) == 22 and end[:4] == b"PK\x05\x06", "This is not a zip file, or it is cut off.")
    count, size = struct.unpack("<HL", end[10:16])
    fits = count <= MAX_MEMBERS and size <= MAX_DIRECTORY_BYTES and data[-42:-38] != b"PK\x06\x07"
    require(fits, f"A saved run has at most {MAX_MEMBERS} members; this zip has more.")


def _top_folder(names: list[str]) -> str:
    """The folder around all that is read, with its slash, where a run was packed again with one; else ""."""
    parts = [name.partition("/") for name in names if not _holds_nothing(name)]
    top = {first + slash for first, slash, _ in parts}
    return top.pop() if len(top) == 1 and all(slash and not fault_of_name(first) for first, slash, _ in parts) else ""


def _check_members(infos: list[zipfile.ZipInfo], top: str) -> None:
    names = [info.filename.removeprefix(top) for info in infos]
    for info, name in zip(infos, names, strict=True):
        limit = MAX_FIGURE_BYTES if FIGURE_NAME.fullmatch(name) else MEMBER_LIMITS.get(name, -1)
        if _holds_nothing(name):
            continue
        ours = limit >= 0 and names.count(name) == 1 and info.orig_filename == info.filename
        require(ours, f"A saved run has no such member, or not twice: {name[:60]!r}.")
        require(info.file_size <= limit, f"In this zip {name} is larger than any of ours ({limit // MB} MB).")
        plain = not info.flag_bits & 1 and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        require(plain, f"In this zip {name} is encrypted or packed in another way.")
    total = sum(info.file_size for info in infos)
    require(total <= MAX_UNPACKED_BYTES, f"Unpacked, this zip holds more than {MAX_UNPACKED_BYTES // MB} MB.")


def _holds_nothing(name: str) -> bool:
    """Whether a member is a folder of ours, or what a program added when it packed the run again: it is never read."""
    left = any(map(is_leftover, name.split("/"))) and not fault_of_name(name)
    return name in ("", "figures/") or left


def _member(file: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    require(name in members, f"This is no saved run, or it was changed: {name} is missing.")
    size = members[name].file_size  # checked against the limits
    one_more = copy.copy(members[name])
    one_more.file_size += 1  # zipfile cuts at this size, and what is longer than it says shall be seen
    with file.open(one_more) as member:
        data = member.read(size + 1)  # without a size all that is packed is inflated, and then cut
    require(len(data) == size, f"In this zip {name} is not as long as the zip's list says.")
    return data


def _read_run(member: Callable[[str], bytes], member_names: set[str]) -> SavedRun:
    request = _json_object(member("settings.json"), "settings.json")
    require(request.get("format") == FORMAT, "This zip is not a run of this page, or of another version of it.")
    settings, names = _settings(request.get("settings")), _names(request.get("classes"))
    label, target = (_class_index(request, part, names) for part in ("label", "target"))
    attacked = settings.attack != "none"
    aimed = target is None or (target != label and attacked)
    require(aimed, "In settings.json the target is the true class, or nothing attacks.")
    parts: list[Any] = [request.get(name) for name in ("methods", "backbone", "memory")]
    methods, backbone, memory = parts
    typed = isinstance(methods, list) and isinstance(backbone, str) and isinstance(memory, bool)
    require(typed, "In settings.json methods, backbone or memory has a wrong type.")
    present = {"memory.safetensors": memory, "attacked.png": attacked}
    complete = all((name in member_names) is wanted for name, wanted in present.items())
    require(complete, "The memory or the attacked picture is missing or should not be there.")
    names_saved = {*validated(methods), *DEFAULT_METHODS}
    wanted = tuple(name for name in DEFENCES if name in names_saved)
    result = _json_object(member("result.json"), "result.json")
    run = SavedRun(
        member("clean.png"),
        names,
        settings,
        label,
        target,
        methods=wanted,
        backbone=backbone[:200],
        attacked=member("attacked.png") if attacked else None,
        cache_file=member("memory.safetensors") if memory else None,
        answers=_answers(result, wanted, names),
    )
    shapes = {open_picture(png).pixels.shape for png in (run.picture, run.attacked) if png is not None}
    require(len(shapes) == 1, "The attacked picture in this zip is not as large as the clean one.")
    return run


def _json_object(data: bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{name} in this zip is not JSON.", RETRY_HINT) from error
    require(isinstance(value, dict), f"{name} in this zip is not a JSON object.")
    return value


def _settings(given: Any) -> Settings:
    """Every setting, checked as untrusted input: no path of this machine."""
    known = isinstance(given, dict) and given.keys() <= SETTINGS.keys()
    require(known, "settings.json has no settings, or unknown ones: it was changed, or is of a newer version.")
    if not is_complete(given):
        refuse_earlier("This saved run", "Run its picture again and save that.", FileError)
    return Settings(**{name: SETTINGS[name].parse_untrusted(value) for name, value in given.items()})


def _names(given: Any) -> tuple[str, ...]:
    listed = isinstance(given, list) and all(isinstance(name, str) for name in given)
    require(listed, "The classes in settings.json are not a list of names.")
    names = check_names(given)
    require(list(names) == given, "A class name in settings.json occurs twice or cannot be used.")
    return names


def _class_index(request: Mapping[str, Any], part: str, names: tuple[str, ...]) -> int | None:
    name = request.get(part)
    require(name in (None, *names), f"The {part} in settings.json is not one of the classes.")
    return None if name is None else names.index(name)


def _answers(result: Mapping[str, Any], methods: tuple[str, ...], names: tuple[str, ...]) -> Answers:
    try:
        answers = answers_of(result)
    except (LookupError, TypeError, AttributeError):
        answers = {}
    complete = set(answers) == {(side, method) for side in SIDES for method in methods} and all(
        label in names and isinstance(share, int | float) and 0 <= share <= 1.0001 for label, share in answers.values()
    )
    require(complete, "result.json does not hold an answer of every method that was asked.")
    return answers


def answers_of(result: Mapping[str, Any]) -> Answers:
    """Side and method -> class name and probability, of an ``explain --json``."""
    return {
        (side, method): (answer["label"], answer["probability"])
        for side in SIDES
        for method, answer in result[side]["methods"].items()
    }


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
