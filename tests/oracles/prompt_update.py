"""Row 13: AdamW on the contexts, with gradients by central differences in float64. The loss is evaluated twice per
context entry."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rita_demo.settings import Settings
from tests.oracles.transport import cosines, cost_matrix, shannon, softmax, solve

F = np.ndarray


class Update(NamedTuple):
    """``loss`` (s+1,); ``features`` (K, M, D) after the steps; ``movement`` (M,); ``gradient`` (s,)."""

    loss: F
    features: F
    movement: F
    gradient: F


def view_probabilities(x: F, z: F, z_weight: F, tau: float) -> F:
    """Row 8: softmax over classes of the (weighted) mean cosine over tau, (N, K)."""
    logits = np.zeros((len(x), len(z)))
    for k in range(len(z)):
        atoms = z_weight[k] > 0
        logits[:, k] = cosines(x, z[k, atoms]) @ z_weight[k, atoms]
    return np.array([softmax(row / tau) for row in logits])


def costs(x: F, atoms: list[F], weights: list[F], tau: float, kind: str) -> list[F]:
    """Row 5, one class at a time: C[n, m] = 1 - cos(x_n, z_km), or -tau log p_n(k) for every atom m of the class, where
    p_n is the softmax over the classes that have atoms. A class's atoms (M, D) and their weights (M,); an atom of weight
    0 has no mass, and costs 0."""
    present = [k for k, weight in enumerate(weights) if weight.sum() > 0]
    found = [np.zeros((len(x), len(own))) for own in atoms]
    for k in present:
        real = weights[k] > 0
        found[k][:, real] = cost_matrix(x, atoms[k][real])
    if kind == "cosine" or not present:
        return found
    for n in range(len(x)):
        mean_cosine = [1 - float(found[k][n] @ weights[k]) / weights[k].sum() for k in present]
        probability = softmax(np.array(mean_cosine) / tau)
        for k, p in zip(present, probability):
            found[k][n] = -tau * np.log(p)
    return found


def most_confident(x: F, z: F, z_weight: F, tau: float, size: int) -> list[int]:
    """The views S of the loss: the ``size`` of lowest entropy, under the initial prompts."""
    entropy = [shannon(p) for p in view_probabilities(x, z, z_weight, tau)]
    return sorted(range(len(x)), key=lambda n: entropy[n])[:size]


def loss_of(z: F, x: F, z_weight: F, tau: float, s: Settings) -> float:
    """The tuning loss in nats of prompts z for the views x that are in the loss."""
    if s.tuning_loss == "marginal":
        return shannon(view_probabilities(x, z, z_weight, tau).mean(0))
    if s.tuning_loss == "pointwise":
        return float(np.mean([shannon(p) for p in view_probabilities(x, z, z_weight, tau)]))
    if s.tuning_loss == "transport":
        # The gradient of the entropic and of the KL value is the plan. They differ by an offset that depends on the
        # number of prompts of a class, so KL is used unless the objective is entropic.
        objective = "entropic" if s.objective == "entropic" else "kl"
        uniform, limits = np.full(len(x), 1.0 / len(x)), (s.entropy_weight, s.transported_mass, objective)
        each = zip(costs(x, list(z), list(z_weight), tau, s.cost), z_weight)
        values = [solve(cost, uniform, weight, *limits).value for cost, weight in each]
        return shannon(softmax(-np.array(values) / tau))
    raise ValueError(s.tuning_loss)


def gradient_of(loss: Callable[[F], float], context: F, step: float = 1e-5) -> F:
    """Central differences, one entry at a time."""
    gradient = np.zeros_like(context)
    for index in np.ndindex(*context.shape):
        up, down = context.copy(), context.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (loss(up) - loss(down)) / (2 * step)
    return gradient


def update_prompts(encode: Callable[[F], F], context: F, x: F, z_weight: F, tau: float, s: Settings) -> Update:
    """s steps of AdamW (betas 0.9 and 0.999, 1e-8 in the denominator: its usual constants) without weight decay, which
    would move the contexts towards zero."""
    initial = encode(context)
    if s.tuning_loss == "none" or s.tuning_steps == 0:
        return Update(np.zeros(1), initial, np.zeros(len(context)), np.zeros(0))
    chosen = x[most_confident(x, initial, z_weight, tau, s.subset_size)]

    def loss(c: F) -> float:
        return loss_of(encode(c), chosen, z_weight, tau, s)

    now = context.copy()
    first, second = np.zeros_like(now), np.zeros_like(now)
    losses, norms = [loss(now)], []
    for step in range(1, s.tuning_steps + 1):
        gradient = gradient_of(loss, now)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        corrected = first / (1 - 0.9**step)
        scale = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        now = now - s.tuning_rate * corrected / scale
        norms.append(float(np.linalg.norm(gradient)))
        losses.append(loss(now))
    movement = np.array([np.linalg.norm(now[m] - context[m]) for m in range(len(context))])
    return Update(np.array(losses), encode(now), movement, np.array(norms))
