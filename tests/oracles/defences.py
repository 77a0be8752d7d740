"""The other defences from their formulas, one view, one class and one picture at a time, in float64 and without torch. Gradients
with respect to prompts and pixels are central differences."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.oracles.algorithm1 import weigh_views
from tests.oracles.prompt_update import gradient_of
from tests.oracles.transport import cosine, shannon, sinkhorn, softmax, unit

F = np.ndarray
Encode = Callable[[F], F]  # contexts (1, L, E) -> unit prompts (K, 1, D)


def answers(x: F, z: F, tau: float) -> F:
    """p_n(k) of views (N, D) and one prompt per class (K, D)."""
    return np.array([softmax(np.array([view @ prompt for prompt in z]) / tau) for view in x])


def most_confident_tenth(x: F, z: F, tau: float) -> list[int]:
    """The tenth of the views, rounded down but at least one, with the lowest entropies."""
    order = sorted(range(len(x)), key=lambda n: shannon(answers(x[n : n + 1], z, tau)[0]))
    return order[: max(1, len(x) // 10)]


LOSSES = {
    "tpt": lambda p: shannon(p.mean(0)),  # entropy of the mean answer
    "rtpt": lambda p: float(np.mean([shannon(row) for row in p])),  # mean of the answers' entropies
}


def dispersion(z: F) -> float:
    """C-TPT's second term: mean distance of the prompts to their mean."""
    centre = z.mean(0)
    return float(np.mean([np.sqrt(((row - centre) ** 2).sum()) for row in z]))


def tuned(x: F, encode: Encode, context: F, tau: float, loss: str = "tpt", weight: float = 0.0) -> F:
    """Prompts (K, D) after one step of AdamW at 5e-3: the first step moves each entry by lr g / (|g| + 1e-8)."""
    sure = x[most_confident_tenth(x, encode(context)[:, 0], tau)]

    def value(c: F) -> float:
        z = encode(c)[:, 0]
        return LOSSES[loss](answers(sure, z, tau)) - weight * dispersion(z)

    gradient = gradient_of(value, context)
    return encode(context - 5e-3 * gradient / (np.abs(gradient) + 1e-8))[:, 0]


def tpt(x: F, encode: Encode, context: F, tau: float, weight: float = 0.0) -> F:
    """TPT, and C-TPT with a weight: probabilities (K,) of view 0 with the tuned prompts."""
    return answers(x[:1], tuned(x, encode, context, tau, "tpt", weight), tau)[0]


def rtpt(x: F, encode: Encode, context: F, tau: float) -> F:
    """R-TPT: the views' logits, weighted by how close their nearest 20 others are."""
    z = tuned(x, encode, context, tau, "rtpt")
    weights = weigh_views(x, np.zeros(len(x)), "agreement", np.ones(len(x)))
    logits = sum(w * np.array([view @ prompt for prompt in z]) / tau for w, view in zip(weights, x))
    return softmax(logits)


def ensemble(x: F, z: F, tau: float, average: str, counts: F | None = None) -> F:
    """The views' mean answer (K,); ``counts`` (N,) are their weights, not scaled; None: equal weights."""
    weight = [1.0] * len(x) if counts is None else list(counts)
    whole = sum(weight)
    if average == "probability":
        return sum(w * p for w, p in zip(weight, answers(x, z, tau))) / whole
    centre = sum(w * view for w, view in zip(weight, x)) / whole
    centre = unit(centre) if average == "feature" else centre
    return softmax(np.array([centre @ text for text in z]) / tau)


def mta(x: F, hand: F, tau: float) -> F:
    """MTA: probabilities (K,) of the mode."""
    count = len(x)
    p = answers(x, hand, tau)
    affinity = [[float(p[i] @ p[j]) for j in range(count)] for i in range(count)]
    squared = []  # bandwidths
    for n in range(count):
        distances = sorted(float(((x[n] - x[i]) ** 2).sum()) for i in range(count) if i != n)
        nearest = distances[: max(1, int(0.3 * (count - 1)))]
        squared.append(0.5 * sum(nearest) / len(nearest))

    def density(m: F) -> F:
        return np.array([np.exp(-((x[n] - m) ** 2).sum() / (2 * squared[n])) for n in range(count)])

    mode, y = x[0], np.full(count, 1 / count)
    for _ in range(5):
        at_mode = density(mode)
        for _ in range(5):
            old = y
            pull = [sum(affinity[n][i] * old[i] for i in range(count)) for n in range(count)]
            y = softmax((at_mode + 4.0 * np.array(pull)) / 0.2)
            if np.linalg.norm(y - old) < 1e-6:
                break
        for _ in range(5):
            before = mode
            share = y * density(before)
            mode = unit(sum(share[n] * x[n] for n in range(count)))
            if np.linalg.norm(mode - before) < 1e-6:
                break
    return softmax(np.array([mode @ text for text in hand]) / tau)


F = np.ndarray
Feature = Callable[[F], F]  # a picture (3, S, S) -> its unit feature (D,)


def log_answers(x: F, z: F, tau: float) -> F:
    """log p_n(k) of views (N, D) and class sentences (K, D)."""
    return np.log([softmax(np.array([view @ text for text in z]) / tau) for view in x])


def purified(x: F, g: F, step: float, steps: int) -> F:
    for _ in range(steps):
        x = unit(x + step * (g - (x @ g) * x))
    return x


def purified_by_angle(x: F, g: F, step: float, steps: int) -> F:
    """The same in closed form: every step turns x towards g by atan(step sin(angle))."""
    angle, across = np.arccos(x @ g), unit(x - (x @ g) * g)
    for _ in range(steps):
        angle -= np.arctan(step * np.sin(angle))
    return np.cos(angle) * g + np.sin(angle) * across


def climbed(value: Callable[[F], float], x: F, delta: F, budget: float, step: float) -> F:
    """One signed step of ``delta``, then at most the budget (both in 1/255), then pixels in [0, 1]."""
    delta = delta + step / 255 * np.sign(gradient_of(value, delta))
    delta = np.minimum(np.maximum(delta, -budget / 255), budget / 255)
    return np.minimum(np.maximum(x + delta, 0.0), 1.0) - x


def relative_move(f: Feature, x: F, delta: F) -> float:
    return float(np.linalg.norm(f(x + delta) - f(x)) / np.linalg.norm(f(x)))


def ttc(f: Feature, x: F, noise: F, own: dict[str, float]) -> F:
    """What TTC adds to a picture, from the noise it starts with."""
    if relative_move(f, x, noise) >= own["threshold"]:
        return noise
    deltas = [noise]
    for _ in range(own["steps"]):
        deltas.append(climbed(lambda d: ((f(x + d) - f(x)) ** 2).sum(), x, deltas[-1], own["budget"], own["step"]))
    weights = softmax(own["beta"] * np.arange(len(deltas)))
    return sum(weight * delta for weight, delta in zip(weights, deltas))


def low_pass(x: F, radius: float) -> F:
    """A picture (3, S, S) as a sum of waves, each times exp(-d^2 / (2 r^2)), r = radius S / 224."""
    side = x.shape[-1]
    row, column = np.mgrid[:side, :side]
    out = np.zeros(x.shape, dtype=complex)
    for u in range(side):
        for v in range(side):
            distance = np.hypot(min(u, side - u), min(v, side - v))
            gain = np.exp(-(distance**2) / (2 * (radius * side / 224) ** 2))
            wave = np.exp(2j * np.pi * (u * row + v * column) / side)
            for colour in range(3):
                out[colour] += gain * (x[colour] * wave.conj()).sum() / side**2 * wave
    return np.minimum(np.maximum(out.real, 0.0), 1.0)


def csr(f: Feature, x: F, own: dict[str, float]) -> F:
    """What CSR adds to a picture."""
    low, delta = f(low_pass(x, own["radius"])), np.zeros_like(x)
    if cosine(f(x), low) >= own["threshold"]:
        return delta
    for _ in range(own["steps"]):
        delta = climbed(lambda d: cosine(f(x + d), low) - cosine(f(x + d), f(x)), x, delta, own["budget"], own["step"])
    return delta


def offsets(x: F, z: F, tau: float, surest: int) -> tuple[F, float]:
    """DBD's d (D,) and s of versions (N, D), version 0 the picture."""
    entropy = [shannon(np.exp(row)) for row in log_answers(x, z, tau)]
    chosen = sorted(range(1, len(x)), key=lambda n: entropy[n])[:surest]
    d = sum(x[n] - x[0] for n in chosen) / len(chosen)
    return d, sum(cosine(x[n] - x[0], d) for n in chosen) / len(chosen)


def moved_feature(x: F, z: F, tau: float, surest: int, threshold: float, far: float) -> F:
    """DBD's feature (D,) of versions (N, D)."""
    d, s = offsets(x, z, tau, surest)
    return unit(x[0] + (far if s > threshold else 1.0) * d)


def divergence(p: F, q: F) -> float:
    return float(sum(a * np.log(a / b) for a, b in zip(p, q)))


def min_max(a: list[float]) -> F:
    return (np.array(a) - min(a)) / (max(a) - min(a))


def view_weights(x: F, log_p: F, log_jittered: F) -> F:
    """SS-TPT's w (N,)."""
    shared, stable = [], []
    for n in range(len(x)):
        distances = [np.sqrt(((x[n] - x[m]) ** 2).sum()) for m in range(len(x)) if m != n]
        shared.append(1 / np.mean(distances))
        p, q = np.exp(log_p[n]), np.exp(log_jittered[n])
        stable.append(1 / (divergence(p, (p + q) / 2) / 2 + divergence(q, (p + q) / 2) / 2))
    return softmax((0.4 * min_max(shared) + 0.6 * min_max(stable)) / 0.25)


def sstpt_loss(log_p: F, weight: F) -> float:
    """Mean entropy of the 3 surest views, plus the mean KL of each view to the weighted mean of the others."""
    p = np.exp(log_p)
    sharp = float(np.mean(sorted(shannon(row) for row in p)[:3]))
    apart = []
    for n in range(len(p)):
        others = [m for m in range(len(p)) if m != n]
        apart.append(divergence(p[n], sum(weight[m] * p[m] for m in others) / sum(weight[m] for m in others)))
    return sharp + float(np.mean(apart))


def sstpt(x: F, jittered: F, encode: Feature, context: F, tau: float) -> F:
    """SS-TPT's probabilities (K,); the weights are those of the untuned prompts, one step of AdamW at 5e-3."""
    z = encode(context)[:, 0]
    weight = view_weights(x, log_answers(x, z, tau), log_answers(jittered, z, tau))
    gradient = gradient_of(lambda c: sstpt_loss(log_answers(x, encode(c)[:, 0], tau), weight), context)
    tuned = encode(context - 5e-3 * gradient / (np.abs(gradient) + 1e-8))[:, 0]
    return softmax(sum(w * np.array([view @ text for text in tuned]) for w, view in zip(weight, x)) / tau)


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
