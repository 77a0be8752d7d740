"""The selected class in a menu; the selected view, and the selected cell of the plan, in words."""

from html import escape
from typing import Any

import gradio as gr

from rita_demo.records import ImageResult, Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri


def class_choices(session: Session) -> Any:
    """The menu of classes."""
    run, k = session.run, session.selection.k
    if run is None:
        return gr.update()
    return gr.update(choices=list(run.class_prompts.names), value=None if k is None else run.class_prompts.names[k])


def _crop_html(session: Session, view: int) -> str:
    crops = session.crops_of(session.selection.side)
    if crops is None or not 0 <= view < len(crops):
        return ""
    return f'<img src="{jpeg_uri(crops[view], quality=92)}" alt="View {view}" width="112" height="112">'


def view_detail(session: Session) -> str:
    """HTML: the selected view, its answer, its entropy, and whether it may enter the cache."""
    run, view = session.run_at_step, session.selection.view
    if run is None or view is None or not 0 <= view < len(run.attacked.encoded_views.features):
        return "<p class='empty'>Choose a view to see where it was cut and what it says.</p>"
    side: ImageResult = getattr(run, session.selection.side)
    sure = side.trace.confidence
    label, entropy = int(sure.label[view]), float(sure.entropy[view])
    share = wording.percent(sure.probability[view, label])
    kept = (
        f"at most {sure.limit:.2f}, so it may enter the memory"
        if sure.kept[view]
        else f"above {sure.limit:.2f}, too unsure for the memory"
    )
    name = escape(run.class_prompts.names[label])
    what = "the whole picture" if view == 0 else f"crop {view}"
    flipped = ", mirrored" if side.encoded_views.views.flipped[view] else ""
    left, top, right, bottom = (float(v) for v in side.encoded_views.views.boxes[view])
    area = wording.percent((right - left) * (bottom - top))
    alone = f"After the {wording.term_html('step back')}" if run.settings.step_back else "On its own"
    return (
        f"<div class='touched'>{_crop_html(session, view)}<div><h3>View {view}: {name}</h3>"
        f"<p>It is {what}{flipped}, {area} of the picture's area, outlined above. {alone} it says "
        f"<b>{name}</b> with {share}. Its {wording.term_html('entropy')} is {entropy:.2f} nats, {kept}.</p>"
        "</div></div>"
    )


def cell_detail(session: Session) -> str:
    """HTML: the selected cell of the plan: crop, sentence, cost and transported mass."""
    run, at = session.run_at_step, session.selection
    if run is None:
        return ""
    if at.k is None or at.view is None or at.atom is None:
        return "<p class='empty'>Choose a cell to see which crop it moves onto which sentence, and what that costs.</p>"
    side: ImageResult = getattr(run, at.side)
    if at.view >= len(side.encoded_views.features) or at.atom >= len(run.class_prompts.prompts[at.k]):
        return ""
    return (
        f"<div class='touched'>{_crop_html(session, at.view)}<div>"
        f"<h3>View {at.view} → “{escape(run.class_prompts.prompts[at.k][at.atom])}”</h3>"
        f"<p>{_cell_sentence(run, side, at.k, at.view, at.atom)}</p></div></div>"
    )


def _cell_sentence(run: Run, side: ImageResult, k: int, view: int, atom: int) -> str:
    moved = side.trace.prompt_transport
    cost, mass = float(moved.cost[k, view, atom]), float(moved.plan[k, view, atom])
    total = float(moved.distance[k])
    share = mass / max(float(moved.mass), 1e-12)
    name = escape(run.class_prompts.names[k])
    apart = f"They are {cost:.4f} apart (cosine distance, 0 to 2). "
    if share < 1e-4:
        return f"{apart}Practically nothing of what is moved for {name} goes this way: others fit better."
    return (
        f"{apart}{wording.percent(share, 2)} of everything "
        f"that is moved for {name} goes this way, which adds {share * cost:.4f} to the "
        f"{wording.term_html('transport cost')} of {total:.4f}."
    )
