"""The selected class in a menu, and the selected view in words."""

import gradio as gr
import numpy as np
from markupsafe import Markup

from rita_demo.plots.labels import sides_of
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording


def class_choices(session: Session) -> PanelValue:
    """The menu of classes."""
    run, k = session.run, session.selection.k
    if run is None:
        return gr.update()
    return gr.update(choices=[(name, number) for number, name in enumerate(run.class_prompts.names)], value=k)


def view_answers(session: Session) -> str:
    """HTML: what the selected view says alone on each picture; "" if none is selected."""
    run, view = session.displayed_run, session.selection.view
    if run is None or view is None or not 0 <= view < len(run.attacked.encoded_views.features):
        return ""
    said = []
    for side in sides_of(run):
        sure = getattr(run, side).trace.confidence
        name, share = run.class_prompts.names[int(sure.label[view])], float(np.max(sure.probability[view]))
        sure_by = "" if run.class_prompts.unknown_names else f" {wording.percent(share)}"
        found = f"{name}{sure_by}, entropy {sure.entropy[view]:.2f} nats"
        said.append(Markup("<b class='{0}'>{0}</b>: {1}").format(side, found))
    return Markup("<p>View {} on its own. {}.</p>").format(view, Markup("; ").join(said))
