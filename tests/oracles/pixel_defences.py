"""CLIPure, TTC, CSR, DBD and SS-TPT from their formulas, one view and one class at a time, in float64. Gradients with
respect to pixels are central differences, without torch."""

from collections.abc import Callable

import numpy as np

from tests.oracles.prompt_update import gradient_of
from tests.oracles.transport import cosine, shannon, softmax, unit

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
