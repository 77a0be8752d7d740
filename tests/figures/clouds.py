"""TEST DATA: a cloud drawn from a seed. Clean pictures lie around their class, attacked ones anywhere."""

import numpy as np

from rita_demo.records import CacheState, ClassPrompts
from rita_demo.records.measurement import FeatureCloud

NAMES = ("woven", "<b>dotted</b>", "lined", "never shown")
WIDTH, PICTURES_PER_CLASS, VIEWS_SHOWN, SLOTS = 12, 5, 4, 3


def unit(x: np.ndarray) -> np.ndarray:
    return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)


def make_cloud(seed: int = 0, *, spread: float = 0.3, cached: bool = True) -> FeatureCloud:
    """Three of four classes with ``EACH`` pictures; the memory holds two views, one under a wrong class."""
    rng = np.random.default_rng(seed)
    centres = unit(rng.normal(size=(len(NAMES), WIDTH)))
    label = np.tile(np.arange(3), PICTURES_PER_CLASS)
    n = len(label)
    views = centres[label][:, None] + spread * rng.normal(size=(n, VIEWS_SHOWN, WIDTH))
    prompts = unit(centres[:, None] + 0.2 * rng.normal(size=(len(NAMES), 2, WIDTH)))
    sentences = tuple((f"a {name}", f"one {name}") for name in NAMES)
    weight, unknown = np.full((len(NAMES), 2), 0.5, np.float32), ((),) * len(NAMES)
    class_prompts = ClassPrompts(NAMES, sentences, prompts, weight, unit(centres), unknown, 0.1, "test")
    features = np.zeros((len(NAMES), SLOTS, WIDTH), np.float32)
    count, born = np.zeros(len(NAMES), int), np.full((len(NAMES), SLOTS), -1)
    if cached:
        features[0, 0], born[0, 0] = unit(views[0, 1]), 0  # picture 0 shows class 0
        features[1, 0], born[1, 0] = unit(views[2, 1]), 2  # picture 2 shows class 2
        count[:2] = 1
    memory = CacheState(features, np.ones((len(NAMES), SLOTS)), born, born, count, n, "test")
    return FeatureCloud(
        title="test data",
        class_prompts=class_prompts,
        ids=tuple(f"picture {i}" for i in range(n)),
        label=label,
        clean=unit(centres[label] + spread * rng.normal(size=(n, WIDTH))),
        attacked=unit(rng.normal(size=(n, WIDTH))),
        views=unit(views),
        cache=memory,
        thumbs=rng.integers(0, 255, (n, 8, 8, 3)).astype(np.uint8),
    )
