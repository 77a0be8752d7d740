"""COLA, AGC and TDA from their formulas, one view, one class and one picture at a time, in float64, without torch."""

from dataclasses import dataclass, field

import numpy as np

from tests.oracles.transport import cosine, shannon, sinkhorn, softmax, unit

F = np.ndarray


def text_subspace(means: F, count: int) -> F:
    """An orthonormal basis (C, D) of the leading directions of class means (K, D): eigenvectors of ``Z^T Z``."""
    values, vectors = np.linalg.eigh(means.T @ means)
    order = [i for i in np.argsort(-values) if values[i] > values.max() * 1e-10][:count]
    return vectors[:, order].T


def cola(x: F, texts: list[F], tau: float, surest: int, count: int, entropy_weight: float) -> F:
    """COLA's logits (K,) of views (N, D) and each class's descriptions (S_k, D)."""
    means = np.array([unit(own.mean(0)) for own in texts])
    basis = text_subspace(means, count)
    seen = [unit(sum((view @ direction) * direction for direction in basis)) for view in x]
    entropy = [shannon(softmax(np.array([view @ mean for mean in means]) / tau)) for view in seen]
    sure = [seen[n] for n in sorted(range(len(x)), key=lambda n: entropy[n])[:surest]]
    found = []
    for own in texts:
        cost = np.array([[1 - cosine(view, text) for text in own] for view in sure])
        plan = sinkhorn(cost, np.full(len(sure), 1 / len(sure)), np.full(len(own), 1 / len(own)), entropy_weight)
        found.append(-(plan * cost).sum() / tau)
    return np.array(found)


def agc(x: F, copies: F, base: float, gain: float, power: float) -> F:
    """AGC's feature (D,), by the formula of spherical interpolation."""
    anchor = unit(copies.mean(0))
    outlier = np.mean([1 - cosine(x, copy) for copy in copies])
    pairs = [cosine(copies[i], copies[j]) for i in range(len(copies)) for j in range(i)]
    trust = (np.mean(pairs) + 1) / 2
    beta = base + gain * min(max(outlier**power * trust, 0.0), 1.0)
    angle = np.arccos(x @ anchor)
    return (np.sin((1 - beta) * angle) * x + np.sin(beta * angle) * anchor) / np.sin(angle)


@dataclass
class Tda:
    """TDA's two caches, as lists of (feature, entropy, probability) per class."""

    z: F  # (K, D)
    tau: float
    positive: dict[int, list[tuple[F, float, F]]] = field(default_factory=dict)
    negative: dict[int, list[tuple[F, float, F]]] = field(default_factory=dict)

    def answer(self, x: F, alpha: float, beta: float, negative_alpha: float, negative_beta: float) -> F:
        """Logits (K,) of the next picture (D,), which enters first."""
        found = np.array([x @ text for text in self.z]) / self.tau
        p = softmax(found)
        entropy, k = shannon(p), int(p.argmax())
        self._enter(self.positive, 3, k, (x, entropy, p))
        if 0.2 < entropy / np.log(len(self.z)) < 0.5:
            self._enter(self.negative, 2, k, (x, entropy, p))
        for label, items in self.positive.items():
            for feature, _, _ in items:
                found[label] += alpha * np.exp(-beta * (1 - x @ feature))
        for items in self.negative.values():
            for feature, _, seen in items:
                found -= negative_alpha * np.exp(-negative_beta * (1 - x @ feature)) * (seen > 0.03)
        return found

    @staticmethod
    def _enter(cache: dict[int, list[tuple[F, float, F]]], shots: int, k: int, item: tuple[F, float, F]) -> None:
        items = cache.setdefault(k, [])
        if len(items) < shots:
            items.append(item)
        elif item[1] < max(one[1] for one in items):
            items[max(range(shots), key=lambda i: items[i][1])] = item
