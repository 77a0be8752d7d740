"""The written descriptions: complete, varied, and refused with a sentence when malformed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rita_demo.data.descriptions import BUILT_IN, LARGEST_FILE, MEAN, described, load
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.errors import DataError

NATURAL_FORMS = {"water lilly": ("water lily", "water lilies")}


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "mine.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_class_of_the_vocabulary_is_described_and_no_other(name: str) -> None:
    described = [key.replace("_", " ") for key in load(name)]
    assert described == list(VOCABULARIES[name].names)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_class_has_at_least_eight_sentences_of_six_to_eighteen_words(name: str) -> None:
    for rows in load(name).values():
        assert len(rows) >= 8
        assert all(6 <= len(row.split()) <= 18 for row in rows)


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_sentence_is_written_twice(name: str) -> None:
    rows = [row.lower() for rows in load(name).values() for row in rows]
    raw = json.loads(BUILT_IN[name].read_text())
    assert len(set(rows)) == len(rows) == sum(len(rows) for rows in raw.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_sentence_contains_its_class_name(name: str) -> None:
    for key, rows in load(name).items():
        spoken = key.replace("_", " ")
        forms = (spoken, *NATURAL_FORMS.get(spoken, ()))
        assert all(any(form in row.lower() for form in forms) for row in rows), key


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_sentences_of_a_class_differ_in_wording(name: str) -> None:
    for key, rows in load(name).items():
        openings = {" ".join(row.lower().split()[:4]) for row in rows}
        assert len(openings) >= 4, key


def test_a_file_of_ones_own_keeps_its_order_and_strips_its_sentences(tmp_path: Path) -> None:
    path = written(tmp_path, '{"dog": [" a dog. ", "a dog.", "the dog"], "cat": ["a cat"]}')
    assert list(load(path).items()) == [("dog", ("a dog.", "the dog")), ("cat", ("a cat",))]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "a list that is empty"),
        ("{}", "an object that is empty"),
        ("null", "got nothing"),
        ('{"dog": []}', "a list that is empty"),
        ('{"dog": "a dog"}', "got text"),
        ('{"dog": [3]}', "is a number"),
        ('{"dog": [true]}', "is true or false"),
        ('{"dog": [NaN]}', "is a number"),
        ('{"dog": ["a \\ud83d dog"]}', "half a character"),
        ('{"dog": [" "]}', "text that is empty"),
        ('{" ": ["a dog"]}', "class name"),
        ('{"dog": ["a"], "dog ": ["b"]}', "described twice"),
        (json.dumps({"dog": ["a" * 301]}), "301 characters"),
        (b" " * (LARGEST_FILE + 1), "at most 2 MB"),
    ],
)
def test_a_malformed_file_is_refused_with_a_sentence(
    tmp_path: Path, text: str | bytes, says: str
) -> None:
    with pytest.raises(DataError, match=says) as caught:
        load(written(tmp_path, text))
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("path", ["no_such_file.json", ".", "a\0b"])
def test_a_path_that_cannot_be_read_is_refused_with_a_sentence(path: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load(path)


def test_sentences_come_in_the_order_of_the_names_whatever_their_capitals(tmp_path: Path) -> None:
    path = written(tmp_path, '{"Sea_Horse": ["a curl"], "dog": ["a tail", "an ear"], "cat": ["c"]}')
    assert described(("dog", "sea horse"), str(path)) == (("a tail", "an ear"), ("a curl",))
    assert described(("dog", "nobody"), "none") == ((), ())
    both = described(("zigzagged", "crab"), "built_in")
    assert both == (load("dtd")["zigzagged"], load("caltech101")["crab"])


@pytest.mark.parametrize(
    ("names", "text", "says"),
    [
        (("dog", "emu", "cat"), '{"dog": ["a"]}', "no sentences for the class 'emu' and 1 more"),
        (
            ("dog",),
            json.dumps({"dog": [str(n) for n in range(65)]}),
            "has 65 sentences; at most 64",
        ),
    ],
)
def test_a_file_that_does_not_fit_the_classes_is_refused_with_a_sentence(
    tmp_path: Path, names: tuple[str, ...], text: str, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        described(names, str(written(tmp_path, text)))


def test_a_class_the_built_in_files_do_not_know_is_told_which_lists_they_cover() -> None:
    with pytest.raises(DataError, match="no sentences for the class 'piano'") as refused:
        described(("cup", "piano"), "built_in")
    assert "caltech101 and dtd" in refused.value.hint


def test_as_one_prompt_they_are_used_only_where_every_class_has_some() -> None:
    assert described(["banded", "crab"], MEAN) == described(["banded", "crab"], "built_in")
    assert described(["banded", "my cat"], MEAN) == ((), ())
