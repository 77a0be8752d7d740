"""The pictures that one measurement has right and another has not: of any two runs, whatever was attacked and by what.

With several seeds a picture counts once, as in McNemar's test (:mod:`rita_demo.evaluation.report.comparisons`): it is won
where the first measurement is right under a larger share of its seeds than the second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.chosen import ChosenPictures
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.report.comparisons import PairedComparison, picture_key
from rita_demo.evaluation.store.cell_file import CellHeader, Row, SeedGroup, seed_groups
from rita_demo.evaluation.store.stream_runs import traffic_words
from rita_demo.records.errors import DataError, SettingError, did_you_mean, refuse_gone
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import MEMORY_TEXT
from rita_demo.settings import SETTINGS
from rita_demo.settings.setting import number_text

if TYPE_CHECKING:
    import pandas

#: What tells measurements of a folder apart, in the order in which a second one is looked for that fits the first.
SELECTORS = ("dataset", "split", "backbone", "method", "attack", "budget", "steps", "protocol", "settings")
IN_TITLE = (
    "attacked_share",
    "stream_order",
    "views",
)  # settings that a title has in words, or that matter to no reader
MAX_CHOICES = 6  # values of a column that a message lists


@dataclass(frozen=True)
class WonPicture:
    """A picture that the first measurement has right and the second has not. ``answers``: of both, with several seeds the
    most frequent; ``right``: the share of its seeds under which each is right; ``same_attack``: whether both saw the same
    pixels."""

    picture: str
    label: str
    answers: tuple[str, str]
    right: tuple[float, float]
    same_attack: bool


@dataclass(frozen=True)
class OnlyRight:
    """Two measurements on the pictures that both have. ``titles``: what each is; ``dataset``: their dataset; ``won``: the
    pictures that the first alone has right; ``paired``: McNemar's test over all of them. ``place`` and ``names``: where the
    pictures are, and the class names that the first was asked."""

    titles: tuple[str, str]
    dataset: str
    won: tuple[WonPicture, ...]
    paired: PairedComparison
    place: str
    names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """How many of how many, the other way round, and the test."""
        n, lost, p = self.paired.n, self.paired.lost, number_text(float(f"{self.paired.p_value:.2g}"))
        return (
            f"{self.titles[0]} has {len(self.won)} of {n} pictures right that {self.titles[1]} has not; the other way round "
            f"{lost or 'none'}. McNemar’s exact p = {p}."
        )

    @property
    def chosen(self) -> ChosenPictures:
        """The pictures as a choice. Raises DataError: there are none."""
        return ChosenPictures(tuple(one.picture for one in self.won), self.names, self.place)


def only_right(first: str | Path, second: str | Path | None = None, **columns: Any) -> pandas.DataFrame:
    """The pictures that one run has right and another has not, as a table.

    Args:
        first, second: folders that ``evaluate`` wrote to; None: both measurements are of the first.
        columns: which measurement of a folder is meant, by columns of ``load_runs``: ``method``, ``attack``, ``budget``,
            ``steps``, ``protocol``, ``dataset``, ``split``, ``backbone``, ``settings``. A value is of both runs, a pair has
            one for each: ``only_right("RUNS", method=("rita", "clip"), attack="pgd")``. What is left open in the second is
            as in the first, where that was measured.

    Returns:
        One row per picture: ``dataset``, ``picture`` (its name, as ``evaluate(pictures=...)`` takes it), ``label``, the two
        answers ``first`` and ``second``, ``right_first`` and ``right_second`` (the share of its seeds), and ``same_attack``:
        whether both saw the same pixels. ``frame.attrs`` has the sentence on all pictures of both.

    Raises:
        DataError: no folder of measurements, several measurements that fit, or no picture that both have.
        SettingError: there is no such column, or ``budget`` is no strength.
    """
    import pandas

    comparison = compare_folders(Path(first), Path(second) if second is not None else None, columns)
    frame = pandas.DataFrame([_row(comparison, one) for one in comparison.won], columns=list(TABLE_COLUMNS))
    frame.attrs["sentence"] = comparison.sentence
    return frame


TABLE_COLUMNS = ("dataset", "picture", "label", "first", "second", "right_first", "right_second", "same_attack")


def _row(comparison: OnlyRight, picture: WonPicture) -> tuple[Any, ...]:
    return (comparison.dataset, picture.picture, picture.label, *picture.answers, *picture.right, picture.same_attack)


def rows_of(comparison: OnlyRight) -> list[tuple[Any, ...]]:
    """The rows of the table, with the columns ``TABLE_COLUMNS``."""
    return [_row(comparison, one) for one in comparison.won]


def compare_folders(first: Path, second: Path | None, columns: Mapping[str, Any]) -> OnlyRight:
    """See :func:`only_right`."""
    for name in columns:
        if name not in SELECTORS:
            raise SettingError(
                f"Runs have no column {name[:40]!r}.", did_you_mean(name, SELECTORS, f"One of {', '.join(SELECTORS)}.")
            )
    both = {name: value if isinstance(value, tuple | list) else (value, value) for name, value in columns.items()}
    if wrong := next((name for name, pair in both.items() if len(pair) != 2), None):
        raise SettingError(f"{wrong} is one value of both runs, or a pair; got {len(both[wrong])}.")
    strengths = both.get("budget", ())
    if strengths:
        both["budget"] = [one if one in (None, "") else SETTINGS["budget"].parse(one) for one in strengths]
    for method in both.get("method", ()):
        refuse_gone(method)
    groups = seed_groups(first)
    one = _the_one(_matching(groups, {n: pair[0] for n, pair in both.items()}), "first")
    others = _matching(groups if second is None else seed_groups(second), {n: pair[1] for n, pair in both.items()})
    return compare(one, _the_one(_nearest(one, others), "second"))


def compare(first: SeedGroup, second: SeedGroup) -> OnlyRight:
    """Two measurements on the pictures that both have.

    Raises:
        DataError: there is no such picture.
    """
    titles = (title_of(first.header), title_of(second.header))
    datasets = [str(one.header.columns["dataset"]).removesuffix(PRESENT_SUFFIX) for one in (first, second)]
    theirs = group_by(second.rows, lambda row: row["picture"])
    shared = group_by((row for row in first.rows if row["picture"] in theirs), lambda row: row["picture"])
    if not shared or datasets[0] != datasets[1]:
        raise DataError(
            f"The two runs have no picture in common: {' and '.join(titles)}.",
            "Choose runs on the same dataset and split.",
        )
    rights = {name: (_share(rows), _share(theirs[name])) for name, rows in shared.items()}
    won = [name for name, (mine, other) in rights.items() if mine > other]
    lost = sum(mine < other for mine, other in rights.values())
    header = first.header
    return OnlyRight(
        titles,
        datasets[0],
        tuple(_won_picture(name, shared[name], theirs[name]) for name in won),
        PairedComparison(len(rights), len(won), lost),
        header.place,
        tuple(header.names),
    )


def title_of(header: CellHeader) -> str:
    """A measurement in words: "RITA (PGD 4/255, memory kept)"."""
    columns, defence = header.columns, DEFENCES.get(header.method)
    memory = MEMORY_TEXT[columns["protocol"]] if defence is not None and defence.uses_cache else ""
    changed = [f"{name}={value}" for name, value in header.non_default.items() if name not in IN_TITLE]
    title = header.title if defence is None else defence.title
    return f"{title} ({', '.join(filter(None, [traffic_words(columns), memory, *changed]))})"


def _won_picture(name: str, first: Sequence[Row], second: Sequence[Row]) -> WonPicture:
    answers = (_most_frequent(first), _most_frequent(second))
    pixels = {picture_key(row) for row in first} == {picture_key(row) for row in second}
    return WonPicture(name, first[0]["label"], answers, (_share(first), _share(second)), pixels)


def _share(rows: Sequence[Row]) -> float:
    return fmean(row["right"] for row in rows)


def _most_frequent(rows: Iterable[Row]) -> str:
    return Counter(row["answer"] for row in rows).most_common(1)[0][0]


def _matching(groups: Iterable[SeedGroup], wanted: Mapping[str, Any]) -> list[SeedGroup]:
    return [
        one
        for one in groups
        if all(_column(one, name) == str(value) for name, value in wanted.items() if value not in (None, ""))
    ]


def _column(group: SeedGroup, name: str) -> str:
    return str(group.header.columns[name])


def _nearest(first: SeedGroup, others: list[SeedGroup]) -> list[SeedGroup]:
    """Of the other measurements those that are like the first, column after column, as long as there are any."""
    for name in SELECTORS:
        others = [one for one in others if _column(one, name) == _column(first, name)] or others
    return others


def _the_one(groups: Sequence[SeedGroup], which: str) -> SeedGroup:
    if len(groups) == 1:
        return groups[0]
    if not groups:
        raise DataError(f"Nothing in the {which} run fits.", "See with the command tables what it holds.")
    values = {name: sorted({_column(one, name) for one in groups}) for name in SELECTORS}
    open_columns = {name: choices for name, choices in values.items() if len(choices) > 1}
    text = "; ".join(f"{name}: {', '.join(choices[:MAX_CHOICES])}" for name, choices in open_columns.items())
    raise DataError(f"{len(groups)} measurements of the {which} run fit.", f"Choose by {text}.")
