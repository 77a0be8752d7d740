"""Computations for figures and tables, with numpy, scikit-learn and umap: records in, records out."""

from rita_demo.figures.analysis.crop_field import entropies
from rita_demo.figures.analysis.feature_cloud import (
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
from rita_demo.figures.analysis.numbers import resultant_length, with_exact
from rita_demo.figures.analysis.projection import UmapProcess, captioned_pca, centre_by_kind, pca, umap, umap_caption
