"""The commands behind the Story's stored numbers."""

import re
from pathlib import Path
from types import SimpleNamespace

from rita_demo.data.shipped_results import difference_rows, sample_outcomes
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.story.notes import LECTURE
from rita_demo.ui.story.view import TEMPLATE
from tools.story.counts import ALL, count
from tools.story.lecture import lecture


def group(method: str, right: dict[str, bool], seed: int = 0, **settings: object) -> SimpleNamespace:
    columns = {
        "split": "test",
        "attack": "pgd",
        "backbone": "embedded",
        "budget": 4,
        "dataset": "dtd",
        "protocol": "off",
    }
    rows = [
        {"picture": name, "picture_seed": seed, "seed": seed, "linf": 4.0, "l2": 2.0, "right": one}
        for name, one in right.items()
    ]
    known = {"transported_mass": RECOMMENDED.transported_mass} | settings
    header = SimpleNamespace(columns=columns, settings=known, weights="b224c4ba6f67", method=method)
    return SimpleNamespace(header=header, rows=rows)


def test_a_picture_counts_once_for_the_method_that_has_it_right_under_more_seeds() -> None:
    found = count(
        [
            group("rita", {"a": True, "b": True, "c": False, "d": True}),
            group("rita", {"a": True, "b": False, "c": False, "d": True}, seed=1),
            group("rita", {"a": False, "b": False, "c": False, "d": False}, cost="loglik"),
            group("ensemble", {"a": False, "b": False, "c": True, "d": True}),
            group("ensemble", {"a": False, "b": True, "c": True, "d": True}, seed=1),
        ]
    )
    counts = {(one.dataset, one.seeds): (one.n, one.only_method, one.only_other) for one in found}
    assert counts["dtd", "0"] == (4, 2, 1)
    assert counts["dtd", "1"] == (4, 1, 2)
    assert counts["dtd", "0,1"] == counts[ALL, "0,1"] == (4, 1, 1)


def test_the_stored_counts_are_the_printed_ones_of_300_test_pictures() -> None:
    rows = difference_rows()
    assert {one.weights for one in rows} == {one.weights for one in sample_outcomes().values()}
    whole = {(one.attack, one.other): one for one in rows if one.dataset == ALL and one.seeds == "0,1,2,3"}
    assert {one.n for one in whole.values()} == {300}
    printed = {("pgd", "ensemble"): (28, 6), ("pgd", "ensemble_area"): (14, 13), ("none", "ensemble_area"): (4, 9)}
    for place, numbers in printed.items():
        assert (whole[place].only_method, whole[place].only_other) == numbers
    for place, one in whole.items():
        parts = [r for r in rows if r.dataset != ALL and r.seeds == one.seeds and (r.attack, r.other) == place]
        assert sum(part.only_method for part in parts) == one.only_method
        assert sum(part.only_other for part in parts) == one.only_other


def test_the_lecture_has_a_note_for_every_slide_and_takes_thirteen_of_its_fifteen_minutes() -> None:
    sections = re.findall(r'<section class="(\w+)" (?:aria-label|data-slide)', TEMPLATE)
    assert sections == list(LECTURE)
    seconds = {name: note.seconds for name, note in LECTURE.items()}
    words = {name: len(re.findall(r"\S+", note.says)) for name, note in LECTURE.items()}
    for name, note in LECTURE.items():
        assert seconds[name] == 25 + 60 * words[name] / 100 + sum(spent for _, spent in note.does)
        assert ("reveal" in dict(note.does)) == (f'data-about="{ {"attack": "noise"}.get(name, name) }"' in TEMPLATE), (
            name
        )
    assert 12.5 * 60 <= sum(seconds.values()) <= 13.5 * 60


def test_the_documents_have_the_lecture_as_it_is_printed() -> None:
    written = (Path(__file__).parents[2] / "docs/teaching.md").read_text(encoding="utf-8")
    assert lecture() in written
