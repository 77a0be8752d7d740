"""The built-in descriptions are complete and varied; malformed files give an error message."""

import json
from pathlib import Path

import pytest

from rita_demo.data.descriptions import BUILT_IN, BUILT_IN_MEAN, FOR_PAPER, LARGEST_FILE, descriptions_for, load
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.records.errors import DataError

NATURAL_FORMS = {"water lilly": ("water lily", "water lilies")}


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "mine.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", BUILT_IN | FOR_PAPER)
def test_every_class_has_eight_different_sentences_with_its_name(name: str) -> None:
    described, raw = load(name), json.loads((BUILT_IN | FOR_PAPER)[name].read_text())
    if name in BUILT_IN:
        assert [key.replace("_", " ") for key in described] == list(VOCABULARIES[name].names)
    assert len(described) == {"caltech101": 100, "dtd": 47, "eurosat": 10, "pets": 37}.get(
        name, int(name[-3:] if name[-3:].isdecimal() else 0)
    )
    every = [row.lower() for rows in described.values() for row in rows]
    assert len(set(every)) == len(every) == sum(map(len, raw.values()))
    for key, rows in described.items():
        spoken = key.replace("_", " ").lower()
        forms = (spoken, *NATURAL_FORMS.get(spoken, ()))
        assert len(rows) >= 8, key
        assert all(6 <= len(row.split()) <= 18 for row in rows), key
        assert all(any(form in row.lower() for form in forms) for row in rows), key
        assert len({" ".join(row.lower().split()[:4]) for row in rows}) >= 4, f"{key}: the openings are alike"


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


def test_a_file_for_other_classes_gives_an_error_message(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sentences for the class 'emu' and 1 more"):
        descriptions_for(("dog", "emu", "cat"), str(written(tmp_path, '{"dog": ["a"]}')))
    with pytest.raises(DataError, match="has 65 sentences; at most 64"):
        descriptions_for(("dog",), str(written(tmp_path, json.dumps({"dog": [str(n) for n in range(65)]}))))


def test_built_in_ones_are_used_only_where_every_class_has_some() -> None:
    assert descriptions_for(["banded", "crab"], BUILT_IN_MEAN) == descriptions_for(["banded", "crab"], "built_in")
    for source in (BUILT_IN_MEAN, "built_in"):
        assert descriptions_for(["banded", "my cat"], source) == ((), ())


@pytest.mark.parametrize("name", FOR_PAPER)
def test_the_paper_s_other_datasets_are_described_for_the_preset_paper_alone(name: str) -> None:
    described = load(name)
    assert descriptions_for([key.upper() for key in described], "built_in") == tuple(described.values())
    assert descriptions_for(list(described), BUILT_IN_MEAN) == tuple(() for _ in described)
    assert descriptions_for([*described, "my cat"], "built_in") == ((),) * (len(described) + 1)


def test_a_class_of_two_files_has_the_sentences_of_its_own_dataset() -> None:
    names = list(load("flowers102"))
    assert {"sunflower", "lotus"} <= set(names) & set(load("caltech101"))
    assert descriptions_for(["sunflower", "crab"], "built_in")[0] == load("caltech101")["sunflower"]
    assert descriptions_for(names, "built_in")[names.index("sunflower")] == load("flowers102")["sunflower"]
