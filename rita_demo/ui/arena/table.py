"""The tables of *Arena* as HTML: of one picture, where every answer is a button that opens its run, and of many pictures,
from stored measurements."""

from collections.abc import Sequence

from markupsafe import Markup, escape

from rita_demo.attacks import ATTACKS
from rita_demo.data.datasets import DATASETS
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.arena import (
    ArenaTable,
    TowerTable,
    columns,
    masked,
    tower_comparison,
    tower_sentence,
    wrong_before,
)
from rita_demo.process.templates import html
from rita_demo.records import MeasuredCell, Verdict
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import blocks, wording
from rita_demo.ui.widgets.wording import EARLIER_MARK, EARLIER_NOTE
from rita_demo.vlm.catalogue import BACKBONES, EMBEDDED_ROBUST, NOT_ZERO_SHOT

EMPTY = (
    "<p class='empty'>Nothing is measured for this picture yet. Press “Fill the arena”: the first columns take "
    "seconds, the last a few minutes.</p>"
)
NOTES = (
    "A cell opens its run in all rooms. Small numbers: the lead over the second best answer, in points of probability, for "
    "RITA in cosine distance. “Made for another row”: made for Ensemble; in the row of Ensemble, for RITA."
)
MASKED = (
    "† Right against the attacker who knows it, wrong against one who does not: the first attack is too weak to show "
    "anything, and its cell is not counted."
)
WRONG_BEFORE = "– Wrong without an attack as well: no success of the attack."
ROBUST_NOTE = "Its vision tower was trained on attacked pictures."
SWIPE = (
    "<p class='quiet small narrow-only'>The last column, the attacker who knows the row, is to the right: swipe.</p>"
)
NOTHING_MEASURED = (
    "<p class='empty'>No finished cells without memory under the recommended settings: evaluate --protocols off "
    "--attack none,pgd,autoattack,adaptive:rita,adaptive makes them.</p>"
)
MEASURED_NOTE = (
    "Percent of pictures that a defence has right, Wilson’s 95 % interval, and the number of pictures. “Knows this "
    f"row” is made for each row anew; the other attackers do not know it. Cells of another n have other pictures. – is not "
    f"measured. {NOT_ZERO_SHOT}"
)
Column = tuple[str, int, int]  # attack, budget in 1/255, steps


def says(session: Session) -> str:
    """HTML: what is on screen, and how many defences stand, in each model."""
    table = session.arena
    if table is None or not table.fits(session.run):
        return "Which defences stand, and against whom?"
    mark = wording.STORED_MARK if table.stored else ""
    name = table.run.class_prompts.names[table.run.label]
    what = (
        f"{len(table.methods)} defences against {len(columns()) - 1} attackers on one picture ({name}), with a change of at most "
        f"{table.run.settings.budget} of 255 per pixel."
    )
    found = " ".join(
        f"{tower.backbone.title}: {text[0].lower()}{text[1:]}"
        for tower in table.towers.values()
        if (text := tower_sentence(tower, table.methods))
    )
    return f"{mark}{escape(what)} {escape(found)}"


def arena_html(session: Session) -> str:
    """One table per model, and sentences on what they show."""
    table = session.arena
    if table is None or not table.fits(session.run):
        return EMPTY
    run, towers = table.run, table.towers.values()
    lead = "".join(f"<p class='summary'>{escape(text)}</p>" for text in tower_comparison(table))
    parts = "".join(_tower_html(table, tower, first=not at) for at, tower in enumerate(towers))
    whose = "True class" if run.label_given else "CLIP’s answer without an attack, in place of the true class"
    truth = " / ".join(dict.fromkeys(run.class_prompts.names[tower.label] for tower in towers))
    flagged = any(masked(tower, name) for tower in towers for name in table.methods)
    wrong = run.label_given and any(wrong_before(tower, name) for tower in towers for name in table.methods)
    return (
        f"{lead}{SWIPE}<div class='towers'>{parts}</div><p class='quiet small'>{whose}: {escape(truth)}. Strength "
        f"{run.settings.budget}/255. {NOTES} {MASKED * flagged} {WRONG_BEFORE * wrong}</p>"
    )


def _tower_html(table: ArenaTable, tower: TowerTable, first: bool) -> str:
    title = tower.backbone.title
    rows = [
        (wording.term_html(DEFENCES[name].title), *(_cell_html(table, tower, name, column) for column in columns()))
        for name in table.methods
    ]
    shown = str(blocks.table(["defence", *columns().values()], rows, "arena", title))
    what = f"<p class='small'>{ROBUST_NOTE}</p>" * (tower.backbone.name == EMBEDDED_ROBUST)
    if first:  # one stop for the tabulator; the arrow keys move on from there
        shown = shown.replace("tabindex='-1'", "tabindex='0'", 1)
    return f"<section><h3>{escape(title)}</h3>{what or '<p></p>'}{shown}</section>"


def _cell_html(table: ArenaTable, tower: TowerTable, name: str, column: str) -> str:
    cell, holds = tower.cells.get((name, column)), tower.right.get((name, column))
    if not isinstance(cell, Verdict):
        return cell or "…"
    mark, kind, word = ("✓", "good", "right") if holds else ("✗", "bad", "wrong")
    if not table.run.label_given:
        mark, kind, word = ("=", "dim", "unchanged") if holds else ("≠", "dim", "changed")
    flag = ""
    if column == "adaptive" and masked(tower, name):
        flag, kind, word = " †", "dim", f"{word}, but its attacker is too weak"
    if table.run.label_given and column != "none" and not holds and wrong_before(tower, name):
        mark, kind, word = "–", "dim", "wrong, as without an attack"
    said = {"title": DEFENCES[name].title, "heading": columns()[column], "word": word}
    shown = {"tower": tower.backbone, "method": name, "column": column, "mark": mark, "kind": kind, "flag": flag}
    return html("arena_cell", run=table.run, cell=cell, **said, **shown)


# --- many pictures
Table = dict[str, dict[Column, MeasuredCell]]  # defence -> attacker -> cell


def measured_html(cells: Sequence[MeasuredCell]) -> str:
    """One table per dataset and model."""
    parts = "".join(_measured_table(title, table) for title, table in _tables(cells).items())
    earlier = EARLIER_NOTE * any(cell.by_earlier_attack for cell in cells)
    note = f"<p class='quiet small'>{MEASURED_NOTE}{earlier}</p>"
    return f"{SWIPE}<div class='towers'>{parts}</div>{note}" if parts else NOTHING_MEASURED


def measured_summary(cells: Sequence[MeasuredCell]) -> str:
    """A line per dataset and model: what the best defence and RITA keep against PGD, and against attackers who know them."""
    lines = []
    for title, table in _tables(cells).items():
        best: dict[str, MeasuredCell] = {}
        for row in table.values():
            for (attack, _, _), cell in row.items():
                best[attack] = max(best.get(attack, cell), cell, key=lambda one: one.accuracy)
        if {"pgd", "adaptive"} <= set(best):
            pgd, known = (_kept(name, best[name], table) for name in ("pgd", "adaptive"))
            form = " (an earlier form of the attack)" * best["adaptive"].by_earlier_attack
            lines.append(
                f"<li>{escape(title)}: {pgd} against PGD, {known} against the attacker who knows it{form}.</li>"
            )
    lead = f"Of many pictures the best defence keeps (RITA in brackets; robust: {ROBUST_NOTE[0].lower()}{ROBUST_NOTE[1:-1]}):"
    return f"<p>{lead}</p><ul>{''.join(lines)}</ul>" if lines else ""


def _kept(attack: str, best: MeasuredCell, table: Table) -> str:
    """The share that the best defence keeps, its name, and RITA's share."""
    own = [cell for (name, _, _), cell in table.get("rita", {}).items() if name == attack]
    rita = f"; RITA {max(cell.accuracy for cell in own):.0f} %" if own and best.method != "rita" else ""
    return f"<b>{best.accuracy:.0f} %</b> ({escape(_title(best))}{rita})"


def _title(cell: MeasuredCell) -> str:
    """The method's title, also of a user's own that is not loaded."""
    return DEFENCES[cell.method].title if cell.method in DEFENCES else cell.title


def _tables(cells: Sequence[MeasuredCell]) -> dict[str, Table]:
    """Title -> table; of a cell that was measured twice, the one under the present form of the attack, then of more
    pictures."""
    tables: dict[str, Table] = {}
    for cell in cells:
        if cell.method in DEFENCES or cell.title:
            model = BACKBONES[cell.backbone].title if cell.backbone in BACKBONES else cell.backbone
            dataset = DATASETS[cell.dataset].title if cell.dataset in DATASETS else cell.dataset
            row = tables.setdefault(f"{dataset}, {cell.split}: {model}", {}).setdefault(cell.method, {})
            column = (cell.attack, cell.budget, cell.steps)
            row[column] = max(row.get(column, cell), cell, key=lambda one: (not one.by_earlier_attack, one.n))
    return tables


def _measured_table(title: str, table: Table) -> str:
    order = {name: at for at, name in enumerate(ATTACKS)}

    def place(column: Column) -> tuple[bool, int, Column]:
        return column[0] == "adaptive", order.get(column[0].partition(":")[0], 99), column

    columns = sorted({column for row in table.values() for column in row}, key=place)
    names = [name for name in dict.fromkeys([*DEFENCES, *table]) if name in table]
    own = {name: next(iter(table[name].values())).title for name in names if name not in DEFENCES}
    titles = [own.get(name) or wording.term_html(DEFENCES[name].title) for name in names]
    rows = [
        (title, *(_measured_cell(table[name].get(column)) for column in columns)) for name, title in zip(names, titles)
    ]
    headings = ["defence", *map(_heading, columns)]
    return f"<section><h3>{escape(title)}</h3>{blocks.table(headings, rows, 'arena', title)}</section>"


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


def _measured_cell(cell: MeasuredCell | None) -> str:
    if cell is None:
        return "–"
    mark = EARLIER_MARK * cell.by_earlier_attack
    return Markup(f"<b>{cell.accuracy:.0f}</b>{mark} ({cell.low:.0f}–{cell.high:.0f})<small>n = {cell.n}</small>")
