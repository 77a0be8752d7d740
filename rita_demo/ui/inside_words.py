"""The sentences of *Inside RITA*: the chosen cell on both sides, Sinkhorn's outcome."""

from __future__ import annotations

from html import escape

from rita_demo.plots.names import sides_of
from rita_demo.records import Story
from rita_demo.ui import words
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.sessions import Session
from rita_demo.ui.what_if import seen

PRESETS_EMPTY = (
    "<p class='empty'>The paper leaves some settings open and prints others that rarely work here. "
    "This lists each one that differs, why, and what changing it alone does to this picture.</p>"
)


def cell(session: Session) -> str:
    """The chosen cell on both sides: crop, sentence, cost, and how much moves."""
    story, at = seen(session), session.selection
    if story is None or at.k is None or at.view is None or at.atom is None:
        return "<p class='empty'>Choose a cell above: its crop, its sentence and its cost stand here.</p>"
    if at.view >= len(story.attacked.glance.features) or at.atom >= len(story.bank.prompts[at.k]):
        return ""
    parts = "".join(
        _one_cell(session, story, side, at.k, at.view, at.atom) for side in sides_of(story)
    )
    sentence = escape(story.bank.prompts[at.k][at.atom])
    return f"<h3>View {at.view} → “{sentence}”</h3><div class='cells'>{parts}</div>"


def _one_cell(session: Session, story: Story, side: str, k: int, view: int, atom: int) -> str:
    moved = getattr(story, side).trace.prompt
    cost, share = float(moved.cost[k, view, atom]), float(moved.plan[k, view, atom] / moved.mass)
    even = float(moved.row_weight[k, view] * moved.column_weight[k, atom] / moved.mass)
    carried = (
        f"It carries {words.percent(share, 2)} of the mass, {share / even:.2f} times an even share, and "
        f"adds {share * cost:.4f} to the cost of {float(moved.distance[k]):.4f}."
        if even > 0
        else "It is left out and carries nothing."
    )
    crops = session.crops_of(side)
    image = (
        f"<img src='{jpeg_uri(crops[view], quality=92)}' alt='View {view} of the {side} picture' "
        "width='96' height='96'>"
        if crops is not None and view < len(crops)
        else ""
    )
    return (
        f"<div class='touched'>{image}<p><b class='{side}'>{side}</b>: {cost:.4f} apart (cosine "
        f"distance, 0 to 2). {carried}</p></div>"
    )


def outcomes(session: Session) -> str:
    """How Sinkhorn ended, for every transport."""
    story = seen(session)
    if story is None:
        return ""
    said = []
    for side in sides_of(story):
        trace = getattr(story, side).trace
        for what, moved in (("prompts", trace.prompt), ("memory", trace.cache_transport)):
            if moved is not None:
                said.append(f"{side}, {what}: {escape(moved.outcome)}")
    return f"<p class='quiet small'>{'<br>'.join(said)}</p>"
