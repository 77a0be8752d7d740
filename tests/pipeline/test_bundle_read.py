"""Saved runs from other programs: a run, or one sentence; nothing unneeded is decompressed."""

import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rita_demo.data import memory_file, record_file
from rita_demo.data.record_file import FileError as BundleError
from rita_demo.pipeline.bundle_read import read, read_file
from rita_demo.pipeline.export import CONTAINER, StoredRun
from rita_demo.records.errors import DemoError
from tests.live_server import ROOT
from tests.pipeline.conftest import make_zip, members


def forger(change: Callable[..., bytes]) -> Callable[..., Callable[[bytes], bytes]]:
    """``change(data, ...)`` as a function of the rest, which waits for the data."""
    return lambda *args, **named: lambda data: change(data, *args, **named)


@forger
def with_run(data: bytes, **changes: Any) -> bytes:
    """The zip with other fields in its stored run."""
    stored = record_file.unpack(members(data)[CONTAINER], kinds=(StoredRun,))
    return make_zip(members(data) | {CONTAINER: record_file.pack(replace(stored, **changes))})


@forger
def with_setting(data: bytes, name: str, value: Any) -> bytes:
    stored = record_file.unpack(members(data)[CONTAINER], kinds=(StoredRun,))
    return with_run(settings={**stored.settings, name: value})(data)


@forger
def with_tree(data: bytes, tree: bytes) -> bytes:
    """The zip with another tree in its container."""
    inside = make_zip(members(members(data)[CONTAINER]) | {record_file.TREE: tree})
    return make_zip(members(data) | {CONTAINER: inside})


@forger
def with_member(data: bytes, name: str, content: bytes | None) -> bytes:
    """Another member, or None: without it."""
    inside = members(data)
    inside.pop(name, None)
    return make_zip(inside | ({} if content is None else {name: content}))


def with_duplicate_member(data: bytes) -> bytes:
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr(CONTAINER, b"other")
    return buffer.getvalue()


@forger
def with_directory_field(data: bytes, offset: int, code: str, value: int) -> bytes:
    """Another number at ``offset`` of what the list of members says about run.zip."""
    changed = bytearray(data)
    struct.pack_into(code, changed, data.rfind(CONTAINER.encode()) - 46 + offset, value)
    return bytes(changed)


@forger
def with_answer(data: bytes, *said: Any) -> bytes:
    """The zip with another first answer: its class name and probability."""
    stored = record_file.unpack(members(data)[CONTAINER], kinds=(StoredRun,))
    (side, method, *_), *others = stored.answers
    return with_run(answers=((side, method, *said), *others))(data)


def picture(side: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (side, side)).save(buffer, "PNG")
    return buffer.getvalue()


HOSTILE: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda d: b"", "not a zip"),
    ("cut off", lambda d: d[:-30], "not a zip"),
    ("wrong checksum", with_directory_field(16, "<L", 7), "damaged"),
    ("bomb", with_member(CONTAINER, bytes(80 << 20)), "run.zip is larger"),
    ("bomb in the container", with_tree(b" " * (9 << 20)), "run.json is larger"),
    ("a member longer than it says", with_directory_field(24, "<L", 10), "damaged"),
    ("many members", lambda d: make_zip({f"figures/f{n}.svg": b"" for n in range(3000)}), "at most 64"),
    ("a member twice", with_duplicate_member, "there twice"),
    ("encrypted", with_directory_field(8, "<H", 1), "encrypted"),
    ("packed by other means", lambda d: make_zip(members(d), zipfile.ZIP_LZMA), "packed in another way"),
    ("of an earlier version", with_member(CONTAINER, None), "made by an earlier version"),
    ("another zip", lambda d: make_zip({"data.pkl": b"\x80\x04."}), "run.zip is missing"),
    ("deep JSON", with_tree(b"[" * 200_000), "damaged"),
    ("another record", with_tree(b'{"record": "Settings", "fields": {}}'), "damaged"),
    ("another format", with_run(format="rita-demo run 9"), "not a run of this page"),
    ("an unknown setting", with_setting("colour", "red"), "unknown settings"),
    ("a file of this machine", with_setting("descriptions", "/etc/passwd"), "descriptions is one of none"),
    ("a number too large", with_setting("views", 10**9), "views is a whole number"),
    ("a class twice", with_run(names=("motorbike", "crab", "cup", "piano", "Cup")), "occurs twice"),
    ("an unknown class", with_run(label=4), "label in this saved run is not one"),
    ("an unknown method", with_run(methods=("clip", "magic")), "no method 'magic'"),
    ("a class that is no number", with_run(target=(1,)), "target of a StoredRun has another type"),
    ("without the attacked square", with_run(attacked=None), "missing"),
    ("an answer that is no class", with_answer("house", 0.5), "answer of every method"),
    ("a share that is no share", with_answer("crab", float("nan")), "answer of every"),
    ("a square that is none", with_run(clean=b"GIF89a"), "picture|damaged"),
    ("an attacked square of another size", with_run(attacked=picture(64)), "not as large"),
]


@pytest.mark.parametrize(("what", "forge", "sentence"), HOSTILE)
def test_a_hostile_zip_gives_an_error_message(bundle_bytes: bytes, what: str, forge: Any, sentence: str) -> None:
    data = forge(bundle_bytes)
    with pytest.raises(DemoError, match=sentence):
        read(data)


def test_bytes_that_are_named_many_times_are_made_once() -> None:
    inside = members(record_file.pack((bytes(8 << 20),)))
    (named,) = json.loads(inside[record_file.TREE])
    data = make_zip(inside | {record_file.TREE: json.dumps([named] * 50_000).encode()})
    assert len({id(one) for one in record_file.unpack(data)}) == 1


def test_a_run_that_another_program_packed_again_opens_and_what_it_added_is_never_decompressed(
    bundle_bytes: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = {f"my run (2)/{name}": content for name, content in members(bundle_bytes).items()}
    added = dict.fromkeys(("__MACOSX/._clean.png", "my run (2)/", "my run (2)/.DS_Store"), b"x")
    opened, plain, packed = set(), zipfile.ZipFile.open, make_zip(inside | added)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, info: opened.add(info.filename) or plain(self, info))
    assert read(packed).names == read(bundle_bytes).names
    assert not opened & set(added)


MAX_GROWTH = 64 << 20  # bytes that reading a bomb of 1 GiB may add to the largest memory of the process
READING = """
import resource, sys
from rita_demo.data.record_file import FileError as BundleError
from rita_demo.pipeline.bundle_read import read
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
def test_a_zip_bomb_with_a_false_size_is_never_decompressed(bundle_bytes, tmp_path, checked, sentence) -> None:
    """1 GiB of blanks after the start of the run, packed into 1 MB, which says that it holds a thousand bytes, with the
    checksum of so many."""
    start = members(bundle_bytes)[CONTAINER][:1000]
    assert zlib.decompress(packed_blanks(start, 3), -15) == start + 3 * (1 << 20) * b" "
    data = make_zip(members(bundle_bytes) | {CONTAINER: packed_blanks(start, 1024)}, zipfile.ZIP_STORED)
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("load", "most"), [(read_file, 192 << 20), (memory_file.read_file, memory_file.MAX_FILE_BYTES)]
)
def test_a_file_is_checked_before_it_is_read(load, most, tmp_path, monkeypatch) -> None:
    for path in (tmp_path / "gone.zip", tmp_path):
        with pytest.raises(BundleError, match=f"'{path.name}' cannot be read"):
            load(path)
    with (tmp_path / "big.zip").open("wb") as file:
        file.truncate(most + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(BundleError, match="larger"):
        load(tmp_path / "big.zip")
