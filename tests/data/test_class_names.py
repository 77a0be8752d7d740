"""Class names: typed ones, ready lists, and their descriptions. What is refused: test_bad_inputs.py."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo.data.descriptions import BUILT_IN_MEAN, descriptions_for, load
from rita_demo.data.vocabularies import VOCABULARIES, format_names, label_index, parse_names, vocabulary

#: A typed list and its names.
TYPED: list[tuple[str, tuple[str, ...]]] = [
    ("cup;crab\ncamera\r\nanchor", ("cup", "crab", "camera", "anchor")),
    ("  a   cup ,,\n\n, crab,", ("a cup", "crab")),
    ("cup, Cup, CUP, crab", ("cup", "crab")),
    ("Straße, STRASSE, Weg", ("Straße", "Weg")),
    ("cafe\u0301, caf\u00e9, tea", ("caf\u00e9", "tea")),
    ("<b>cup</b>, <script>alert(1)</script>", ("<b>cup</b>", "<script>alert(1)</script>")),
    ("c\x00u\x1bp, cr\u202eab, a\tb", ("cup", "crab", "a b")),
    ('cup,"fox; red" \n"a ""b"", c"', ("cup", "fox; red", 'a "b", c')),
    ('12" pizza, "open, "x" y', ('12" pizza', '"open', '"x" y')),
]


@pytest.mark.parametrize(("text", "names"), TYPED)
def test_typed_names_are_split(text: str, names: tuple[str, ...]) -> None:
    assert parse_names(text) == names


def test_a_list_that_is_written_out_is_read_back_whatever_its_names_hold() -> None:
    more = [("fox, red", "cup"), ('"quoted"', "a;b"), ('12" pizza', '"open', 'x "y", z')]
    for names in (*more, *(names for _, names in TYPED)):
        for separator in (", ", ",", "; ", "\n"):
            assert parse_names(format_names(names, separator)) == names


@pytest.mark.parametrize(
    ("name", "count", "some"),
    [
        ("caltech101", 100, {0: "face", 1: "leopard", 81: "sea horse", 94: "water lilly", 99: "yin yang"}),
        ("dtd", 47, {0: "banded", 5: "chequered", 30: "polka-dotted", 46: "zigzagged"}),
        ("imagenet", 1000, {0: "tench", 1: "goldfish", 207: "Golden Retriever", 999: "toilet paper"}),
    ],
)
def test_ready_lists_have_the_official_names_in_the_official_order(name: str, count: int, some: dict[int, str]) -> None:
    names = vocabulary(name).names
    assert len(names) == len(set(names)) == count
    assert {label: names[label] for label in some} == some
    assert parse_names("\n".join(names)) == names, "they pass the check for typed ones"
    assert VOCABULARIES[name].title


@pytest.mark.parametrize(
    ("label", "index"),
    [(1, 1), (np.int64(2), 2), (np.uint8(0), 0), (torch.tensor(1), 1), ("Fly_Agaric", 1), (" FLY agaric", 1), ("7", 2)],
)
def test_a_label_is_a_name_or_an_index(label: Any, index: int) -> None:
    assert label_index(("cup", "fly agaric", "7"), label) == index


# --- descriptions


def test_a_file_keeps_its_order_and_gives_its_sentences_whatever_the_capitals_of_the_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"Sea_Horse": [" a curl "], "dog": ["a tail", "an ear", "a tail"], "cat": ["c"]}')
    assert list(load(path).items()) == [("Sea_Horse", ("a curl",)), ("dog", ("a tail", "an ear")), ("cat", ("c",))]
    assert descriptions_for(("dog", "sea horse"), str(path)) == (("a tail", "an ear"), ("a curl",))
    assert descriptions_for(("dog", "unknown"), "none") == ((), ())


def test_built_in_ones_are_used_only_where_every_class_has_some() -> None:
    both = load("dtd")["zigzagged"], load("caltech101")["crab"]
    for source in (BUILT_IN_MEAN, "built_in"):
        assert descriptions_for(["zigzagged", "crab"], source) == both
        assert descriptions_for(["banded", "my cat"], source) == ((), ())
