"""The caption of a saved figure: model, classes, attack and settings of the displayed run.

It is hidden on the page, where ``plotly_view.js`` reads it when a figure is saved; a figure of many pictures has its own.
"""

from html import escape

import gradio as gr

from rita_demo.attacks import ATTACKS
from rita_demo.figures.figure import Figure
from rita_demo.pipeline.export import used_settings
from rita_demo.settings import SETTINGS
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.setting_controls import changes_from_preset, value_text


def build_caption(panels: PanelRegistry) -> None:
    """The hidden caption."""
    line = gr.HTML(elem_id="figure-caption")
    panels.add(line, lambda session: f"<p>{escape(caption(session))}</p>", "step", "inside")


def with_caption(figure: Figure, text: str) -> Figure:
    """A figure that is not about the displayed run, with its own caption as plain text."""
    figure.meta["caption"] = f"RITA demo. {text}."
    return figure


def caption(session: Session) -> str:
    """One line of plain text; "" before there is a run."""
    run = session.displayed_run
    if run is None:
        return ""
    names, given, threat = (
        run.class_prompts.names,
        "true class" if run.label_given else "CLIP's own answer",
        run.threat_model,
    )
    classes, attack = f"{given} “{names[run.label]}” among {len(names)} classes", "not attacked here"
    if run.attack is not None:
        strength = f", at most {threat.budget}/255" if threat.budget else ""
        steps = f"{threat.steps} steps{wording.step_suffix(run)}"
        attack = (
            f"attack: {ATTACKS[threat.attack].title}{strength}, {steps}, on {threat.side} × {threat.side} px "
            f"({threat.square}), seed {threat.seed}; knows {', '.join(threat.knows)}"
        )
    used = used_settings(run)
    preset, changed = changes_from_preset(run.settings)
    said = [f"{SETTINGS[n].label} {value_text(SETTINGS[n], getattr(used, n))}" for n in changed]
    out = session.inside.what_if.exclusions
    if left := len(out.views) + len(out.prompts) + len(out.cache_items):
        said.append(f"{left} of views, prompts or stored views left out")
    settings = f"settings: {preset}" + (f", but {', '.join(said)}" if said else "")
    return f"RITA demo. {run.backbone.title}; {classes}; {attack}; {settings}."
