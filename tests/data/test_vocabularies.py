"""Typed class names become a vocabulary, or give an error message."""

import pytest

from rita_demo.data.vocabularies import VOCABULARIES, duplicates, format_names, index_of, parse_names, vocabulary
from rita_demo.records.errors import VocabularyError

GOOD: list[tuple[str, tuple[str, ...]]] = [
    ("cup, crab", ("cup", "crab")),
    ("cup;crab\ncamera\r\nanchor", ("cup", "crab", "camera", "anchor")),
    ("  a   cup ,,\n\n, crab,", ("a cup", "crab")),
    ("cup, Cup, CUP, crab", ("cup", "crab")),
    ("Straße, STRASSE, Weg", ("Straße", "Weg")),
    ("cafe\u0301, caf\u00e9, tea", ("caf\u00e9", "tea")),
    ("🦀, ☕, 👩\u200d🚀", ("🦀", "☕", "👩\u200d🚀")),
    ("<b>cup</b>, <script>alert(1)</script>", ("<b>cup</b>", "<script>alert(1)</script>")),
    ("c\x00u\x1bp, cr\u202eab, a\tb", ("cup", "crab", "a b")),
    ("cup\tcrab\tsea horse", ("cup", "crab", "sea horse")),
    ("cup\tcrab\r\nowl\tfox\r\n", ("cup", "crab", "owl", "fox")),
    ("cup, crab, \u200d, \u200b", ("cup", "crab")),
    ("\ud800cup, crab", ("cup", "crab")),
    ("sea_horse, yin-yang", ("sea_horse", "yin-yang")),
    ("x" * 100 + ", crab", ("x" * 100, "crab")),
    (",".join(map(str, range(1200))), tuple(map(str, range(1200)))),
    ('"fox, red", cup', ("fox, red", "cup")),
    ('cup,"fox; red" \n"a ""b"", c"', ("cup", "fox; red", 'a "b", c')),
    ('12" pizza, "open, "x" y', ('12" pizza', '"open', '"x" y')),
    ('"a\nb", cup', ('"a', 'b"', "cup")),
]


@pytest.mark.parametrize(("text", "names"), GOOD)
def test_typed_names_are_split(text: str, names: tuple[str, ...]) -> None:
    assert parse_names(text) == names


@pytest.mark.parametrize(
    "names",
    [("fox, red", "cup"), ('"quoted"', "a;b"), ('12" pizza', '"open', 'x "y", z'), *(names for _, names in GOOD)],
)
@pytest.mark.parametrize("separator", [", ", ",", "; ", "\n"])
def test_a_list_that_is_written_out_is_read_back_whatever_its_names_hold(
    names: tuple[str, ...], separator: str
) -> None:
    assert parse_names(format_names(names, separator)) == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "At least 2 different class names are needed; got none"),
        (" ,\n; ", "got none"),
        ("cup", "got only 'cup'"),
        ("cup, CUP", "got only 'cup'"),
        ("x" * 300 + ", crab", "at most 100 characters; 'xxx.*' has 300"),
        (",".join(map(str, range(2000))), "At most 1200 class names can be compared; got 2000"),
    ],
)
def test_unusable_names_give_an_error_message(text: str, words: str) -> None:
    with pytest.raises(VocabularyError, match=words) as caught:
        parse_names(text)
    assert caught.value.hint
    assert len(str(caught.value)) < 250


def test_dropped_duplicates_are_named() -> None:
    assert duplicates("cup, crab, Cup, crab, CUP; cup") == ("Cup", "crab")
    assert duplicates("cup, crab") == ()


@pytest.mark.parametrize(
    ("name", "count", "some"),
    [
        (
            "caltech101",
            100,
            {0: "face", 1: "leopard", 4: "airplane", 81: "sea horse", 94: "water lilly", 99: "yin yang"},
        ),
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


def test_an_unknown_list_names_the_known_ones() -> None:
    with pytest.raises(VocabularyError, match="caltech101, dtd, imagenet; got 'pets'"):
        vocabulary("pets")


def test_a_class_is_found_by_its_name_or_the_error_lists_the_closest_names() -> None:
    names = ("cup", "crab", "sea horse")
    assert [index_of(names, wanted) for wanted in ("crab", "CUP", "sea_horse", " Sea horse")] == [1, 0, 2, 2]
    with pytest.raises(VocabularyError, match=r"no class 'carb' among the 3.*Closest: 'crab'"):
        index_of(names, "carb")
    with pytest.raises(VocabularyError, match="The first ones: 'cup'"):
        index_of(names, "zzz")
