"""The memory as a file: what is exported is imported unchanged, and nothing else is imported."""

import io
import json
import pickle
import struct
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from rita_demo.pipeline.bundle_read import FileError as CacheFileError
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture, Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session import cache_file
from rita_demo.ui.session.cache_file import describe, unpack
from rita_demo.ui.session.cache_history import CacheSnapshot, History, HistoryEntry
from rita_demo.ui.session.session import Session
from tests.ui.memory_client import states_equal

MODEL = "toy"


@pytest.fixture(scope="module")
def snapshot(example_run: Run) -> CacheSnapshot:
    crops = np.random.default_rng(0).integers(0, 255, (64, 32, 32, 3), np.uint8)
    now = History().with_picture("A motorbike", "key", example_run, crops).entries[-1].snapshot
    assert now.count > 0
    return now


def make_cache_file(snapshot: CacheSnapshot) -> bytes:
    """A memory as a file, with the default settings and an empty log."""
    return cache_file.pack(snapshot, describe(snapshot, MODEL, RECOMMENDED, ()))


@pytest.fixture(scope="module")
def data(snapshot: CacheSnapshot) -> bytes:
    return make_cache_file(snapshot)


def header_of(data: bytes) -> dict[str, Any]:
    return json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])


def with_header(data: bytes, header: bytes) -> bytes:
    """The same file with another header."""
    return struct.pack("<Q", len(header)) + header + data[8 + struct.unpack("<Q", data[:8])[0] :]


def with_changes(data: bytes, arrays: dict[str, Any] | None = None, **about: Any) -> bytes:
    """The same file with other arrays or another word in its metadata."""
    header = json.loads(header_of(data)["__metadata__"]["rita"])
    return save(load(data) | (arrays or {}), {"rita": json.dumps(header | about)})


def assert_refused(data: bytes, run: Run, sentence: str | None = None) -> None:
    with pytest.raises(CacheFileError, match=sentence):
        unpack(data, run.class_prompts, MODEL)


def test_an_exported_memory_is_imported_unchanged(snapshot: CacheSnapshot, data: bytes, example_run: Run) -> None:
    again = unpack(data, example_run.class_prompts, MODEL)
    assert states_equal(again.to_cache_state(), snapshot.to_cache_state())
    assert again.pictures == snapshot.pictures
    k = next(iter(snapshot.items_by_class))
    assert np.array_equal(again.items_by_class[k][0].thumbnail, snapshot.items_by_class[k][0].thumbnail)
    empty = replace(snapshot, items_by_class={})
    assert unpack(make_cache_file(empty), example_run.class_prompts, MODEL).count == 0


def test_settings_classes_and_log_are_in_the_file(session: Session, example_run: Run) -> None:
    session.add_to_history(example_run, "A motorbike")
    now = session.history.entries[-1].snapshot
    about = describe(now, MODEL, example_run.settings, session.history.entries)
    data = cache_file.pack(now, about)
    inside = json.loads(header_of(data)["__metadata__"]["rita"])
    used = example_run.settings.replace(descriptions="none")  # there are none for "piano"
    assert inside["settings"] == json.loads(json.dumps(used.as_dict()))
    assert inside["names"] == list(example_run.class_prompts.names)
    assert [row["title"] for row in inside["log"]] == ["The beginning", "A motorbike, attacked"]
    events = example_run.attacked.trace.cache_update.events
    assert [e["view"] for e in inside["log"][1]["entered"]] == [e.view for e in events]
    assert unpack(data, example_run.class_prompts, MODEL).count == now.count


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("feature", np.nan, "not finite"),
        ("feature", 3.0, "unit length"),
        ("entropy", np.nan, "entropy"),
        ("entropy", 99.0, "entropy"),
        ("entropy", -1.0, "entropy"),
        ("label", 4, "not in the list"),
        ("label", -1, "not in the list"),
        ("born", 7, "older than the memory"),
        ("born", -1, "older than the memory"),
        ("view", -1, "no number"),
        ("has_thumb", 2, "neither 0 nor 1"),
    ],
)
def test_one_wrong_number_is_refused(data: bytes, example_run: Run, name: str, value: float, sentence: str) -> None:
    array = load(data)[name].copy()
    array.reshape(-1)[0] = value
    assert_refused(with_changes(data, {name: array}), example_run, sentence)


def test_more_items_than_slots_and_other_shapes_are_refused(data: bytes, example_run: Run) -> None:
    held = load(data)
    many = {name: np.concatenate([array] * 20) for name, array in held.items()}
    count = len(many["label"])
    named = {"items": count, **dict.fromkeys(("files", "truths", "sources"), [""] * count)}
    named |= {"attacked": [None] * count, "boxes": [[]] * count}
    assert_refused(with_changes(data, many, **named), example_run, "more than its places")
    for arrays in (
        {"more": np.zeros(1)},
        {"label": held["label"].astype(np.int32)},
        {"feature": held["feature"][:, :4].copy()},
        {"entropy": held["entropy"][:-1].copy()},
        {"entropy": np.array(1, np.float32)},
    ):
        assert_refused(with_changes(data, arrays), example_run)


def test_a_tampered_header_is_refused(data: bytes, example_run: Run) -> None:
    tampered: list[dict[str, Any]] = [{"slots": value} for value in (10**9, "3", True)]
    tampered += [{"pictures": -1}, {"pictures": 1e300}, {"width": 7}, {"names": None}, {"format": "pickle"}]
    for about in (*tampered, {"model": ["toy"]}, {"key": {}}):
        assert_refused(with_changes(data, **about), example_run)
    for length in (10**12, 2**62, -1, 1.5, "3", None):  # of the arrays: more than the file has, or no length
        header = header_of(data)
        for name in cache_file.ARRAYS:
            header[name]["shape"] = [length, *header[name]["shape"][1:]]
        assert_refused(with_header(data, json.dumps(header).encode()), example_run)


def test_a_header_that_is_huge_deep_or_no_json_is_refused(data: bytes, example_run: Run) -> None:
    many = json.dumps({f"array{n}": {} for n in range(50_000)}).encode()
    metadata = [b'{"__metadata__": ' + text + b"}" for text in (b"[]", b'{"rita": 3}', b'{"rita": "[["}')]
    deep = [b"[" * 200_000, b'{"a":' * 100_000]
    for header in (*deep, b"[]", b"null", b'"x"', b"\xff" * 64, b"NaN", *metadata, many):
        assert_refused(with_header(data, header), example_run)
    for claimed in (2**63, 2**64 - 1, cache_file.MAX_HEADER_BYTES + 1, len(data)):
        assert_refused(struct.pack("<Q", claimed) + data[8:], example_run, "does not fit")


def test_a_zip_bomb_and_a_pickle_are_refused_unread(example_run: Run) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", bytes(64 << 20))
    touched: list[int] = []

    class Trap:
        def __reduce__(self) -> Any:
            return touched.append, (1,)

    for data in (bomb.getvalue(), pickle.dumps(Trap()), bytes(8) + pickle.dumps(Trap())):
        assert_refused(data, example_run)
    assert not touched


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.safetensors"
    with path.open("wb") as file:
        file.truncate(cache_file.MAX_FILE_BYTES + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(CacheFileError, match="larger than"):
        cache_file.read_file(path)


def test_a_truncated_file_is_refused_wherever_it_ends(data: bytes, example_run: Run) -> None:
    for length in [*range(0, min(1500, len(data)), 11), len(data) // 2, len(data) - 1]:
        assert_refused(data[:length], example_run)


def test_a_file_keeps_the_pictures_their_true_classes_and_what_left(engine: Any) -> None:
    history, names = History(), ("cup", "crab", "cat")
    settings = RECOMMENDED.replace(views=6, tuning_steps=0, attack="none", slots=1, max_entropy=9.0)
    for n in range(6):
        picture = Picture(np.random.default_rng(n).integers(0, 256, (112, 112, 3)).astype(np.uint8), f"key {n}")
        run = run_picture(engine, picture, names, settings, label=n % 3, cache=history.cache_before(picture.key))
        crops = engine.view_pixels(picture, settings)
        history = history.with_picture(f"photo {n}.png", picture.key, run, crops)
    now, left = (
        history.entries[-1].snapshot,
        [e for entry in history.entries for e in entry.events if e.replaced_born is not None],
    )
    assert left, "something was evicted"
    about = describe(now, MODEL, settings, history.entries)
    data = cache_file.pack(now, about, history.entries)
    *past, imported = cache_file.unpack_history(data, run.class_prompts, MODEL)
    assert states_equal(imported.snapshot.to_cache_state(), now.to_cache_state())
    assert [one.title for one in past] == [one.title for one in history.entries]
    for mine, theirs in zip(history.entries, past, strict=True):
        assert theirs.events == mine.events
        assert theirs.picture_key == mine.picture_key
        assert theirs.snapshot.pictures == mine.snapshot.pictures
        assert states_equal(theirs.snapshot.to_cache_state(), mine.snapshot.to_cache_state())
        for k, items in mine.snapshot.items_by_class.items():
            for item, again in zip(items, theirs.snapshot.items_by_class[k], strict=True):
                assert (again.picture, again.truth) == (item.picture, item.truth)
                assert np.array_equal(again.thumbnail, item.thumbnail)
    held = [item for _, _, item in imported.snapshot.items]
    assert all(item.picture.startswith("photo ") and item.truth in names for item in held)
    header = json.loads(header_of(data)["__metadata__"]["rita"])
    moment = header["moments"][-1]
    for changed in (
        {"moments": [moment | {"held": [10**6]}]},
        {"moments": [moment | {"held": [0, 0]}]},
        {"moments": [moment | {"held": list(range(len(header["files"])))}]},
        {"moments": [moment | {"pictures": 99}]},
        {"moments": [moment | {"title": 3}]},
        {"moments": [moment | {"events": [[0, 0, 0, float("nan"), None, None]]}]},
        {"moments": [moment | {"events": [[9, 0, 0, 0.1, None, None]]}]},
        {"moments": [moment] * 201},
        {"moments": {}},
        {"items": -1},
        {"items": len(header["files"]) + 1},
        {"files": header["files"][1:]},
        {"truths": [3] * len(header["truths"])},
        {"sources": header["sources"][1:]},
        {"attacked": ["yes"] * len(header["attacked"])},
        {"attacked": header["attacked"][1:]},
        {"boxes": [[0, 0, 1, 2]] * len(header["boxes"])},
        {"boxes": [[0, 0, 1]] * len(header["boxes"])},
    ):
        assert_refused(with_changes(data, **changed), run)


def test_a_file_of_an_earlier_version_is_refused(snapshot: CacheSnapshot, example_run: Run) -> None:
    older = with_changes(make_cache_file(snapshot))
    header = header_of(older)
    for name in ("items", "moments", "files", "truths", "sources", "attacked", "boxes"):
        about = json.loads(header["__metadata__"]["rita"])
        del about[name]
        data = with_header(older, json.dumps(header | {"__metadata__": {"rita": json.dumps(about)}}).encode())
        with pytest.raises(CacheFileError, match=r"This memory was made by an earlier version.*Export it again"):
            cache_file.unpack_history(data, example_run.class_prompts, MODEL)


def test_a_history_that_is_too_large_for_a_file_is_left_out(
    snapshot: CacheSnapshot, example_run: Run, monkeypatch
) -> None:
    entries = (HistoryEntry("a picture", snapshot),)
    monkeypatch.setattr(cache_file, "MAX_HEADER_BYTES", 1)
    data = cache_file.pack(snapshot, describe(snapshot, MODEL, RECOMMENDED, entries), entries)
    monkeypatch.undo()
    (entry,) = cache_file.unpack_history(data, example_run.class_prompts, MODEL)
    assert entry.snapshot.count == snapshot.count
