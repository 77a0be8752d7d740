"""Computations for figures and tables, with numpy, scikit-learn and umap: records in, records out."""

from rita_demo.analysis.agreement import resultant_length
from rita_demo.analysis.crop_field import entropies
from rita_demo.analysis.exact_transport import with_exact
from rita_demo.analysis.feature_cloud import (
    KlFunction,
    clearest_picture,
    density,
    kl_to_one_hot,
    nearest_classes,
    of_classes,
    placed_cloud,
    separabilities,
    to_points,
)
from rita_demo.analysis.masking_signs import JudgedCell, masking_sentence, masking_signs
from rita_demo.analysis.measured import (
    ABLATIONS,
    COMPONENTS,
    CorrectCount,
    attacker_table,
    budget_by_steps,
    by_backbone,
    components,
    non_recommended,
    one_memory,
    pooled,
    sweeps,
)
from rita_demo.analysis.projection import captioned_pca, centre_by_kind, pca, umap, umap_caption
from rita_demo.analysis.umap_process import UmapProcess
