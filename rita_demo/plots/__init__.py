"""Record -> Plotly figure. No maths beyond scaling for display; colours and lines in ``theme``."""

from rita_demo.plots.costs import class_costs
from rita_demo.plots.memory import cache_distances, procrustes_plane
from rita_demo.plots.plan import plan_heatmap
from rita_demo.plots.steps import attack_steps
from rita_demo.plots.stream import class_memory, entering, memory_growth, running_accuracy
from rita_demo.plots.strength import strength_curves
from rita_demo.plots.theme import COLOURS, METHODS, SIDES, css_variables, empty, plain
from rita_demo.plots.verdicts import draws, verdict_bars
from rita_demo.plots.views import view_entropies, what_views_say

__all__ = [
    "COLOURS",
    "METHODS",
    "SIDES",
    "attack_steps",
    "cache_distances",
    "class_costs",
    "class_memory",
    "css_variables",
    "draws",
    "empty",
    "entering",
    "memory_growth",
    "plain",
    "plan_heatmap",
    "procrustes_plane",
    "running_accuracy",
    "strength_curves",
    "verdict_bars",
    "view_entropies",
    "what_views_say",
]
