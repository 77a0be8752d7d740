"""The memory as a file: what is exported is imported unchanged, and nothing else is imported."""

import io
import json
import pickle
import struct
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.data import memory_file, record_file
from rita_demo.data.memory import MemoryTable, Moment
from rita_demo.data.memory_file import unpack
from rita_demo.data.record_file import FileError as CacheFileError
from rita_demo.pipeline.run import run_picture
from rita_demo.records import CacheEvent, Picture, Run
from rita_demo.settings import RECOMMENDED
from tests.pipeline.conftest import make_zip, members
from tests.ui.memory_client import states_equal

MODEL = "toy"
KINDS = (MemoryTable, Moment, CacheEvent)


@pytest.fixture(scope="module")
def memory(example_run: Run) -> MemoryTable:
    crops = np.random.default_rng(0).integers(0, 255, (64, 32, 32, 3), np.uint8)
    now = MemoryTable().with_picture("A motorbike", "key", example_run, crops)
    assert len(now.moments[-1].held)
    return now


@pytest.fixture(scope="module")
def data(memory: MemoryTable) -> bytes:
    return memory_file.pack(memory, MODEL, RECOMMENDED, alone=True)


def table_of(data: bytes) -> MemoryTable:
    return record_file.unpack(data, "memory", KINDS)["memory"]


def with_changes(data: bytes, **changes: Any) -> bytes:
    """The same file with other facts beside the table, or other columns."""
    file = record_file.unpack(data, "memory", KINDS)
    columns = {name: value for name, value in changes.items() if name not in file}
    file |= {name: value for name, value in changes.items() if name in file}
    return record_file.pack(file | {"memory": replace(file["memory"], **columns)})


def with_tree(data: bytes, tree: bytes) -> bytes:
    """The same file with another tree."""
    return make_zip(members(data) | {record_file.TREE: tree})


def assert_refused(data: bytes, run: Run, sentence: str | None = None) -> None:
    with pytest.raises(CacheFileError, match=sentence):
        unpack(data, run.class_prompts, MODEL)


def columns_equal(one: MemoryTable, other: MemoryTable) -> bool:
    """Whether two memories have the same views with all that is known of them."""
    return all(np.array_equal(column, getattr(other, name)) for name, column in one.columns.items())


def test_an_exported_memory_is_imported_unchanged(memory: MemoryTable, data: bytes, example_run: Run) -> None:
    again = unpack(data, example_run.class_prompts, MODEL)
    assert record_file.unpack(data, "memory", KINDS)["settings"] == record_file.unpack(
        record_file.pack(RECOMMENDED.replace(descriptions="none").as_dict())  # there are none for "piano"
    )
    assert table_of(data).names == example_run.class_prompts.names
    assert states_equal(again.state_at(), memory.state_at())
    assert again.state_at().pictures == memory.moments[-1].pictures
    assert columns_equal(again, memory)
    empty = memory_file.pack(memory.emptied(), MODEL, RECOMMENDED, alone=True)
    assert len(unpack(empty, example_run.class_prompts, MODEL).label) == 0


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("feature", np.nan, "not finite"),
        ("feature", 3.0, "unit length"),
        ("entropy", np.nan, "entropy"),
        ("label", 4, "not in the list"),
        ("born", 7, "older than the memory"),
        ("view", -1, "no number"),
    ],
)
def test_one_wrong_number_is_refused(data: bytes, example_run: Run, name: str, value: float, sentence: str) -> None:
    array = getattr(table_of(data), name)
    array.reshape(-1)[0] = value
    assert_refused(with_changes(data, **{name: array}), example_run, sentence)


def test_more_items_than_slots_and_other_shapes_are_refused(data: bytes, example_run: Run) -> None:
    held = table_of(data)
    rows = [{name: column[0] for name, column in held.columns.items()}] * 20
    many = held.with_rows(rows)
    moment = replace(held.moments[0], held=np.arange(len(held.label), len(many.label)))
    assert_refused(with_changes(data, memory=replace(many, moments=(moment,))), example_run, "more than its places")
    classes = held.with_rows([rows[0] | {"label": k} for k in (1, 0)])
    moment = replace(moment, held=np.arange(len(held.label), len(held.label) + 2))
    changed = with_changes(data, memory=replace(classes, moments=(moment,)))
    assert_refused(changed, example_run, "order of their classes")
    for name, array in (
        ("label", held.label.astype(np.int32)),
        ("feature", held.feature[:, :4]),
        ("has_thumbnail", held.has_thumbnail.astype(np.uint8)),
    ):
        assert_refused(with_changes(data, **{name: array}), example_run)


def test_tampered_columns_are_refused(data: bytes, example_run: Run) -> None:
    tampered: list[dict[str, Any]] = [{"names": None}, {"format": "pickle"}, {"model": ("toy",)}, {"key": {}}]
    held = table_of(data).moments[0]
    tampered += [{"moments": (replace(held, pictures=value),)} for value in (-1, "2")]
    tampered += [{"moments": (replace(held, slots=value),)} for value in (10**9, 0, "3")]
    for changes in tampered:
        assert_refused(with_changes(data, **changes), example_run)
    whole = members(data)[record_file.ARRAYS]
    (size,) = struct.unpack("<Q", whole[:8])
    for length in (10**12, -1, "3"):  # of the arrays: more than the file has, or no length
        header = json.loads(whole[8 : 8 + size])
        for one in header.values():
            one["shape"] = [length, *one["shape"][1:]]
        coded = json.dumps(header).encode()
        changed = struct.pack("<Q", len(coded)) + coded + whole[8 + size :]
        assert_refused(make_zip(members(data) | {record_file.ARRAYS: changed}), example_run)


def test_a_tree_that_is_huge_deep_another_or_no_json_is_refused(data: bytes, example_run: Run) -> None:
    other = [{"record": "Settings", "fields": {}}, {"record": "MemoryTable", "fields": {}}, {"array": "none"}]
    trees = [json.dumps(one).encode() for one in (*other, {"settings": {"views": 10**9}}, {"more": 3}, {"dict": [1]})]
    for tree in (*trees, b"[" * 200_000, b'{"a":' * 100_000, b"[]", b"null", b'"x"', b"\xff" * 64, b"NaN"):
        assert_refused(with_tree(data, tree), example_run)
    assert_refused(with_tree(data, b" " * (record_file.MAX_TREE_BYTES + 1)), example_run, "larger than any of ours")
    large = make_zip(members(data) | {record_file.ARRAYS: bytes(memory_file.MAX_FILE_BYTES + 1)})
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


def test_a_file_keeps_the_pictures_their_true_classes_and_what_left(engine: Any) -> None:
    history, names = MemoryTable(), ("cup", "crab", "cat")
    settings = RECOMMENDED.replace(views=6, tuning_steps=0, attack="none", slots=1, max_entropy=9.0)
    for n in range(6):
        picture = Picture(np.random.default_rng(n).integers(0, 256, (112, 112, 3)).astype(np.uint8), f"key {n}")
        run = run_picture(engine, picture, names, settings, label=n % 3, cache=history.cache_before(picture.key))
        crops = engine.view_pixels(picture, settings)
        history = history.with_picture(f"photo {n}.png", picture.key, run, crops)
    events = [event for moment in history.moments for event in moment.events]
    assert any(event.replaced_born is not None for event in events), "something was evicted"
    data = memory_file.pack(history, MODEL, settings)
    imported = unpack(data, run.class_prompts, MODEL)
    assert imported.moments[:-1] == history.moments, "titles, pictures and events"
    assert columns_equal(imported, history)
    for t in range(len(history.moments)):
        assert states_equal(imported.state_at(t), history.state_at(t))
    assert states_equal(imported.state_at(), history.state_at())
    assert all(one.startswith("photo ") for one in imported.picture)
    assert set(imported.truth) <= set(names)
    table = table_of(data)
    moment, count = table.moments[-1], len(table.file)
    event = CacheEvent(0, 0, 0, 0.1, None, None)
    for changed in (
        *({"moments": (replace(moment, held=held),)} for held in map(np.array, ([10**6], [0, 0], [-1], [0.0], [[0]]))),
        {"moments": (replace(moment, pictures=99), moment)},
        {"moments": (replace(moment, events=(replace(event, entropy=float("nan")),)),)},
        {"moments": (replace(moment, events=(replace(event, replaced_born=0),)),)},
        {"moments": (moment,) * 202},
        {"picture": table.picture[1:]},
        {"box": ((0, 0, 1),) * count},
    ):
        assert_refused(with_changes(data, **changed), run)
