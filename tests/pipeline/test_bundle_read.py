"""Saved runs from other programs: a run, or one sentence; nothing unneeded is decompressed."""

import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rita_demo.pipeline.bundle_read import FileError as BundleError
from rita_demo.pipeline.bundle_read import read, read_file
from rita_demo.records.errors import DemoError
from tests.live_server import ROOT
from tests.pipeline.conftest import make_zip, members


def forger(change: Callable[..., bytes]) -> Callable[..., Callable[[bytes], bytes]]:
    """``change(data, ...)`` as a function of the rest, which waits for the data."""
    return lambda *args, **named: lambda data: change(data, *args, **named)


@forger
def with_json(data: bytes, member: str, **changes: Any) -> bytes:
    """The zip with other words in one of its JSON members."""
    inside = members(data)
    inside[member] = json.dumps(json.loads(inside[member]) | changes).encode()
    return make_zip(inside)


@forger
def with_setting(data: bytes, name: str, value: Any) -> bytes:
    given = json.loads(members(data)["settings.json"])["settings"]
    return with_request(settings=given | {name: value})(data)


def with_request(**changes: Any) -> Callable[[bytes], bytes]:
    return with_json("settings.json", **changes)


@forger
def with_member(data: bytes, name: str, content: bytes | None) -> bytes:
    """Another member, or None: without it."""
    inside = members(data)
    inside.pop(name, None)
    return make_zip(inside | ({} if content is None else {name: content}))


def with_duplicate_member(data: bytes) -> bytes:
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("clean.png", b"other")
    return buffer.getvalue()


@forger
def with_directory_field(data: bytes, offset: int, code: str, value: int) -> bytes:
    """Another number at ``offset`` of what the list of members says about settings.json."""
    changed = bytearray(data)
    struct.pack_into(code, changed, data.rfind(b"settings.json") - 46 + offset, value)
    return bytes(changed)


def damaged(data: bytes) -> bytes:
    start = data.find(b"settings.json") + len("settings.json")
    return data[:start] + bytes(99) + data[start + 99 :]


@forger
def with_answer(data: bytes, **said: Any) -> bytes:
    result = json.loads(members(data)["result.json"])
    result["clean"]["methods"]["rita"] |= said
    return with_json("result.json", **result)(data)


@forger
def in_folder(data: bytes, folder: str, *outside: str) -> bytes:
    """The zip with a folder around its members, apart from those ``outside``."""
    return make_zip({name if name in outside else folder + name: content for name, content in members(data).items()})


def picture(side: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (side, side)).save(buffer, "PNG")
    return buffer.getvalue()


HOSTILE: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda d: b"", "not a zip"),
    ("cut off", lambda d: d[:-30], "not a zip"),
    ("something after its end", lambda d: d + b"x", "not a zip"),
    ("damaged", damaged, "damaged"),
    ("wrong checksum", with_directory_field(16, "<L", 7), "damaged"),
    ("bomb", with_member("page.html", bytes(200 << 20)), "page.html is larger"),
    ("bomb where it is read", with_member("settings.json", bytes(8 << 20)), "settings.json is larger"),
    ("a member longer than it says", with_directory_field(24, "<L", 10), "damaged"),
    ("a member shorter than it says", with_directory_field(24, "<L", 9999), "not as long as"),
    ("many members", lambda d: make_zip({f"figures/f{n}.svg": b"" for n in range(3000)}), "at most 64"),
    ("path upwards", with_member("../../evil.png", b"x"), "no such member"),
    ("figure upwards", with_member("figures/../x.svg", b"x"), "no such member"),
    ("path through a folder of a system", with_member("__MACOSX/../data.pkl", b"x"), "no such member"),
    ("a folder upwards around it", in_folder("../"), "no such member"),
    ("two folders around it", in_folder("one/two/"), "no such member"),
    ("a folder around all but one", in_folder("run/", "clean.png"), "no such member"),
    ("pickle", with_member("data.pkl", b"\x80\x04."), "no such member"),
    ("a member twice", with_duplicate_member, "not twice"),
    ("encrypted", with_directory_field(8, "<H", 1), "encrypted"),
    ("packed by other means", lambda d: make_zip(members(d), zipfile.ZIP_LZMA), "packed in another way"),
    ("without settings", with_member("settings.json", None), "settings.json is missing"),
    ("without the attacked square", with_member("attacked.png", None), "missing"),
    ("no JSON", with_member("settings.json", b"{"), "not JSON"),
    ("deep JSON", with_member("settings.json", b"[" * 200_000), "not JSON"),
    ("no JSON object", with_member("result.json", b"[]"), "not a JSON object"),
    ("another format", with_request(format="rita-demo run 9"), "not a run of this page"),
    ("settings missing", with_request(settings={}), "made by an earlier version"),
    ("no settings", with_request(settings=None), "has no settings"),
    ("an unknown setting", with_setting("colour", "red"), "unknown ones"),
    ("a file of this machine", with_setting("descriptions", "/etc/passwd"), "descriptions is one of none"),
    ("a number too large", with_setting("views", 10**9), "views is a whole number"),
    ("no number", with_setting("temperature", float("nan")), "unknown ones"),
    ("an unknown attack", with_setting("attack", "carlini"), "attack is one of"),
    ("no classes", with_request(classes="cup"), "not a list of names"),
    ("one class", with_request(classes=["cup"], label=None), "At least 2"),
    ("a class twice", with_request(classes=["motorbike", "crab", "cup", "piano", "Cup"]), "occurs twice"),
    ("an unknown class", with_request(label="house"), "label in settings.json is not one"),
    ("an unhashable class", with_request(target=[1]), "target in settings.json is not one"),
    ("a target that is right", with_request(target="motorbike"), "the target is the true class"),
    ("an unknown method", with_request(methods=["clip", "magic"]), "no method 'magic'"),
    ("an unhashable method", with_request(methods=[["clip"]]), "no method"),
    ("a model that is no name", with_request(backbone=3), "has a wrong type"),
    ("a memory that is not there", with_request(memory=True), "memory or the attacked picture is missing"),
    ("a memory that is not listed", with_member("memory.safetensors", b"x"), "should not be there"),
    ("answers of other methods", with_request(methods=["tpt"]), "answer of every method"),
    ("an answer that is no class", with_answer(label="house"), "answer of every method"),
    ("an answer that is no name", with_answer(label=["crab"]), "answer of every method"),
    ("a share that is no share", with_answer(probability=float("nan")), "answer of every"),
    ("no answers", with_json("result.json", clean=[]), "answer of every method"),
    ("a square that is none", with_member("clean.png", b"GIF89a"), "picture|damaged"),
    ("a cut-off square", with_member("clean.png", picture(64)[:50]), "damaged"),
    ("an attacked square of another size", with_member("attacked.png", picture(64)), "not as large"),
]


@pytest.mark.parametrize(("what", "forge", "sentence"), HOSTILE)
def test_a_hostile_zip_gives_an_error_message(bundle_bytes: bytes, what: str, forge: Any, sentence: str) -> None:
    data = forge(bundle_bytes)
    with pytest.raises(DemoError, match=sentence):
        read(data)


def test_a_member_that_is_not_needed_is_never_decompressed(
    bundle_bytes: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, plain = set(), zipfile.ZipFile.open
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, info: opened.add(info.filename) or plain(self, info))
    read(bundle_bytes)
    assert opened == {"settings.json", "result.json", "clean.png", "attacked.png"}


@pytest.mark.parametrize("folder", ["", "rita-run/", "my run (2)/"])
def test_a_run_that_another_program_packed_again_opens_and_what_it_added_is_never_decompressed(
    bundle_bytes: bytes, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    inside = members(in_folder(folder)(bundle_bytes))
    more = (".DS_Store", "Thumbs.db", "figures/", "figures/.DS_Store", "")
    added = dict.fromkeys(filter(None, ["__MACOSX/._clean.png", *(folder + name for name in more)]), b"x")
    opened, plain, packed = set(), zipfile.ZipFile.open, make_zip(inside | added)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, info: opened.add(info.filename) or plain(self, info))
    assert read(packed).names == read(bundle_bytes).names
    assert not opened & set(added)


MAX_GROWTH = 64 << 20  # bytes that reading a bomb of 1 GiB may add to the largest memory of the process
READING = """
import resource, sys
from rita_demo.pipeline.bundle_read import FileError as BundleError, read
def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = open(sys.argv[1], "rb").read()
try:
    read(data[:99])  # whatever is imported late
except BundleError:
    before = most()
try:
    read(data)
except BundleError as error:
    print(most() - before, error)
"""


def packed_blanks(start: bytes, mebibytes: int) -> bytes:
    """The start and so many blanks. After a full flush a piece stands for itself, so one is packed and repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + mebibytes * piece + packer.flush()


@pytest.mark.slow
@pytest.mark.parametrize(("checked", "sentence"), [(0, "damaged"), (1000, "damaged"), (1001, "not as long as")])
def test_a_zip_bomb_with_a_false_size_is_never_decompressed(
    bundle_bytes: bytes, tmp_path: Path, checked: int, sentence: str
) -> None:
    """1 GiB of blanks after the settings, packed into 1 MB, which says that it holds a thousand bytes, with the
    checksum of so many."""
    start = members(bundle_bytes)["settings.json"].ljust(1000)[:1000]
    assert zlib.decompress(packed_blanks(start, 3), -15) == start + 3 * (1 << 20) * b" "
    data = make_zip(members(bundle_bytes) | {"settings.json": packed_blanks(start, 1024)}, zipfile.ZIP_STORED)
    checksum = zlib.crc32((start + b" ")[:checked])
    for offset, code, value in ((10, "<H", zipfile.ZIP_DEFLATED), (16, "<L", checksum), (24, "<L", 1000)):
        data = with_directory_field(offset, code, value)(data)
    path = tmp_path / "bomb.zip"
    path.write_bytes(data)
    assert len(data) < 4 << 20
    command = [sys.executable, "-c", READING, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    grew, _, message = said.partition(" ")
    assert sentence in message
    assert int(grew) * 1024 < MAX_GROWTH


def test_damaged_bytes_give_a_run_or_an_error_message(bundle_bytes: bytes) -> None:
    rng = np.random.default_rng(0)
    start = struct.unpack("<L", bundle_bytes[-6:-2])[0]
    for _ in range(300):
        data = bytearray(bundle_bytes)
        for place in rng.integers(start if rng.random() < 0.7 else 0, len(data), 3):
            data[place] = rng.integers(256)
        try:
            run = read(bytes(data))
        except DemoError:
            continue
        assert run.settings == read(bundle_bytes).settings


def test_a_file_is_checked_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "gone.zip", tmp_path):
        with pytest.raises(BundleError, match=f"'{path.name}' cannot be read"):
            read_file(path)
    path = tmp_path / "big.zip"
    with path.open("wb") as file:
        file.truncate(193 << 20)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(BundleError, match="larger"):
        read_file(path)
