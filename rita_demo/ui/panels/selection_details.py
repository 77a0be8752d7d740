"""The selected class in a menu; the selected view, and the selected cell of the plan, in words."""

from html import escape

import gradio as gr
import numpy as np

from rita_demo.plots.labels import sides_of
from rita_demo.records import ImageResult
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri


def class_choices(session: Session) -> PanelValue:
    """The menu of classes."""
    run, k = session.run, session.selection.k
    if run is None:
        return gr.update()
    names = list(run.class_prompts.names)
    return gr.update(choices=names, value=None if k is None else names[k])


def _detail(session: Session, view: int, title: str, text: str) -> str:
    """HTML: a view's picture beside a title and a text."""
    crops, image = session.crops_of(session.selection.side), ""
    if crops is not None:
        image = f'<img src="{jpeg_uri(crops[view], quality=92)}" alt="View {view}" width="112" height="112">'
    return f"<div class='touched'>{image}<div><h3>View {view}{title}</h3><p>{text}</p></div></div>"


def view_detail(session: Session) -> str:
    """HTML: the selected view, its answer, its entropy, and whether it may enter the cache."""
    run, view = session.run_at_step, session.selection.view
    if run is None or view is None or not 0 <= view < len(run.attacked.encoded_views.features):
        return "<p class='empty'>Choose a view to see what it says.</p>"
    side: ImageResult = getattr(run, session.selection.side)
    sure, views = side.trace.confidence, side.encoded_views.views
    label, left, top, right, bottom = int(sure.label[view]), *(float(v) for v in views.boxes[view])
    name, share = escape(run.class_prompts.names[label]), f" with {wording.percent(sure.probability[view, label])}"
    share = "" if run.class_prompts.unknown_names else share
    limit = f"at most {sure.limit:.2f}: it may" if sure.kept[view] else f"above {sure.limit:.2f}: it may not"
    what = ("the whole picture" if view == 0 else f"crop {view}") + ", mirrored" * bool(views.flipped[view])
    alone = f"After the {wording.term_html('step back')}" if run.settings.step_back else "On its own"
    text = (
        f"It is {what}, {wording.percent((right - left) * (bottom - top))} of the picture's area. {alone} "
        f"it says <b>{name}</b>{share}. Its {wording.term_html('entropy')} is {float(sure.entropy[view]):.2f}, "
        f"{limit} enter the memory."
    )
    return _detail(session, view, f": {name}", text)


def view_answers(session: Session) -> str:
    """HTML: what the selected view says alone on each picture; "" if none is selected."""
    run, view = session.displayed_run, session.selection.view
    if run is None or view is None or not 0 <= view < len(run.attacked.encoded_views.features):
        return ""
    said = []
    for side in sides_of(run):
        sure = getattr(run, side).trace.confidence
        name, share = escape(run.class_prompts.names[int(sure.label[view])]), float(np.max(sure.probability[view]))
        sure_by = "" if run.class_prompts.unknown_names else f" {wording.percent(share)}"
        said.append(f"<b class='{side}'>{side}</b>: {name}{sure_by}, entropy {sure.entropy[view]:.2f} nats")
    return f"<p>View {view} on its own. {'; '.join(said)}.</p>"


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
    moved, name = side.trace.prompt_transport, escape(run.class_prompts.names[at.k])
    cost, mass = (float(array[at.k, at.view, at.atom]) for array in (moved.cost, moved.plan))
    share = mass / max(float(moved.mass), 1e-12)
    part = f"{wording.percent(share, 2)} of everything that is moved for {name} goes this way, which adds {share * cost:.4f}"
    said = f"{part} to the {wording.term_html('transport cost')} of {float(moved.distance[at.k]):.4f}."
    if share < 1e-4:
        said = f"Practically nothing of what is moved for {name} goes this way: others fit better."
    title = f" → “{escape(run.class_prompts.prompts[at.k][at.atom])}”"
    return _detail(session, at.view, title, f"{wording.cost_of_cell(cost, run.settings, 'They are ')} {said}")
