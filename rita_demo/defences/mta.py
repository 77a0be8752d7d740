"""MTA: the mode of the views instead of their mean (Zanella and Ben Ayed 2024)."""

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.process.lazy import Tensor, torch

NEIGHBOURS = 0.3  # share of the other views that set the bandwidth of a view: 18 of 63
ENTROPY_WEIGHT, AFFINITY_WEIGHT = 0.2, 4.0  # lambda_y, lambda_q
OUTER_ITERATIONS, INNER_ITERATIONS, TOLERANCE = 5, 5, 1e-6
MIN_SQUARED_BANDWIDTH = 1e-12  # of a view whose neighbours are all equal to it


def logits(inputs: DefenceInput) -> Tensor:
    """CLIP's logits (K,) of the mode by inlierness-weighted mean shift, differentiable in the views.

    Densities ``K_n(m) = exp(-|x_n - m|^2 / 2 h_n^2)``, where ``h_n^2`` is half the mean squared distance to the
    nearest 30 % of the other views; affinities ``A = P P^T`` of the views' answers. Inlierness ``y <- softmax((K(m) +
    lambda_q A y) / lambda_y)``, then mode ``m <- normalised sum_n y_n K_n(m) x_n``, each at most 5 times or until it
    moves by less than 1e-6, both 5 times over. y starts uniform and m at view 0. A single view is its own mode."""
    x, z, temperature = method.unit(inputs.views), inputs.template_features, inputs.temperature
    mode = _mode(x, (x @ z.T / temperature).softmax(-1)) if len(x) > 1 else x[0]
    return mode @ z.T / temperature


def mean_logits(inputs: DefenceInput) -> Tensor:
    """CLIP's logits (K,) of the mean view: the attacker's second surrogate. Where all views are moved, so is the mode."""
    return method.unit(inputs.views).mean(0) @ inputs.template_features.T / inputs.temperature


def _mode(x: Tensor, probability: Tensor) -> Tensor:
    """The mode (D,) of views (N, D) with probabilities (N, K)."""
    affinity = probability @ probability.T
    spread = 2 * squared_bandwidth(x)
    mode, y = x[0], x.new_full((len(x),), 1 / len(x))
    for _ in range(OUTER_ITERATIONS):
        density = (-(x - mode).square().sum(-1) / spread).exp()
        for _ in range(INNER_ITERATIONS):
            before = y
            y = ((density + AFFINITY_WEIGHT * affinity @ y) / ENTROPY_WEIGHT).softmax(0)
            if (y - before).norm() < TOLERANCE:
                break
        for _ in range(INNER_ITERATIONS):
            before = mode
            # As a softmax, so that narrow densities far from the mode cannot all become zero.
            share = (y.log() - (x - mode).square().sum(-1) / spread).softmax(0)
            mode = method.unit(share @ x)
            if (mode - before).norm() < TOLERANCE:
                break
    return mode


def squared_bandwidth(x: Tensor) -> Tensor:
    """``h_n^2``, (N,): half the mean squared distance to the nearest 30 % of the other views (N >= 2)."""
    N = len(x)
    # Squared distances of unit vectors, in differences: 2 - 2 cos would lose the small ones.
    squared = torch.stack([(x - row).square().sum(-1) for row in x])
    itself = torch.eye(N, dtype=torch.bool, device=x.device)
    others = squared.masked_fill(itself, float("inf"))
    nearest = others.topk(max(1, int(NEIGHBOURS * (N - 1))), dim=1, largest=False).values
    return (0.5 * nearest.mean(1)).clamp(min=MIN_SQUARED_BANDWIDTH)


DEFENCE = Defence(
    name="mta",
    title="MTA",
    sentence="No tuning: a mean of the crops that moves to where most of them agree, weighted by how well each fits in.",
    cites="Zanella and Ben Ayed 2024",
    url="https://arxiv.org/abs/2405.02266",
    answer=answer_of(logits),
    adaptive=Adaptive(
        "exact",
        logits,
        "The gradient goes through all iterations of the mean shift; every second restart attacks the mean of the views.",
        mean_logits,
    ),
    role="quiet",
    dash="longdashdot",
    symbol="pentagon",
    paper_name="MTA",
    attack_seconds=7,
)
