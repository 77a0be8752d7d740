"""What figures need beyond the records: numpy, scikit-learn and umap; records in, records out."""

from rita_demo.analysis.attackers import Tally, attackers, compared
from rita_demo.analysis.cloud import KINDS, cached, marks, separation, separations
from rita_demo.analysis.exact import exact_cost, with_exact
from rita_demo.analysis.one_hot import Measure, density, one_hot
from rita_demo.analysis.places import comparable, pca
from rita_demo.analysis.plane import plane, strength, text_mean
from rita_demo.analysis.sweeps import COMPONENTS, budget_curves, components, differing, sweeps
from rita_demo.analysis.update import entropies
from rita_demo.analysis.worker import Worker

__all__ = [
    "COMPONENTS",
    "KINDS",
    "Measure",
    "Tally",
    "Worker",
    "attackers",
    "budget_curves",
    "cached",
    "comparable",
    "compared",
    "components",
    "density",
    "differing",
    "entropies",
    "exact_cost",
    "marks",
    "one_hot",
    "pca",
    "plane",
    "separation",
    "separations",
    "strength",
    "sweeps",
    "text_mean",
    "with_exact",
]
