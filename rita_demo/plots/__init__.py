"""Record -> Plotly figure. No maths beyond scaling for display; colours and lines in ``theme``."""

from rita_demo.plots.cloud import cloud
from rita_demo.plots.costs import class_costs
from rita_demo.plots.memory import cache_distances, procrustes_plane
from rita_demo.plots.one_hot import one_hot
from rita_demo.plots.plan import plan_heatmap
from rita_demo.plots.steps import attack_steps
from rita_demo.plots.stream import class_memory, entering, memory_growth, running_accuracy
from rita_demo.plots.strength import strength_curves
from rita_demo.plots.sweeps import sweep_lines
from rita_demo.plots.theme import COLOURS, METHODS, SIDES, class_look, css_variables, empty, plain
from rita_demo.plots.theorem import brackets
from rita_demo.plots.verdicts import draws, verdict_bars
from rita_demo.plots.views import view_entropies, what_views_say

__all__ = [
    "COLOURS",
    "METHODS",
    "SIDES",
    "attack_steps",
    "brackets",
    "cache_distances",
    "class_costs",
    "class_look",
    "class_memory",
    "cloud",
    "css_variables",
    "draws",
    "empty",
    "entering",
    "memory_growth",
    "one_hot",
    "plain",
    "plan_heatmap",
    "procrustes_plane",
    "running_accuracy",
    "strength_curves",
    "sweep_lines",
    "verdict_bars",
    "view_entropies",
    "what_views_say",
]
