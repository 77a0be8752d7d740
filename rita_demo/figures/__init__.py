"""Figures: a record in, a Plotly figure out. No maths beyond scaling for display; colours and axes are in ``theme``."""

from rita_demo.figures.attack import attack_steps
from rita_demo.figures.decision.costs import class_costs, cost_change
from rita_demo.figures.decision.plan import plan_matrix
from rita_demo.figures.decision.views import entropy_change, view_entropies
from rita_demo.figures.paper.feature_cloud import feature_cloud
from rita_demo.figures.paper.kl_to_one_hot import kl_to_one_hot
from rita_demo.figures.paper.measurements import grouped_accuracy, printed_beside_measured, run_times, sweep_lines
from rita_demo.figures.paper.theorem import theorem_bounds
from rita_demo.figures.stream import cache_growth, cache_insertions, class_timeline, memory_accuracy
from rita_demo.figures.theme import class_style, css_variables, message_figure
