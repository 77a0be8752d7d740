"""Features of a person's own from a file: what may be in it, and that its header is checked before its numbers are read."""

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy
from safetensors.numpy import save_file

from rita_demo.data.feature_file import MAX_ROWS, read_features
from rita_demo.records.errors import DataError

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(12, 5)).astype(np.float32)
LABELS = np.tile([2, 0, 1], 4)
NAMES = ["striped", "dotted", "zigzagged"]


def npz(folder: Path, **arrays: object) -> Path:
    path = folder / "mine.npz"
    np.savez_compressed(path, **arrays)
    return path


def npz_of(folder: Path, member: bytes, name: str = "features.npy") -> Path:
    """An archive of one member with these bytes."""
    path = folder / "mine.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, member)
    return path


def npy_bytes(shape: tuple[int, ...], data: bytes, kind: str = "<f4") -> bytes:
    """An .npy with a header that may lie about its data."""
    made = io.BytesIO()
    npy.write_array_header_1_0(made, {"descr": kind, "fortran_order": False, "shape": shape})
    return made.getvalue() + data


@pytest.mark.parametrize("kind", ["<f2", ">f4", "<f8"])
def test_rows_come_at_length_1_with_the_class_of_their_number(tmp_path: Path, kind: str) -> None:
    stored = np.asfortranarray(FEATURES.astype(kind))
    found = read_features(npz(tmp_path, features=stored, labels=LABELS, names=NAMES))
    expected = FEATURES / np.linalg.norm(FEATURES, axis=1, keepdims=True)
    assert np.allclose(found.features, expected, atol=2e-3)
    assert found.features.dtype == np.float32
    assert [found.names[k] for k in found.label] == [NAMES[k] for k in LABELS]
    assert found.title == "12 features of 5 numbers from mine.npz, 3 classes"
    assert found.ids[3] == "row 3"


def test_labels_may_be_names_or_have_none_or_be_left_out(tmp_path: Path) -> None:
    words = np.array(NAMES)[LABELS]
    found = read_features(npz(tmp_path, features=FEATURES, labels=words))
    assert [found.names[k] for k in found.label] == words.tolist()
    found = read_features(npz(tmp_path, features=FEATURES, labels=LABELS.astype(np.uint8)))
    assert [found.names[k] for k in found.label] == [f"class {k}" for k in LABELS]
    found = read_features(npz(tmp_path, features=FEATURES, more=np.array([{}], object)))
    assert set(found.label) == {0}
    assert "no labels" in found.title


def test_safetensors_hold_the_same_with_the_names_in_their_metadata(tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    save_file({"features": FEATURES, "labels": LABELS}, path, {"names": json.dumps(NAMES)})
    found = read_features(path)
    again = read_features(npz(tmp_path, features=FEATURES, labels=LABELS, names=NAMES))
    assert found.names == again.names
    assert np.array_equal(found.label, again.label)
    assert np.array_equal(found.features, again.features)


NAN = np.where(np.arange(12)[:, None] == 3, np.nan, FEATURES)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"arr_0": FEATURES}, "Expected an array called features; mine.npz has: arr_0. Save it with numpy.savez"),
        ({"features": FEATURES[0]}, r"of the shape \(n, d\).*; features in mine.npz is float32 of the shape \(5,\)"),
        ({"features": FEATURES[:3]}, r"n from 8 to 5000 rows.*\(3, 5\)"),
        ({"features": FEATURES.astype(int)}, "Expected features as floats; features in mine.npz is int64"),
        ({"features": FEATURES.astype(complex)}, "Expected features as floats"),
        (
            {"features": FEATURES.astype(object)},
            "features in mine.npz holds Python objects, a pickle, and is not opened",
        ),
        ({"features": NAN}, "1 of the 12 rows of features in mine.npz hold NaN or infinity, or are all 0"),
        ({"features": FEATURES * 0}, "12 of the 12 rows"),
        ({"features": FEATURES, "labels": LABELS[:5]}, "a label for each of the 12 features; mine.npz has 5 labels"),
        ({"features": FEATURES, "labels": LABELS / 2}, "Expected labels as whole numbers or texts; .* float64"),
        ({"features": FEATURES, "labels": LABELS - 1}, "Labels are whole numbers from 0 to 999; mine.npz has -1 to 1"),
        ({"features": FEATURES, "labels": LABELS, "names": NAMES[:2]}, "from 0 to 1; mine.npz has 0 to 2"),
        ({"features": FEATURES, "labels": LABELS, "names": ["a", "a", "b"]}, "1 of the 3 class names .* there twice"),
        ({"features": FEATURES, "labels": LABELS * 0}, "labels of 1 class; 2 are needed"),
        ({"features": FEATURES, "labels": LABELS, "names": np.array([{}])}, "names in mine.npz holds Python objects"),
        ({"features": FEATURES, "labels": np.full(12, "x" * 300_000)}, "MB of text"),
    ],
)
def test_a_wrong_array_is_a_sentence_with_what_was_expected_and_what_came(tmp_path, arrays, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_features(npz(tmp_path, **arrays))


@pytest.mark.parametrize(
    ("member", "sentence"),
    [
        (npy_bytes((MAX_ROWS + 1, 4), bytes(16 * (MAX_ROWS + 1))), "5001, 4"),
        (npy_bytes((10**6, 4096), b""), r"n from 8 to 5000 rows"),
        (npy_bytes((12, 5), bytes(10)), "damaged"),
        (npy_bytes((12, 5), bytes(64 << 20)), "damaged"),
        (npy_bytes((12, -5), b""), "damaged|shape"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + bytes(100), "damaged"),
        (b"no array", "damaged"),
    ],
)
def test_a_header_that_lies_or_asks_for_too_much_is_refused_before_anything_is_unpacked(
    tmp_path, member: bytes, sentence: str
) -> None:
    path = npz_of(tmp_path, member)
    tracemalloc.start()
    with pytest.raises(DataError, match=sentence):
        read_features(path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20, "a small archive stays small"
    tracemalloc.stop()


def test_another_kind_of_file_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    for data, sentence in (
        (b"", "mine.npz is an empty file"),
        (b"a,b\n1,2\n", "mine.npz is plain text"),
        (b"<!doctype html><html>", "a web page"),
        (npy_bytes((12, 5), FEATURES.tobytes()), "an array of numpy, .npy"),
        (b"\x89HDF\r\n" + bytes(range(200)), "a file of another kind"),
        (b"PK\x03\x04" + bytes(40), "damaged"),
        ((200).to_bytes(8, "little") + b"{" + bytes(20), "damaged"),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=sentence):
            read_features(path)
    with pytest.raises(DataError, match=r"nowhere\.npz cannot be read: no such file"):
        read_features(tmp_path / "nowhere.npz")
    tensors = tmp_path / "mine.safetensors"
    save_file({"weights": FEATURES}, tensors)
    with pytest.raises(DataError, match=r"Expected an array called features; mine\.safetensors has: weights"):
        read_features(tensors)
    for names in ("[1, 2, 3]", '{"a": 1}'):
        save_file({"features": FEATURES, "labels": LABELS}, tensors, {"names": names})
        with pytest.raises(DataError, match="no JSON list of texts"):
            read_features(tensors)
