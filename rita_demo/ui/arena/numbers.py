"""The measurements of a run folder, a table per dataset and model."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from rita_demo.attacks import ATTACKS
from rita_demo.data.datasets import DATASETS
from rita_demo.defences.registry import DEFENCES
from rita_demo.records import MeasuredCell
from rita_demo.settings.models import BACKBONES, NOT_ZERO_SHOT
from rita_demo.ui.widgets import blocks, wording
from rita_demo.ui.widgets.wording import EARLIER_MARK, EARLIER_NOTE

NOTHING_MEASURED = (
    "<p class='empty'>No finished cells without memory under the recommended settings: evaluate --protocols off "
    "--attack none,pgd,autoattack,adaptive:rita,adaptive makes them.</p>"
)
NOTE = (
    "Percent of pictures that a defence has right, Wilson’s 95 % interval, and the number of pictures. “Knows this "
    f"row” is made for each row anew; the other attackers do not know it. Cells of another n have other pictures. – is not "
    f"measured. {NOT_ZERO_SHOT}"
)
Column = tuple[str, int, int]  # attack, budget in 1/255, steps
Table = dict[str, dict[Column, MeasuredCell]]  # defence -> attacker -> cell


def numbers_html(cells: Sequence[MeasuredCell]) -> str:
    """HTML: every attacker that was measured, with n and the intervals. Of a cell that was measured twice, the one under
    the present form of the attack is shown, then that of more pictures."""
    tables: dict[str, Table] = {}
    for cell in cells:
        if cell.method in DEFENCES or cell.title:
            model = BACKBONES[cell.backbone].title if cell.backbone in BACKBONES else cell.backbone
            dataset = DATASETS[cell.dataset].title if cell.dataset in DATASETS else cell.dataset
            row = tables.setdefault(f"{dataset}, {cell.split}: {model}", {}).setdefault(cell.method, {})
            column = (cell.attack, cell.budget, cell.steps)
            row[column] = max(row.get(column, cell), cell, key=lambda one: (not one.by_earlier_attack, one.n))
    parts = "".join(_table(title, table) for title, table in tables.items())
    earlier = EARLIER_NOTE * any(cell.by_earlier_attack for cell in cells)
    return f"<div class='tables'>{parts}</div><p class='note'>{NOTE}{earlier}</p>" if parts else NOTHING_MEASURED


def _table(title: str, table: Table) -> str:
    order = {name: at for at, name in enumerate(ATTACKS)}

    def place(column: Column) -> tuple[bool, int, Column]:
        return column[0] == "adaptive", order.get(column[0].partition(":")[0], 99), column

    columns = sorted({column for row in table.values() for column in row}, key=place)
    names = [name for name in dict.fromkeys([*DEFENCES, *table]) if name in table]
    own = {name: next(iter(table[name].values())).title for name in names if name not in DEFENCES}
    titles = [own.get(name) or wording.term_html(DEFENCES[name].title, wording.title_of(name)) for name in names]
    rows = [(title, *(_cell(table[name].get(column)) for column in columns)) for name, title in zip(names, titles)]
    return f"<section><h3>{escape(title)}</h3>{blocks.table(['defence', *map(_heading, columns)], rows, scrolls=title)}</section>"


def _heading(column: Column) -> str:
    attack, budget, steps = column
    name, _, against = attack.partition(":")
    if attack == "adaptive":
        title = "knows this row"
    elif against:
        title = f"made for {DEFENCES[against].title if against in DEFENCES else against}"
    else:
        title = "no attack" if name == "none" else ATTACKS[name].column_title if name in ATTACKS else name
    strength = f"{budget}/255" if budget else ""
    many = f"{steps} steps" if name == "pgd" else ""
    return ", ".join(part for part in (title, strength, many) if part)


def _cell(cell: MeasuredCell | None) -> str:
    if cell is None:
        return "–"
    mark = EARLIER_MARK * cell.by_earlier_attack
    return Markup(f"<b>{cell.accuracy:.0f}</b>{mark} ({cell.low:.0f}–{cell.high:.0f})<small>n = {cell.n}</small>")
