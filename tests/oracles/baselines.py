"""Section 4, one view and one class at a time: TPT, C-TPT, R-TPT and MTA from their formulas, in float64. Prompt tuning
uses finite differences (``prompt_update.gradient_of``), without torch."""

from collections.abc import Callable

import numpy as np

from tests.oracles.algorithm1 import weigh_views
from tests.oracles.prompt_update import gradient_of
from tests.oracles.transport import shannon, softmax, unit

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
