"""The fold that says what each strength of the attack does, measured on many pictures."""

from __future__ import annotations

import gradio as gr

from rita_demo import plots
from rita_demo.data import measured
from rita_demo.errors import DataError
from rita_demo.records import MeasuredCell
from rita_demo.ui.plotly_view import PlotlyView

_LEAD = """<p class="lead">Accuracy of the built-in model on validation photographs, when the attack may change every
pixel by so many steps of 1/255. The attacker knows the model, the class names, the prompt and the budget; not the crops,
their seed or the memory. One picture is an example; this is how often it goes like that. RITA stands here with views that weigh alike,
half of the mass and no descriptions, the settings recommended when this was measured.</p>"""


def draw_strength_curve() -> None:
    """Draw the fold; it never changes."""
    with gr.Accordion("How much does each strength do? Measured on many pictures", open=False,
                      elem_classes="fold", elem_id="strength-fold"):  # fmt: skip
        gr.HTML(_LEAD)
        PlotlyView(
            plots.strength_curves(curves()),
            aria="Accuracy of CLIP, Ensemble and RITA against the strength of the attack",
            height=520, narrow_height=520, elem_id="strength-curves",
        )  # fmt: skip


def curves() -> dict[str, tuple[MeasuredCell, ...]]:
    """The stored measurements by attacked square; a file that is missing or damaged is left out."""
    found = {}
    for square, path in measured.STRENGTH.items():
        try:
            found[square] = measured.read(path)
        except DataError:
            continue
    return found
