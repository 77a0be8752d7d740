"""The selected class in a menu."""

import gradio as gr

from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.session.session import Session


def class_choices(session: Session) -> PanelValue:
    """The menu of classes."""
    run, k = session.run, session.selection.k
    if run is None:
        return gr.update()
    return gr.update(choices=[(name, number) for number, name in enumerate(run.class_prompts.names)], value=k)
