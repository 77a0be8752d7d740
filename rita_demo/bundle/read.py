"""A saved run from a zip that anybody may have written: checked part by part, never written to disk.

The list of members is checked before any of them is decompressed, each is decompressed only as far as
its limit, those that are not needed (page, tables, arrays, figures) not at all, and nothing is unpickled.
"""

from __future__ import annotations

import copy
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.bundle.write import FORMAT
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import check_names
from rita_demo.errors import DemoError
from rita_demo.exports import to_json
from rita_demo.methods import METHODS, chosen
from rita_demo.records import Story
from rita_demo.settings import KNOBS, Settings

MB = 1 << 20
LARGEST = 192 * MB  # bytes of the file
LARGEST_TOTAL = 512 * MB  # what its list of members says they hold
MOST_MEMBERS = 64
LARGEST_LIST = 16 << 10  # bytes of that list
#: member -> the most bytes it may hold
MEMBERS: dict[str, int] = {
    "settings.json": MB, "result.json": 8 * MB, "clean.png": 16 * MB, "attacked.png": 16 * MB,
    "memory.safetensors": 32 * MB, "perturbation.png": 16 * MB, "README.txt": MB,
    "verdicts.csv": 4 * MB, "costs.csv": 4 * MB, "page.html": 128 * MB,
    "arrays.safetensors": 96 * MB,
}  # fmt: skip
FIGURE = re.compile(r"figures/[a-z0-9-]{1,80}\.svg")
LARGEST_FIGURE = 16 * MB
SIDES = ("clean", "attacked")
LARGEST_DIFFERENCE = 1e-6  # of a probability; JSON keeps more digits
AGAIN = "Save the run again on the page, or choose another file."

Answers = dict[tuple[str, str], tuple[str, float]]


class BundleError(DemoError):
    """The file is not a run that was saved by the page."""


@dataclass(frozen=True)
class Run:
    """A run as it was saved: what was asked, and what was answered.

    ``label`` and ``target`` are class numbers or None; ``backbone`` names the model it was made with;
    ``clean`` and ``attacked`` (None: only defended) are PNG files; ``memory`` the archive of the memory it
    was decided from, None where that had seen no picture; ``answers`` maps side and method to class name
    and probability.
    """

    settings: Settings
    names: tuple[str, ...]
    label: int | None
    target: int | None
    methods: tuple[str, ...]
    backbone: str
    clean: bytes
    attacked: bytes | None
    memory: bytes | None
    answers: Answers


def read_file(path: Path) -> Run:
    """The run in a file; its size is checked before it is read.

    Raises:
        BundleError: as :func:`read`, or when there is no such file.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise BundleError(
                f"A saved run has at most {LARGEST // MB} MB; this file is larger.", AGAIN
            )
        data = path.read_bytes()
    except OSError as error:
        raise BundleError(
            f"The file {path.name!r} cannot be read: {(error.strerror or 'no reason given').lower()}."
        ) from error
    return read(data)


def read(data: bytes) -> Run:
    """The run in a zip.

    Raises:
        DemoError: one sentence on the first thing that is wrong, one on what to do.
    """
    if len(data) > LARGEST:
        raise BundleError(f"A saved run has at most {LARGEST // MB} MB; this one is larger.", AGAIN)
    _check_list(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = {info.filename: info for info in file.infolist()}
            _check_members(file.infolist())
            return _run(lambda name: _member(file, members, name), set(members))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError,
            LookupError, TypeError, AttributeError, OverflowError, struct.error) as error:  # fmt: skip
        raise BundleError("This saved run is damaged, or it was changed.", AGAIN) from error


def _check_list(data: bytes) -> None:
    """That the file ends like a plain zip with a short list of members: ``zipfile`` reads all of it."""
    end = data[-22:]
    if len(end) < 22 or end[:4] != b"PK\x05\x06":
        raise BundleError("This is not a zip file, or it is cut off.", AGAIN)
    count, size = struct.unpack("<HL", end[10:16])
    if count > MOST_MEMBERS or size > LARGEST_LIST or data[-42:-38] == b"PK\x06\x07":
        raise BundleError(
            f"A saved run has at most {MOST_MEMBERS} members; this zip has more.", AGAIN
        )


def _check_members(infos: list[zipfile.ZipInfo]) -> None:
    names = [info.filename for info in infos]
    for info in infos:
        name = info.filename
        limit = LARGEST_FIGURE if FIGURE.fullmatch(name) else MEMBERS.get(name)
        if limit is None or names.count(name) > 1 or info.orig_filename != name:
            raise BundleError(
                f"A saved run has no such member, or not twice: {name[:60]!r}.", AGAIN
            )
        if info.file_size > limit:
            raise BundleError(
                f"In this zip {name} is larger than any of ours ({limit // MB} MB).", AGAIN
            )
        if info.flag_bits & 1 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise BundleError(f"In this zip {name} is encrypted or packed in another way.", AGAIN)
    if sum(info.file_size for info in infos) > LARGEST_TOTAL:
        raise BundleError(f"Unpacked, this zip holds more than {LARGEST_TOTAL // MB} MB.", AGAIN)


def _member(file: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], name: str) -> bytes:
    if name not in members:
        raise BundleError(f"This is no saved run, or it was changed: {name} is missing.", AGAIN)
    said = members[name].file_size  # checked against the limits
    one_more = copy.copy(members[name])
    one_more.file_size += (
        1  # zipfile cuts at this size, and what is longer than it says shall be seen
    )
    with file.open(one_more) as member:
        data = member.read(said + 1)  # without a size all that is packed is inflated, and then cut
    if len(data) != said:
        raise BundleError(f"In this zip {name} is not as long as the zip's list says.", AGAIN)
    return data


def _run(member: Any, here: set[str]) -> Run:
    asked = _object(member("settings.json"), "settings.json")
    if asked.get("format") != FORMAT:
        raise BundleError("This zip is not a run of this page, or of another version of it.", AGAIN)
    settings = _settings(asked.get("settings"))
    names = _names(asked.get("classes"))
    label, target = (_class(asked, part, names) for part in ("label", "target"))
    attacked = settings.attack != "none"
    if target is not None and (target == label or not attacked):
        raise BundleError(
            "In settings.json the target is the true class, or nothing attacks.", AGAIN
        )
    methods, backbone, memory = (asked.get(n) for n in ("methods", "backbone", "memory"))
    if (
        not isinstance(methods, list)
        or not isinstance(backbone, str)
        or not isinstance(memory, bool)
    ):
        raise BundleError("In settings.json methods, backbone or memory is of a wrong kind.", AGAIN)
    if memory is not ("memory.safetensors" in here) or attacked is not ("attacked.png" in here):
        raise BundleError(
            "The memory or the attacked picture is missing or should not be there.", AGAIN
        )
    wanted = chosen(methods)
    result = _object(member("result.json"), "result.json")
    run = Run(
        settings, names, label, target, wanted, backbone[:200],
        clean=member("clean.png"),
        attacked=member("attacked.png") if attacked else None,
        memory=member("memory.safetensors") if memory else None,
        answers=_answers(result, wanted, names),
    )  # fmt: skip
    _check_pictures(run)
    return run


def _object(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name} in this zip is not JSON.", AGAIN) from error
    if not isinstance(found, dict):
        raise BundleError(f"{name} in this zip is not a JSON object.", AGAIN)
    return found


def _settings(given: Any) -> Settings:
    """Every setting, each as a stranger may choose it: no path of this machine."""
    if not isinstance(given, dict) or set(given) != set(KNOBS):
        raise BundleError("settings.json does not hold exactly the settings there are.", AGAIN)
    return Settings(**{name: knob.offered(given[name]) for name, knob in KNOBS.items()})


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise BundleError("The classes in settings.json are not a list of names.", AGAIN)
    names = check_names(given)
    if list(names) != given:
        raise BundleError("A class name in settings.json occurs twice or cannot be used.", AGAIN)
    return names


def _class(asked: Mapping[str, Any], part: str, names: tuple[str, ...]) -> int | None:
    name = asked.get(part)
    if name is not None and name not in names:
        raise BundleError(f"The {part} in settings.json is not one of the classes.", AGAIN)
    return None if name is None else names.index(name)


def _answers(
    result: Mapping[str, Any], methods: tuple[str, ...], names: tuple[str, ...]
) -> Answers:
    wrong = BundleError(
        "result.json does not hold an answer of every method that was asked.", AGAIN
    )
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


def _check_pictures(run: Run) -> None:
    clean = open_picture(run.clean)
    if run.attacked is not None and open_picture(run.attacked).pixels.shape != clean.pixels.shape:
        raise BundleError(
            "The attacked picture in this zip is not as large as the clean one.", AGAIN
        )


def differences(run: Run, story: Story) -> list[str]:
    """Sentences on what is not the same in ``story``, the run made again; none where all is.

    Answers, their probabilities (more than 0.000001 apart), and every pixel of the attacked square.
    """
    now, found, most = answers_of(to_json(story)), [], 0.0
    sides = SIDES[: 1 if run.attacked is None else 2]
    for (side, method), (label, share) in run.answers.items():
        if side in sides:
            again, again_share = now[side, method]
            if again != label:
                found.append(
                    f"{METHODS[method].title}, {side} picture: {label} in the file, {again} here."
                )
            else:
                most = max(most, abs(again_share - share))
    if most > LARGEST_DIFFERENCE:
        found.append(f"Probabilities differ by up to {most:.2g}.")
    if run.attacked is not None:
        side = story.attacked.picture.pixels.shape[0]
        before = open_picture(run.attacked, square="model", side=side)
        moved = np.abs(before.pixels.astype(np.int16) - story.attacked.picture.pixels)
        if moved.any():
            found.append(f"The attacked square differs by up to {moved.max()}/255.")
    return found
