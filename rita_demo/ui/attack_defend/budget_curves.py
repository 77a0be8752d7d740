"""The accordion with accuracy against the budget, measured on many pictures."""

from __future__ import annotations

import gradio as gr

from rita_demo import plots
from rita_demo.data import shipped_results
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.ui.widgets.plotly_view import PlotlyView

_LEAD = """<p class="lead">Accuracy of the built-in model on validation photographs, when the attack may change every
pixel by so many steps of 1/255. The attacker knows the model, the class names, the prompt and the budget; not the crops,
their seed or the memory. One picture is an example; this is how often it goes like that. RITA stands here with views that weigh alike,
half of the mass and no descriptions, the settings recommended when this was measured.</p>"""


def build_budget_curves() -> None:
    """Build the accordion; its content is constant."""
    with gr.Accordion(
        "How much does each strength do? Measured on many pictures",
        open=False,
        elem_classes="fold",
        elem_id="budget-fold",
    ):
        gr.HTML(_LEAD)
        PlotlyView(
            plots.accuracy_by_budget(budget_curves()),
            aria="Accuracy of CLIP, Ensemble and RITA against the strength of the attack",
            height=520,
            narrow_height=520,
            elem_id="budget-curves",
        )


def budget_curves() -> dict[str, tuple[MeasuredCell, ...]]:
    """The shipped measurements by attacked square, without missing or damaged files."""
    found = {}
    for square, path in shipped_results.BUDGET_CURVES.items():
        try:
            found[square] = shipped_results.read(path)
        except DataError:
            continue
    return found
