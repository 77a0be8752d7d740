"""What was touched, in words: the chosen crop, and the cell of the plan that joins it to a prompt."""

from __future__ import annotations

from html import escape

from rita_demo.records import Side, Story
from rita_demo.ui import words
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.sessions import Session


def side_of(session: Session) -> Side | None:
    """The side (clean or attacked) that is looked at."""
    story = session.now
    if story is None:
        return None
    return story.attacked if session.selection.side == "attacked" else story.clean


def _crop(session: Session, view: int) -> str:
    crops = session.crops_of(session.selection.side)
    if crops is None or not 0 <= view < len(crops):
        return ""
    return f'<img src="{jpeg_uri(crops[view], quality=92)}" alt="View {view}" width="112" height="112">'


def view_detail(session: Session) -> str:
    """The chosen view: what it shows, what it answers, how sure, whether it may enter the memory."""
    story, side, view = session.story, side_of(session), session.selection.view
    if story is None or side is None or view is None or not 0 <= view < len(side.glance.features):
        return "<p class='empty'>Choose a view to see where it was cut and what it says.</p>"
    sure = side.trace.confidence
    label, entropy = int(sure.label[view]), float(sure.entropy[view])
    share = words.percent(sure.probability[view, label])
    kept = (
        f"at most {sure.limit:.2f}, so it may enter the memory"
        if sure.kept[view]
        else f"above {sure.limit:.2f}, too unsure for the memory"
    )
    name = escape(story.bank.names[label])
    what = "the whole picture" if view == 0 else f"crop {view}"
    flipped = ", mirrored" if side.glance.views.flipped[view] else ""
    area = words.percent(_area(side, view))
    alone = f"After the {words.term('step back')}" if story.settings.step_back else "On its own"
    return (
        f"<div class='touched'>{_crop(session, view)}<div><h3>View {view}: {name}</h3>"
        f"<p>It is {what}{flipped}, {area} of the picture's area, outlined above. {alone} it says "
        f"<b>{name}</b> with {share}. Its {words.term('entropy')} is {entropy:.2f} nats, {kept}.</p>"
        "</div></div>"
    )


def _area(side: Side, view: int) -> float:
    left, top, right, bottom = (float(v) for v in side.glance.views.boxes[view])
    return (right - left) * (bottom - top)


def cell_detail(session: Session) -> str:
    """The chosen cell of the plan: the crop, the sentence, what the move costs and how much moves."""
    story, side, at = session.story, side_of(session), session.selection
    if story is None or side is None:
        return ""
    if at.k is None or at.view is None or at.atom is None:
        return (
            "<p class='empty'>Choose a cell to see which crop it moves onto which sentence, and "
            "what that costs.</p>"
        )
    if at.view >= len(side.glance.features) or at.atom >= len(story.bank.prompts[at.k]):
        return ""
    return (
        f"<div class='touched'>{_crop(session, at.view)}<div>"
        f"<h3>View {at.view} → “{escape(story.bank.prompts[at.k][at.atom])}”</h3>"
        f"<p>{_cell_sentence(story, side, at.k, at.view, at.atom)}</p></div></div>"
    )


def _cell_sentence(story: Story, side: Side, k: int, view: int, atom: int) -> str:
    moved = side.trace.prompt
    cost, mass = float(moved.cost[k, view, atom]), float(moved.plan[k, view, atom])
    total = float(moved.distance[k])
    share = mass / max(float(moved.mass), 1e-12)
    name = escape(story.bank.names[k])
    if share < 1e-4:
        return (
            f"They are {cost:.4f} apart (cosine distance, 0 to 2). Practically nothing of what is moved "
            f"for {name} goes this way: others fit better."
        )
    return (
        f"They are {cost:.4f} apart (cosine distance, 0 to 2). {words.percent(share, 2)} of everything "
        f"that is moved for {name} goes this way, which adds {share * cost:.4f} to the "
        f"{words.term('transport cost')} of {total:.4f}."
    )
