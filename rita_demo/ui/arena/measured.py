"""The arena over many pictures, from stored measurements."""

from collections.abc import Sequence
from html import escape

from rita_demo.attacks import ATTACKS
from rita_demo.defences.registry import DEFENCES
from rita_demo.records import MeasuredCell
from rita_demo.ui.widgets.blocks import html_table, table_row
from rita_demo.vlm.catalogue import BACKBONES, NOT_ZERO_SHOT

EMPTY = (
    "<p class='empty'>No finished cells without memory under the recommended settings: evaluate --protocols off "
    "--attack none,pgd,autoattack,adaptive:rita,adaptive makes them.</p>"
)
NOTE = (
    "Percent of pictures that a defence has right, Wilson’s 95 % interval, and the number of pictures. “Knows this "
    f"row” is made for each row anew; the other attackers do not know it. – is not measured. {NOT_ZERO_SHOT}"
)
Column = tuple[str, int, int]  # attack, budget in 1/255, steps


def measured_html(cells: Sequence[MeasuredCell]) -> str:
    """One table per dataset and model; of a cell that was measured twice, the one of more pictures."""
    tables: dict[tuple[str, str], dict[str, dict[Column, MeasuredCell]]] = {}
    for cell in cells:
        if cell.method in DEFENCES:
            table = tables.setdefault((f"{cell.dataset}, {cell.split}", cell.backbone), {})
            row, column = table.setdefault(cell.method, {}), (cell.attack, cell.budget, cell.steps)
            if column not in row or row[column].n < cell.n:
                row[column] = cell
    parts = "".join(_table_html(*name, table) for name, table in tables.items())
    return f"<div class='towers'>{parts}</div><p class='quiet small'>{NOTE}</p>" if parts else EMPTY


def _table_html(dataset: str, backbone: str, table: dict[str, dict[Column, MeasuredCell]]) -> str:
    order = {name: at for at, name in enumerate(ATTACKS)}

    def place(column: Column) -> tuple[bool, int, Column]:
        return column[0] == "adaptive", order.get(column[0].partition(":")[0], 99), column

    columns = sorted({column for row in table.values() for column in row}, key=place)
    rows = [
        table_row(escape(DEFENCES[name].title), *(_cell_html(table[name].get(column)) for column in columns))
        for name in DEFENCES
        if name in table
    ]
    title = escape(f"{dataset}: {BACKBONES[backbone].title if backbone in BACKBONES else backbone}")
    headings = ["defence", *(escape(_heading(column)) for column in columns)]
    return f"<section><h3>{title}</h3>{html_table(headings, rows, 'arena', title)}</section>"


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


def _cell_html(cell: MeasuredCell | None) -> str:
    if cell is None:
        return "–"
    return f"<b>{cell.accuracy:.0f}</b> ({cell.low:.0f}–{cell.high:.0f})<small>n = {cell.n}</small>"
