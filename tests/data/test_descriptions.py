"""The built-in descriptions are complete and varied; malformed files give an error message."""

import json
from pathlib import Path

import pytest

from rita_demo.data.descriptions import BUILT_IN, BUILT_IN_MEAN, LARGEST_FILE, descriptions_for, load
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.records.errors import DataError

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


def test_a_custom_file_keeps_its_order_and_strips_its_sentences(tmp_path: Path) -> None:
    path = written(tmp_path, '{"dog": [" a dog. ", "a dog.", "the dog"], "cat": ["a cat"]}')
    assert list(load(path).items()) == [("dog", ("a dog.", "the dog")), ("cat", ("a cat",))]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", r"got \[\]"),
        ("{}", "got {}"),
        ("null", "got None"),
        ('{"dog": []}', r"got \[\]"),
        ('{"dog": "a dog"}', "got 'a dog'"),
        ('{"dog": [3]}', "is 3; expected text"),
        ('{"dog": [true]}', "is True"),
        ('{"dog": [NaN]}', "is nan"),
        ('{"dog": ["a \\ud83d dog"]}', "half a character"),
        ('{"dog": [" "]}', "is ' '"),
        ('{" ": ["a dog"]}', "class name"),
        ('{"dog": ["a"], "dog ": ["b"]}', "described twice"),
        (json.dumps({"dog": ["a" * 301]}), "301 characters"),
        (b" " * (LARGEST_FILE + 1), "at most 2 MB"),
    ],
)
def test_a_malformed_file_gives_an_error_message(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        load(written(tmp_path, text))
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("path", ["no_such_file.json", ".", "a\0b"])
def test_an_unreadable_path_gives_an_error_message(path: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load(path)


def test_sentences_come_in_the_order_of_the_names_whatever_their_capitals(tmp_path: Path) -> None:
    path = written(tmp_path, '{"Sea_Horse": ["a curl"], "dog": ["a tail", "an ear"], "cat": ["c"]}')
    assert descriptions_for(("dog", "sea horse"), str(path)) == (("a tail", "an ear"), ("a curl",))
    assert descriptions_for(("dog", "unknown"), "none") == ((), ())
    both = descriptions_for(("zigzagged", "crab"), "built_in")
    assert both == (load("dtd")["zigzagged"], load("caltech101")["crab"])


@pytest.mark.parametrize(
    ("names", "text", "says"),
    [
        (("dog", "emu", "cat"), '{"dog": ["a"]}', "no sentences for the class 'emu' and 1 more"),
        (("dog",), json.dumps({"dog": [str(n) for n in range(65)]}), "has 65 sentences; at most 64"),
    ],
)
def test_a_file_for_other_classes_gives_an_error_message(
    tmp_path: Path, names: tuple[str, ...], text: str, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        descriptions_for(names, str(written(tmp_path, text)))


def test_built_in_ones_are_used_only_where_every_class_has_some() -> None:
    assert descriptions_for(["banded", "crab"], BUILT_IN_MEAN) == descriptions_for(["banded", "crab"], "built_in")
    for source in (BUILT_IN_MEAN, "built_in"):
        assert descriptions_for(["banded", "my cat"], source) == ((), ())
