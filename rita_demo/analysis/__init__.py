"""Computations for figures and tables, with numpy, scikit-learn and umap: records in, records out."""

from rita_demo.analysis.accuracy_charts import budget_by_steps, by_backbone
from rita_demo.analysis.attacker_table import CorrectCount, attacker_table, difference_in_correct
from rita_demo.analysis.exact_transport import exact_cost, with_exact
from rita_demo.analysis.kl_to_one_hot import KlFunction, density, kl_to_one_hot
from rita_demo.analysis.masking_signs import QUESTIONS, AdaptiveCell, masking_sentence, masking_signs
from rita_demo.analysis.procrustes_plane import project_to_plane, resultant_length, text_mean
from rita_demo.analysis.projection import centre_by_kind, pca, umap, umap_caption
from rita_demo.analysis.prompt_update import entropies
from rita_demo.analysis.separability import KINDS, cache_features, separabilities, separability, to_points
from rita_demo.analysis.sweeps import COMPONENTS, components, non_recommended, sweeps
from rita_demo.analysis.umap_process import UmapProcess
