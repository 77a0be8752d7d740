"""Computations for figures and tables, with numpy, scikit-learn and umap: records in, records out."""

from rita_demo.analysis.attacker_table import CorrectCount, attacker_table, difference_in_correct
from rita_demo.analysis.exact_transport import exact_cost, with_exact
from rita_demo.analysis.kl_to_one_hot import KlFunction, density, kl_to_one_hot
from rita_demo.analysis.procrustes_plane import project_to_plane, resultant_length, text_mean
from rita_demo.analysis.projection import centre_by_kind, pca
from rita_demo.analysis.prompt_update import entropies
from rita_demo.analysis.separability import KINDS, cache_features, separabilities, separability, to_points
from rita_demo.analysis.sweeps import COMPONENTS, budget_curves, components, non_recommended, sweeps
from rita_demo.analysis.umap_process import UmapProcess

__all__ = [
    "COMPONENTS",
    "KINDS",
    "CorrectCount",
    "KlFunction",
    "UmapProcess",
    "attacker_table",
    "budget_curves",
    "cache_features",
    "centre_by_kind",
    "components",
    "density",
    "difference_in_correct",
    "entropies",
    "exact_cost",
    "kl_to_one_hot",
    "non_recommended",
    "pca",
    "project_to_plane",
    "resultant_length",
    "separabilities",
    "separability",
    "sweeps",
    "text_mean",
    "to_points",
    "with_exact",
]
