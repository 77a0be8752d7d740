"""The tables of *Arena* as HTML; every answer is a button that opens its run."""

from html import escape

from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.arena import COLUMNS, ArenaTable, TowerTable, masked, tower_comparison, tower_sentence
from rita_demo.records import Verdict
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import html_table, table_row

EMPTY = (
    "<p class='empty'>Nothing is measured for this picture yet. Press “Fill the arena”: the first columns take "
    "seconds, the last a few minutes.</p>"
)
NOTES = (
    "A cell opens its run in all tabs. Small numbers: the lead of the answer over the second best, in points of "
    "probability, for RITA in cosine distance. “Made for another row” is the attack on Ensemble, for Ensemble that on "
    "RITA."
)
MASKED = (
    "† It stands against the attacker who knows it, but not against one who does not: then the first is too weak, and "
    "its answer says nothing."
)


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
    return (
        f"{lead}<div class='towers'>{parts}</div><p class='quiet small'>{whose}: {escape(truth)}. Strength "
        f"{run.settings.budget}/255. {NOTES} {MASKED * flagged}</p>"
    )


def _tower_html(table: ArenaTable, tower: TowerTable, first: bool) -> str:
    title, says = escape(tower.backbone.title), escape(tower_sentence(tower, table.methods))
    rows = [
        table_row(escape(DEFENCES[name].title), *(_cell_html(table, tower, name, column) for column in COLUMNS))
        for name in table.methods
    ]
    html = html_table(["defence", *COLUMNS.values()], rows, "arena", title)
    if first:  # one stop for the tabulator; the arrow keys move on from there
        html = html.replace("tabindex='-1'", "tabindex='0'", 1)
    return f"<section><h3>{title}</h3><p class='small'>{says}</p>{html}</section>"


def _cell_html(table: ArenaTable, tower: TowerTable, name: str, column: str) -> str:
    cell, holds = tower.cells.get((name, column)), tower.right.get((name, column))
    if not isinstance(cell, Verdict):
        return f"<td class='empty'>{escape(cell or '…')}</td>"
    mark, kind, word = ("✓", "good", "right") if holds else ("✗", "bad", "wrong")
    if not table.run.label_given:
        mark, kind, word = ("=", "dim", "unchanged") if holds else ("≠", "dim", "changed")
    flag = " †" if column == "adaptive" and masked(tower, name) else ""
    answer = escape(table.run.class_prompts.names[cell.label])
    lead = f"+{cell.margin:.3f}" if "distance" in cell.margin_unit else f"+{100 * cell.margin:.0f}"
    return (
        f"<td><button type='button' class='outcome {kind}' tabindex='-1' data-tower='{escape(tower.backbone.name)}' "
        f"data-method='{escape(name)}' data-column='{column}' title='Open this run' aria-label='"
        f"{escape(DEFENCES[name].title)}, {COLUMNS[column]}: {answer}, {word}. Open this run.'><span "
        f"aria-hidden='true'>{mark}</span> {answer}{flag}<small>{lead}</small></button></td>"
    )
