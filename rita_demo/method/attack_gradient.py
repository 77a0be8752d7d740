"""RITA's decision as a differentiable function of the views, for an attack on RITA."""

import torch
from torch import Tensor

from rita_demo.method.cache import cache_atoms
from rita_demo.method.cost import cosine_cost, text_mean
from rita_demo.method.rita import Prompts, decide
from rita_demo.method.sinkhorn import linear_gradient
from rita_demo.method.step_back import step_back
from rita_demo.records import CacheState, Transport
from rita_demo.settings import Settings


def decision_logits(
    x: Tensor,
    prompts: Prompts,
    cache: CacheState,
    settings: Settings,
    area_fraction: Tensor | None = None,
    through_plan: bool = False,
) -> Tensor:
    """``-(d_OT + alpha d_cOT) / ((1 + alpha) tau)`` (K,), whose softmax is RITA's probability.

    The values are those of :func:`rita_demo.method.rita.decide`. In the gradient the transport plans, the tuned
    prompts, the views' weights and the cache are constants: by the envelope theorem the derivative of the entropic value
    with respect to the cost is the plan, divided by the moved mass, and the first step of AdamW is a sign, whose
    derivative is zero almost everywhere. The gradient includes ``step_back``.

    Args:
        x: (N, D) unit view features, view 0 first, part of a graph.
        prompts, cache, settings, area_fraction: as for :func:`rita_demo.method.rita.decide`.
        through_plan: the plan also depends on the cost, as the ``linear`` objective needs
            (:func:`rita_demo.method.sinkhorn.linear_gradient`). Without it the plan is a constant.
    """
    lam = settings.entropy_weight if through_plan and settings.objective == "linear" else None
    trace, _ = decide(x.detach(), prompts, cache, settings, area_fraction=area_fraction)
    x = step_back(x, settings.step_back, area_fraction)
    total = _distance(trace.prompt_transport, cosine_cost(x, trace.prompt_features), lam)
    alpha = 0.0 if settings.protocol == "off" else settings.cache_weight
    if trace.cache_transport is not None and alpha:
        judges = trace.prompt_features if settings.cache_text == "tuned" else prompts.features
        zbar = text_mean(judges, prompts.weight)
        atoms, _ = cache_atoms(trace.cache, trace.alignment, zbar, settings.empty_class)
        total = total + alpha * _distance(trace.cache_transport, cosine_cost(x, atoms), lam)
    return -total / ((1 + alpha) * prompts.temperature)


def _distance(result: Transport, cost: Tensor, lam: float | None) -> Tensor:
    """``distance`` (K,) with its derivative with respect to ``cost`` (K, N, M): the plan divided by its mass, or with
    ``lam`` (lambda) the gradient of the linear cost through the plan."""
    with torch.inference_mode(False), torch.no_grad():  # the plan may have been made in inference mode
        plan, distance = result.plan.clone(), result.distance.clone()
        slope = plan / result.mass
        if lam is not None:
            slope = linear_gradient(result.cost.clone(), plan, result.row_weight.clone(), result.mass, lam)
    moved = (slope * cost).sum((1, 2))
    return distance + moved - moved.detach()
