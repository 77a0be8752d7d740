"""One table for a paper: methods x (dataset, attack), each cell with its interval, threat models once below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.data.datasets import DATASETS
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report.cells import scope
from rita_demo.evaluation.report.render import as_latex, as_markdown, escape
from rita_demo.evaluation.report.tables import NOT_MEASURED, attack_column, cache_text, threat_models
from rita_demo.records.errors import SettingError, did_you_mean
from rita_demo.records.grouping import group_by
from rita_demo.records.measurement import MEMORY_TEXT

if TYPE_CHECKING:
    from pandas import DataFrame

CAPTION = (
    "Accuracy in percent with Wilson's 95 % interval. Bold: the highest accuracy of a column, ties too; it claims no "
    "significance."
)
SHORT_NAMES = {ours: short for short, ours in paper_results.DATASETS.items()}
STAR_NOTE = "*: not every picture is measured yet."


def select(table: DataFrame, methods: Sequence[str], attacks: Sequence[str], protocols: Sequence[str]) -> DataFrame:
    """The cells of these methods and attacks, in their order (none: all that were measured), under one of the
    ``protocols`` where the method has a memory. Raises SettingError: one of them was not measured."""
    kept = table[[not cache_text(cell) or cell.protocol in protocols for cell in table.itertuples()]]
    for column, wanted in (("method", methods), ("attack", attacks)):
        measured = list(dict.fromkeys(kept[column]))
        for name in wanted:
            if name not in measured:
                hint = did_you_mean(name, measured, f"There is {', '.join(measured) or 'nothing'}.")
                raise SettingError(f"No cell of the {column} {name[:60]!r} was measured.", hint)
        if wanted:
            kept = kept[kept[column].isin(wanted)].sort_values(column, key=lambda c: c.map(wanted.index), kind="stable")
    return kept


class PaperTable:
    """The table of selected cells; :meth:`markdown`, :meth:`latex` and :meth:`csv` write it. Of several cells of one place
    it has the finished one with the recommended settings and most pictures; a note names the others."""

    def __init__(self, table: DataFrame) -> None:
        cells = list(table.itertuples())
        self.cells: dict[str, dict[tuple[str, str], Any]] = {}  # row -> column -> cell
        several = len({(cell.backbone, cell.weights) for cell in cells}) > 1
        splits = len({cell.split for cell in cells}) > 1

        def place(cell: Any) -> str:
            base, _, names = cell.dataset.partition(":")
            title = SHORT_NAMES.get(base, DATASETS[base].title if base in DATASETS else base)
            more = [names, cell.split * splits, cell.backbone * several]
            return ", ".join([title, *filter(None, more)])

        for (row, *column), same in group_by(cells, lambda c: (_row_of(c), place(c), attack_column(c))).items():
            best = max(same, key=lambda cell: (cell.finished, not cell.also, cell.n))
            self.cells.setdefault(row, {})[column[0], column[1]] = best
        chosen = [cell for row in self.cells.values() for cell in row.values()]
        indices = {cell.Index for cell in chosen}
        others = [
            f"{_row_of(c)} ({place(c)}, {_attack_title(c)}): {c.accuracy:.1f} of n = {c.n}, settings "
            f"{', '.join(filter(None, [c.special, c.settings]))}"
            for c in cells
            if c.Index not in indices
        ]
        self.not_shown = f"Measured too, and not in the table: {'; '.join(others)}." if others else ""
        measured = {column for row in self.cells.values() for column in row}
        places, attacks = (dict.fromkeys(map(of, cells)) for of in (place, attack_column))
        self.columns = [column for column in product(places, attacks) if column in measured]
        self.attacks = {attack_column(cell): _attack_title(cell) for cell in chosen}
        self.notes = self._notes(chosen, place)
        self.threats = {self.attacks[name]: sentences for name, sentences in threat_models(chosen).items()}

    def _notes(self, cells: Sequence[Any], place: Callable[[Any], str]) -> list[str]:
        """What is not measured, of which pictures and model the numbers are, and the settings that are no column."""
        missing = []
        for name, row in self.cells.items():
            if lacking := [f"{p}, {self.attacks[a]}" for p, a in self.columns if (p, a) not in row]:
                missing.append(f"{name} ({'; '.join(lacking)})")
        notes = [f"{NOT_MEASURED}: not measured: {'; '.join(missing)}."] if missing else []
        notes += [self.not_shown] if self.not_shown else []
        notes += [STAR_NOTE] if any(not cell.finished for cell in cells) else []
        notes += [
            f"{name}: {' '.join(dict.fromkeys(map(scope, same)))}" for name, same in group_by(cells, place).items()
        ]
        for cell in {(cell.backbone, cell.weights): cell for cell in cells}.values():
            notes.append(f"Model {cell.backbone}, weights {cell.weights[:8]}. {cell.note}".rstrip())
        return [*notes, f"Seeds: {'; '.join(dict.fromkeys(cell.seeds for cell in cells))}."]

    def _text(self, row: str, column: tuple[str, str], write: Callable[[str, str, bool], str]) -> str:
        cell = self.cells[row].get(column)
        if cell is None:
            return NOT_MEASURED
        here = [other[column] for other in self.cells.values() if column in other]
        best = max((f"{other.accuracy:.1f}" for other in here if other.finished), key=float, default="")
        bold = len(here) > 1 and cell.finished and f"{cell.accuracy:.1f}" == best
        more = f"; n = {cell.n}" if len({other.n for other in here}) > 1 else ""
        star = "" if cell.finished else "*"
        return write(f"{cell.accuracy:.1f}{star}", f"{cell.low:.1f} to {cell.high:.1f}{more}", bold)

    def _frame(self, write: Callable[[str, str, bool], str], name: Callable[[str], str] = str) -> DataFrame:
        """Rows and columns as text; ``write`` gets accuracy, interval and whether it is the best of its column."""
        import pandas

        rows = [[name(row), *(self._text(row, column, write) for column in self.columns)] for row in self.cells]
        columns = [("", "method"), *((place, self.attacks[attack]) for place, attack in self.columns)]
        return pandas.DataFrame(rows, columns=pandas.MultiIndex.from_tuples(columns))

    def _flat(self, write: Callable[[str, str, bool], str]) -> DataFrame:
        frame = self._frame(write)
        return frame.set_axis([", ".join(filter(None, column)) for column in frame.columns], axis=1)

    def markdown(self) -> str:
        frame = self._flat(lambda share, ends, bold: f"**{share}** ({ends})" if bold else f"{share} ({ends})")
        threats = [f"**{attack}.** {' '.join(sentences)}" for attack, sentences in self.threats.items()]
        return "\n\n".join([as_markdown(frame), CAPTION, *self.notes, *threats]) + "\n"

    def csv(self) -> str:
        return self._flat(lambda share, ends, bold: f"{share} ({ends})").to_csv(index=False, lineterminator="\n")

    def latex(self) -> str:
        """A ``table*`` no wider than the page, and below it what it is of; it needs the packages booktabs and graphicx."""

        def write(share: str, ends: str, bold: bool) -> str:
            number = rf"\textbf{{{escape(share)}}}" if bold else escape(share)
            return rf"{number} {{\scriptsize({escape(ends).replace(' to ', '--')})}}"

        body = as_latex(self._frame(write, escape).replace(NOT_MEASURED, "--"))
        texts = {escape(attack): escape(" ".join(sentences)) for attack, sentences in self.threats.items()}
        threats = [rf"\textbf{{{attack}.}} {text}" for attack, text in texts.items()]
        below = "\n\n".join([*map(escape, self.notes), *threats])
        lines = [r"% needs \usepackage{booktabs,graphicx}", r"\begin{table*}"]
        lines += [r"\centering\small\setlength{\tabcolsep}{4pt}", rf"\caption{{{escape(CAPTION)}}}"]
        lines += [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%", f"{body}}}", r"\end{table*}"]
        return "\n".join([*lines, rf"{{\footnotesize\noindent {below}\par}}", ""])


def _row_of(cell: Any) -> str:
    """A method with what became of its memory and its own settings."""
    memory = MEMORY_TEXT.get(cell.protocol, cell.protocol) if cache_text(cell) else ""
    more = ", ".join(filter(None, [memory, cell.variant]))
    return f"{cell.title} ({more})" if more else cell.title


def _attack_title(cell: Any) -> str:
    """The head of a column: "PGD 4/255, 7 steps"."""
    if cell.attack == "none":
        return "no attack"
    base, rest = cell.attack, ""
    for sign in "@:":
        base, mark, more = base.partition(sign)
        rest = mark + more + rest
    title = ATTACKS[base].column_title if base in ATTACKS else base
    if base == "adaptive" and rest:
        known = rest.removeprefix(":")
        rest = f" against {DEFENCES[known].title if known in DEFENCES else known}"
    return attack_column(cell).replace(cell.attack, title + rest, 1)


FORMATS = {"markdown": PaperTable.markdown, "latex": PaperTable.latex, "csv": PaperTable.csv}
