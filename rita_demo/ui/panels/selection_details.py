"""The selected class in a menu; the selected view, and the selected cell of the plan, in words."""

from typing import Any

import gradio as gr
import numpy as np
from markupsafe import Markup

from rita_demo.plots.labels import sides_of
from rita_demo.process.templates import html
from rita_demo.records import ImageResult
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.wording import cost_of_cell, percent, term_html


def class_choices(session: Session) -> PanelValue:
    """The menu of classes."""
    run, k = session.run, session.selection.k
    if run is None:
        return gr.update()
    names = list(run.class_prompts.names)
    return gr.update(choices=names, value=None if k is None else names[k])


def _detail(session: Session, view: int, title: str, **values: Any) -> Markup:
    """HTML: a view's picture beside a title and a text."""
    crops = session.crops_of(session.selection.side)
    picture = "" if crops is None else jpeg_uri(crops[view], quality=92)
    return html("touched", view=view, title=title, picture=picture, term=term_html, percent=percent, **values)


def view_detail(session: Session) -> Markup:
    """HTML: the selected view, its answer, its entropy, and whether it may enter the cache."""
    run, view = session.run_at_step, session.selection.view
    if run is None or view is None or not 0 <= view < len(run.attacked.encoded_views.features):
        return Markup("<p class='empty'>Choose a view to see what it says.</p>")
    side: ImageResult = getattr(run, session.selection.side)
    sure, views = side.trace.confidence, side.encoded_views.views
    label, left, top, right, bottom = int(sure.label[view]), *(float(v) for v in views.boxes[view])
    name, share = run.class_prompts.names[label], f" with {percent(sure.probability[view, label])}"
    return _detail(
        session,
        view,
        f": {name}",
        name=name,
        what=("the whole picture" if view == 0 else f"crop {view}") + ", mirrored" * bool(views.flipped[view]),
        area=(right - left) * (bottom - top),
        step_back=run.settings.step_back,
        share="" if run.class_prompts.unknown_names else share,
        entropy=float(sure.entropy[view]),
        kept=bool(sure.kept[view]),
        limit=float(sure.limit),
    )


def view_answers(session: Session) -> Markup:
    """HTML: what the selected view says alone on each picture; "" if none is selected."""
    run, view = session.displayed_run, session.selection.view
    if run is None or view is None or not 0 <= view < len(run.attacked.encoded_views.features):
        return Markup()
    said = []
    for side in sides_of(run):
        sure = getattr(run, side).trace.confidence
        name, share = run.class_prompts.names[int(sure.label[view])], float(np.max(sure.probability[view]))
        sure_by = "" if run.class_prompts.unknown_names else f" {percent(share)}"
        answer = f"{name}{sure_by}, entropy {sure.entropy[view]:.2f} nats"
        said.append(Markup("<b class='{0}'>{0}</b>: {1}").format(side, answer))
    return Markup("<p>View {} on its own. {}.</p>").format(view, Markup("; ").join(said))


def cell_detail(session: Session) -> Markup:
    """HTML: the selected cell of the plan: crop, sentence, cost and transported mass."""
    run, at = session.run_at_step, session.selection
    if run is None:
        return Markup()
    if at.k is None or at.view is None or at.atom is None:
        return Markup(
            "<p class='empty'>Choose a cell to see which crop it moves onto which sentence, and what that costs.</p>"
        )
    side: ImageResult = getattr(run, at.side)
    if at.view >= len(side.encoded_views.features) or at.atom >= len(run.class_prompts.prompts[at.k]):
        return Markup()
    moved = side.trace.prompt_transport
    cost, mass = (float(array[at.k, at.view, at.atom]) for array in (moved.cost, moved.plan))
    cell = {
        "costs": cost_of_cell(cost, run.settings, "They are "),
        "cost": cost,
        "share": mass / max(float(moved.mass), 1e-12),
        "distance": float(moved.distance[at.k]),
    }
    title = f" → “{run.class_prompts.prompts[at.k][at.atom]}”"
    return _detail(session, at.view, title, name=run.class_prompts.names[at.k], cell=cell)
