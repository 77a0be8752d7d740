"""Losses, resizes and gradients of the attacks with loops, in numpy and plain Python."""

import math

import numpy as np
from scipy.ndimage import map_coordinates
from scipy.special import log_softmax

F = np.ndarray


def cross_entropy(logits: F, label: int, target: int | None) -> float:
    """-log p(label); with a target, log p(target). In nats."""
    log_p = log_softmax(logits)
    return -log_p[label] if target is None else log_p[target]


def margin(logits: F, label: int, target: int | None, kappa: float) -> float:
    """min(best other - correct, kappa); with a target, min(target - best other, kappa)."""
    aim = label if target is None else target
    lead = logits[aim] - max(np.delete(logits, aim))
    return min(float(-lead if target is None else lead), kappa)


def shrunk_on_black(picture: F, small: int, top: int, left: int) -> F:
    """(3, H, H): bilinear resize to small x small, pixel centres aligned, on black at (top, left)."""
    side, out = picture.shape[-1], np.zeros_like(picture)
    at = (np.arange(small) + 0.5) * side / small - 0.5
    places = np.meshgrid(at, at, indexing="ij")
    for channel, colour in enumerate(picture):
        shrunk = map_coordinates(colour, places, order=1, mode="nearest")
        out[channel, top : top + small, left : left + small] = shrunk
    return out


def cw_l2(weights: F, bias: F, picture: F, label: int, steps: int) -> tuple[list[F], F]:
    """CW L2 on the linear model ``weights @ x + bias``: every 8-bit candidate, and the one delivered. Minimises |x' -
    x|^2 + max(z_label - best other, 0) over w, x' = (tanh w + 1) / 2, with Adam (lr 0.01)."""
    x = picture.ravel().astype(np.float64)
    w = np.arctanh((2 * x - 1) * 0.999999)
    first, second = np.zeros_like(w), np.zeros_like(w)
    candidates, judged = [], []
    start = weights @ x + bias
    judged.append((margin(start, label, None, math.inf), 0.0, np.rint(255 * x)))
    for step in range(1, steps + 1):
        there = (np.tanh(w) + 1) / 2
        z = weights @ there + bias
        others = [k for k in range(len(z)) if k != label]
        rival = max(others, key=lambda k: z[k])
        gradient = 2 * (there - x)
        if z[label] - z[rival] > 0:
            gradient = gradient + weights[label] - weights[rival]
        gradient = gradient * (1 - np.tanh(w) ** 2) / 2
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        w = w - 0.01 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        levels = np.rint(255 * (np.tanh(w) + 1) / 2)
        candidates.append(levels.reshape(picture.shape))
        lead = margin(weights @ (levels / 255) + bias, label, None, math.inf)
        judged.append((lead, float(np.linalg.norm(levels - 255 * x)), levels))
    fooling = [entry for entry in judged if entry[0] > 0]
    best = min(fooling, key=lambda e: e[1]) if fooling else max(judged, key=lambda e: e[0])
    return candidates, best[2].reshape(picture.shape)
