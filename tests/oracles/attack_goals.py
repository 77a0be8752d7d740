"""Losses, resizes and gradients of the attacks with loops, in numpy and plain Python."""

import math

import numpy as np

F = np.ndarray


def cross_entropy(logits: F, label: int, target: int | None) -> float:
    """-log p(label); with a target, log p(target). In nats."""
    top = max(logits)
    total = math.fsum(math.exp(v - top) for v in logits)
    log_p = [v - top - math.log(total) for v in logits]
    return -log_p[label] if target is None else log_p[target]


def margin(logits: F, label: int, target: int | None, kappa: float) -> float:
    """min(best other - correct, kappa); with a target, min(target - best other, kappa)."""
    aim = label if target is None else target
    best_other = -math.inf
    for k, value in enumerate(logits):
        if k != aim and value > best_other:
            best_other = float(value)
    lead = best_other - logits[aim] if target is None else logits[aim] - best_other
    return min(float(lead), kappa)


def shrunk_on_black(picture: F, small: int, top: int, left: int) -> F:
    """(3, H, H): bilinear resize to small x small, pixel centres aligned, on black at (top, left)."""
    side = picture.shape[-1]
    out = np.zeros_like(picture)
    for row in range(small):
        for column in range(small):
            y = max((row + 0.5) * side / small - 0.5, 0.0)
            x = max((column + 0.5) * side / small - 0.5, 0.0)
            y0, x0 = int(y), int(x)
            y1, x1 = min(y0 + 1, side - 1), min(x0 + 1, side - 1)
            for channel in range(3):
                upper = (1 - (x - x0)) * picture[channel, y0, x0] + (x - x0) * picture[channel, y0, x1]
                lower = (1 - (x - x0)) * picture[channel, y1, x0] + (x - x0) * picture[channel, y1, x1]
                out[channel, top + row, left + column] = (1 - (y - y0)) * upper + (y - y0) * lower
    return out


def cw_l2(weights: F, bias: F, picture: F, label: int, steps: int) -> tuple[list[F], F]:
    """CW L2 on the linear model ``weights @ x + bias``: every 8-bit candidate, and the one delivered.

    Minimises |x' - x|^2 + max(z_label - best other, 0) over w, x' = (tanh w + 1) / 2, with Adam (lr 0.01).
    """
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


def fixed_plan_gradient(x: F, plans: list[F], atoms: list[F], shares: list[float], scale: float) -> F:
    """d(-sum_i share_i <T_i, C_i> * scale) / dx for one class, plans T_i (N, M_i) fixed, C = 1 - cos(x, z).

    ``x`` (N, D) unit rows; the cosine divides by their length, so only the tangent part remains.
    """
    out = np.zeros_like(x)
    for plan, z, share in zip(plans, atoms, shares):
        for n in range(len(x)):
            for m in range(len(z)):
                tangent = z[m] - (x[n] @ z[m]) * x[n]
                out[n] += scale * share * plan[n, m] * tangent
    return out
