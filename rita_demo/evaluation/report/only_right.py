"""The pictures that one measurement has right and another has not: of any two runs, whatever was attacked and by what.

With several seeds a picture counts once, as in McNemar's test (:mod:`rita_demo.evaluation.report.paired`): it is won where the
first measurement is right under a larger share of its seeds than the second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import frames
from rita_demo.evaluation.measurement import settings_text
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.report.cells import CELL, answers_of, pooled, title_of
from rita_demo.evaluation.report.paired import ATTACKED, Paired, compare, merged
from rita_demo.evaluation.streams import traffic_words
from rita_demo.records.errors import DataError, SettingError, did_you_mean, refuse_gone
from rita_demo.records.measurement import MEMORY_TEXT
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.settings import SETTINGS
from rita_demo.settings.setting import number_text

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Settings that a title has in words, or that matter to no reader.
IN_TITLE = ("attacked_share", "stream_order", "views")
MAX_CHOICES = 6  # values of a column that a message lists
COLUMNS = ("dataset", "picture", "label", "first", "second", "right_first", "right_second", "same_attack")


@dataclass(frozen=True)
class OnlyRight:
    """Two measurements on the pictures that both have. ``titles``: what each is; ``won``: the pictures that the first alone
    has right, with ``COLUMNS``; ``paired``: McNemar's test over all of them. ``dataset``, ``place`` and ``names``: of the
    first, where its pictures are, and the class names that it was asked."""

    titles: tuple[str, str]
    won: DataFrame
    paired: Paired
    dataset: str
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


def won_csv(comparison: OnlyRight) -> bytes:
    """The pictures that the first alone has right as a CSV file, which ``evaluate --pictures`` reads."""
    return csv_bytes([list(comparison.won), *comparison.won.itertuples(index=False, name=None)])


def only_right(first: str | Path, second: str | Path | None = None, **columns: Any) -> DataFrame:
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
    comparison = compare_folders(Path(first), Path(second) if second is not None else None, columns)
    comparison.won.attrs["sentence"] = comparison.sentence
    return comparison.won


def compare_folders(first: Path, second: Path | None, columns: Mapping[str, Any]) -> OnlyRight:
    """See :func:`only_right`."""
    for name in columns:
        if name not in CELL:
            raise SettingError(
                f"Runs have no column {name[:40]!r}.", did_you_mean(name, CELL, f"One of {', '.join(CELL)}.")
            )
    both = {name: value if isinstance(value, tuple | list) else (value, value) for name, value in columns.items()}
    if wrong := next((name for name, pair in both.items() if len(pair) != 2), None):
        raise SettingError(f"{wrong} is one value of both runs, or a pair; got {len(both[wrong])}.")
    if "budget" in both:
        both["budget"] = [text if text in (None, "") else SETTINGS["budget"].parse(text) for text in both["budget"]]
    for method in both.get("method", ()):
        refuse_gone(method)
    ours, others = (pooled(frames.measurements(folder)) for folder in (first, second or first))
    for name, (wanted, other_wanted) in both.items():
        if wanted not in (None, ""):
            ours = ours[ours[name].astype(str) == str(wanted)]
        if other_wanted not in (None, ""):
            others = others[others[name].astype(str) == str(other_wanted)]
    mine = _only_line(ours, "first")
    # of the others those that are like the first, column after column, as long as there are any
    for name in CELL:
        alike = others[others[name] == mine[name]]
        others = others if alike.empty else alike
    other, rows = _only_line(others, "second"), frames.read(first)
    return compare_cells(mine, rows, other, rows if second is None else frames.read(second))


def compare_cells(first: Series[Any], rows: DataFrame, second: Series[Any], other_rows: DataFrame) -> OnlyRight:
    """Two lines of :func:`~rita_demo.evaluation.report.cells.pooled` on the pictures that both have, and the rows that
    they are in. Raises DataError: there is no such picture."""
    titles = (cell_title(first), cell_title(second))
    datasets = [str(cell["dataset"]).removesuffix(PRESENT_SUFFIX) for cell in (first, second)]
    answers = [answers_of(first, rows), answers_of(second, other_rows)]
    shares = merged(answers[0], answers[1], on=["picture", "content"])
    paired = compare(shares)
    if paired is None or datasets[0] != datasets[1]:
        raise DataError(
            f"The two runs have no picture in common: {' and '.join(titles)}.",
            "Choose runs on the same dataset and split.",
        )
    won = shares[shares["first"] > shares["second"]]
    groups = [frame[frame["picture"].isin(won.index)].groupby("picture") for frame in answers]
    texts = [group["answer"].agg(lambda answers: Counter(answers).most_common(1)[0][0]) for group in groups]
    pixels, other_pixels = (
        {name: frozenset(same.itertuples(index=False, name=None)) for name, same in group[ATTACKED]} for group in groups
    )
    table = won.rename(columns={"first": "right_first", "second": "right_second"}).assign(
        dataset=datasets[0],
        label=groups[0]["label"].first(),
        first=texts[0],
        second=texts[1],
        same_attack=[pixels[name] == other_pixels[name] for name in won.index],
    )
    table, place = table.reset_index()[list(COLUMNS)], str(first["folder"] or first["dataset"])
    return OnlyRight(titles, table, paired, datasets[0], place, tuple(first["class_names"]))


def cell_title(cell: Mapping[str, Any]) -> str:
    """A measurement in words: "RITA (PGD 4/255, memory kept)"."""
    defence = DEFENCES.get(cell["method"])
    memory = MEMORY_TEXT[cell["protocol"]] if defence is not None and defence.uses_cache else ""
    changed = settings_text({name: value for name, value in cell["non_default"].items() if name not in IN_TITLE})
    title = title_of(cell["method"], cell["method_title"]) if defence is None else defence.title
    return f"{title} ({', '.join(filter(None, [traffic_words(cell), memory, changed]))})"


def _only_line(cells: DataFrame, which: str) -> Series[Any]:
    """The line of the table. Raises DataError: there are several, or none."""
    if len(cells) == 1:
        return cells.iloc[0]
    if cells.empty:
        raise DataError(f"Nothing in the {which} run fits.", "See with the command tables what it holds.")
    values = {name: sorted(set(cells[name].astype(str))) for name in CELL}
    text = "; ".join(f"{name}: {', '.join(some[:MAX_CHOICES])}" for name, some in values.items() if len(some) > 1)
    raise DataError(f"{len(cells)} measurements of the {which} run fit.", f"Choose by {text}.")
