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

from rita_demo.data import record_file
from rita_demo.data.record_file import FileError as CacheFileError
from rita_demo.pipeline.run import run_picture
from rita_demo.records import CacheEvent, Picture, Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session import cache_file
from rita_demo.ui.session.cache_file import StoredMemory, StoredMoment, unpack
from rita_demo.ui.session.cache_history import CacheSnapshot, History, HistoryEntry
from tests.pipeline.conftest import make_zip, members
from tests.ui.memory_client import states_equal

MODEL = "toy"
KINDS = (StoredMemory, StoredMoment, CacheEvent)


@pytest.fixture(scope="module")
def snapshot(example_run: Run) -> CacheSnapshot:
    crops = np.random.default_rng(0).integers(0, 255, (64, 32, 32, 3), np.uint8)
    now = History().with_picture("A motorbike", "key", example_run, crops).entries[-1].snapshot
    assert now.count > 0
    return now


def make_cache_file(snapshot: CacheSnapshot) -> bytes:
    """A memory as a file, with the default settings and without moments before it."""
    return cache_file.pack(snapshot, MODEL, RECOMMENDED)


@pytest.fixture(scope="module")
def data(snapshot: CacheSnapshot) -> bytes:
    return make_cache_file(snapshot)


def table_of(data: bytes) -> StoredMemory:
    return record_file.unpack(data, "memory", KINDS)


def with_changes(data: bytes, **changes: Any) -> bytes:
    """The same file with other columns."""
    return record_file.pack(replace(table_of(data), **changes))


def with_tree(data: bytes, tree: bytes) -> bytes:
    """The same file with another tree."""
    return make_zip(members(data) | {record_file.TREE: tree})


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


def test_settings_and_classes_are_in_the_file(data: bytes, example_run: Run) -> None:
    used = RECOMMENDED.replace(descriptions="none")  # there are none for "piano"
    assert table_of(data).settings == record_file.unpack(record_file.pack(used.as_dict()))
    assert table_of(data).names == example_run.class_prompts.names


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
    ],
)
def test_one_wrong_number_is_refused(data: bytes, example_run: Run, name: str, value: float, sentence: str) -> None:
    array = getattr(table_of(data), name)
    array.reshape(-1)[0] = value
    assert_refused(with_changes(data, **{name: array}), example_run, sentence)


def test_more_items_than_slots_and_other_shapes_are_refused(data: bytes, example_run: Run) -> None:
    held = table_of(data)
    arrays = {name: one for name, one in vars(held).items() if isinstance(one, np.ndarray)}
    many: dict[str, Any] = {name: np.concatenate([array] * 20) for name, array in arrays.items()}
    many |= {name: getattr(held, name) * 20 for name in ("picture", "truth", "file", "attacked", "box")}
    moment = replace(held.moments[0], held=tuple(range(len(many["label"]))))
    assert_refused(with_changes(data, **many, moments=(moment,)), example_run, "more than its places")
    for name, array in (
        ("label", held.label.astype(np.int32)),
        ("feature", held.feature[:, :4]),
        ("entropy", held.entropy[:-1]),
        ("has_thumbnail", held.has_thumbnail.astype(np.uint8)),
        ("thumbnail", "none"),
    ):
        assert_refused(with_changes(data, **{name: array}), example_run)


def test_tampered_columns_are_refused(data: bytes, example_run: Run) -> None:
    tampered: list[dict[str, Any]] = [{"slots": value} for value in (10**9, 0, "3", True)]
    tampered += [{"names": None}, {"format": "pickle"}, {"model": ("toy",)}, {"key": {}}, {"moments": ()}]
    held = table_of(data).moments[0]
    tampered += [{"moments": (replace(held, pictures=value),)} for value in (-1, 1e300, "2")]
    for changes in tampered:
        assert_refused(with_changes(data, **changes), example_run)
    whole = members(data)[record_file.ARRAYS]
    (size,) = struct.unpack("<Q", whole[:8])
    for length in (10**12, 2**62, -1, 1.5, "3", None):  # of the arrays: more than the file has, or no length
        header = json.loads(whole[8 : 8 + size])
        for one in header.values():
            one["shape"] = [length, *one["shape"][1:]]
        coded = json.dumps(header).encode()
        changed = struct.pack("<Q", len(coded)) + coded + whole[8 + size :]
        assert_refused(make_zip(members(data) | {record_file.ARRAYS: changed}), example_run)


def test_a_tree_that_is_huge_deep_another_or_no_json_is_refused(data: bytes, example_run: Run) -> None:
    other = [{"record": "Settings", "fields": {}}, {"record": "StoredMemory", "fields": {}}, {"array": "none"}]
    trees = [json.dumps(one).encode() for one in (*other, {"settings": {"views": 10**9}}, {"more": 3}, {"dict": [1]})]
    for tree in (*trees, b"[" * 200_000, b'{"a":' * 100_000, b"[]", b"null", b'"x"', b"\xff" * 64, b"NaN"):
        assert_refused(with_tree(data, tree), example_run)
    assert_refused(with_tree(data, b" " * (record_file.MAX_TREE_BYTES + 1)), example_run, "larger than any of ours")
    large = make_zip(members(data) | {record_file.ARRAYS: bytes(cache_file.MAX_FILE_BYTES + 1)})
    assert_refused(large, example_run, "larger than any of ours")


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
    path = tmp_path / "memory.zip"
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
    data = cache_file.pack(now, MODEL, settings, history.entries)
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
    table = table_of(data)
    moment, count = table.moments[-1], len(table.file)
    event = CacheEvent(0, 0, 0, 0.1, None, None)
    for changed in (
        *({"moments": (replace(moment, held=held),)} for held in ((10**6,), (0, 0), (-1,), tuple(range(count)))),
        {"moments": (replace(moment, pictures=99), moment)},
        {"moments": (replace(moment, title=3),)},
        {"moments": (replace(moment, events=(replace(event, entropy=float("nan")),)),)},
        {"moments": (replace(moment, events=(replace(event, label=9),)),)},
        {"moments": (replace(moment, events=(replace(event, replaced_born=0),)),)},
        {"moments": (moment,) * 202},
        {"moments": {}},
        {"picture": table.picture[1:]},
        {"truth": (3,) * count},
        {"file": table.file[1:]},
        {"attacked": ("yes",) * count},
        {"attacked": table.attacked[1:]},
        {"box": ((0, 0, 1, 2),) * count},
        {"box": ((0, 0, 1),) * count},
    ):
        assert_refused(with_changes(data, **changed), run)


def test_a_history_that_is_too_large_for_a_file_is_left_out(
    snapshot: CacheSnapshot, example_run: Run, monkeypatch
) -> None:
    entries = (HistoryEntry("a picture", snapshot),)
    monkeypatch.setattr(record_file, "MAX_TREE_BYTES", 1)
    data = cache_file.pack(snapshot, MODEL, RECOMMENDED, entries)
    monkeypatch.undo()
    (entry,) = cache_file.unpack_history(data, example_run.class_prompts, MODEL)
    assert entry.snapshot.count == snapshot.count
