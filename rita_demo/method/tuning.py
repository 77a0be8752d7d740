"""Definition 13: the prompt update, which optimises the prompts' contexts for one picture only."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rita_demo.method.confidence import entropy_of
from rita_demo.method.cost import unit, view_cost, view_log_probability
from rita_demo.method.sinkhorn import entropic_value, transport_options
from rita_demo.process.gpu import CudaGraphs
from rita_demo.records import Tuning
from rita_demo.settings import Settings, in_groups

Encode = Callable[[Tensor], Tensor]  # contexts (M, L, E) -> prompt features (K, M, D)
Updated = tuple[Tensor, Tensor, Tensor, Tensor]  # the fields of a Tuning


@dataclass(frozen=True)
class Prompts:
    """The class prompts as the method needs them, independent of the model. ``encode`` maps contexts (M, L, E) to unit
    features (K, M, D) and is differentiable. ``context`` (M, L, E) holds the initial contexts, ``features`` (K, M, D)
    their encoding. ``weight`` (K, M): rows sum to 1, 0 for padding. ``temperature`` is tau = 1 / logit scale.
    ``initial``: the initial contexts as a leaf and their features with a graph that stays, or None. ``recorded``: prompt
    updates that a GPU repeats."""

    encode: Encode
    context: Tensor
    features: Tensor
    weight: Tensor
    temperature: float
    initial: Callable[[], tuple[Tensor, Tensor] | None] = lambda: None
    recorded: CudaGraphs = field(default_factory=CudaGraphs)


BETAS = (0.9, 0.999)  # of AdamW, PyTorch's


def tune(prompts: Prompts, x: Tensor, settings: Settings) -> Tuning:
    """s steps of AdamW on the contexts only (definition 13), for the views ``x`` (N, D). Contexts and optimiser start anew
    for every picture. PyTorch's betas (0.9, 0.999) and weight decay 0: definition 13 names no decay, and a decay would
    move the contexts towards zero. Without steps, or with the loss ``none``, the result is exactly the initial features
    and one loss (0 for ``none``). ``settings``: tuning_steps, tuning_rate, tuning_loss, subset_size; for ``transport``
    also those of the transport."""
    # The caller may use inference_mode, whose tensors cannot take part in a gradient.
    with torch.inference_mode(False), torch.enable_grad():
        x, z_weight, start = (t.detach().clone() for t in (x, prompts.weight, prompts.context))
        features, temperature = prompts.features, prompts.temperature
        steps = 0 if settings.tuning_loss == "none" else settings.tuning_steps

        def update(x: Tensor, z_weight: Tensor) -> Updated:
            with torch.no_grad():
                x = most_confident(x, features, z_weight, temperature, settings.subset_size)
                if steps == 0:
                    loss = tuning_loss(x, features, z_weight, settings, temperature)
                    return loss[None], features, start.new_zeros(len(start)), loss.new_zeros(0)

            def loss_at(z: Tensor) -> Tensor:
                return tuning_loss(x, z, z_weight, settings, temperature)

            return optimise_contexts(prompts.encode, start, loss_at, steps, settings.tuning_rate, prompts.initial())

        if steps == 0 or settings.tuning_loss == "transport":  # which takes as many steps as it needs
            return Tuning(*update(x, z_weight))
        key = tuple(getattr(settings, name) for name in in_groups("tuning"))
        return Tuning(*prompts.recorded.run(key, update, x, z_weight))


def optimise_contexts(
    encode: Encode,
    start: Tensor,
    loss: Callable[[Tensor], Tensor],
    steps: int,
    rate: float,
    initial: tuple[Tensor, Tensor] | None = None,
) -> Updated:
    """``steps`` of a new AdamW without weight decay on contexts ``start`` (M, L, E), which are not changed: the fields of a
    :class:`Tuning`. ``loss``: prompt features (K, M, D) to a scalar. ``rate``: learning rate. ``initial``: a leaf of the same
    contexts and their features, with a graph that stays."""
    context, mean, square = start.clone().requires_grad_(), torch.zeros_like(start), torch.zeros_like(start)
    losses, gradients = [], []
    for step in range(steps):
        reused = initial is not None and step == 0
        leaf, features = initial if reused and initial else (context, encode(context))
        value = loss(features)
        # This gradient alone, so that the parameters of the model get none.
        (gradient,) = torch.autograd.grad(value, leaf, retain_graph=reused)
        losses.append(value.detach())
        gradients.append(gradient.norm())
        with torch.no_grad():  # AdamW as torch.optim computes it, which would load torch's compiler: 0.1 GB
            mean.lerp_(gradient, 1 - BETAS[0])
            square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            scale = square.sqrt() / (1 - BETAS[1] ** (step + 1)) ** 0.5
            context.addcdiv_(mean, scale.add_(1e-8), value=-rate / (1 - BETAS[0] ** (step + 1)))
    with torch.no_grad():
        features = encode(context.detach())
        losses.append(loss(features))
    movement = (context.detach() - start).flatten(1).norm(dim=1)
    return torch.stack(losses), features, movement, torch.stack(gradients)


def most_confident(x: Tensor, z: Tensor, z_weight: Tensor, temperature: float, size: int) -> Tensor:
    """The ``size`` views with the lowest entropy under the prompts z: (min(size, N), D), lowest first."""
    entropy = entropy_of(view_log_probability(x, z, z_weight, temperature))
    return x[entropy.argsort(stable=True)[:size]]


def tuning_loss(x: Tensor, z: Tensor, z_weight: Tensor, settings: Settings, temperature: float) -> Tensor:
    """The loss of the prompt update in nats, a scalar, over the views ``x`` (S, D) and prompts ``z`` (K, M, D).
    ``marginal``: entropy of the mean view probability. ``pointwise``: mean entropy of the views. ``transport``: entropy
    of ``softmax_k(-value_k / tau)``, where value is the entropic transport cost with uniform view weights."""
    if settings.tuning_loss == "none":
        return unit(x).new_zeros(())
    if settings.tuning_loss == "transport":
        options = transport_options(settings)
        if settings.objective == "linear":  # kl has the plan as gradient and no offset for the number of prompts
            options["objective"] = "kl"
        cost = view_cost(settings.cost, x, z, z_weight, temperature)
        value = entropic_value(cost, unit(x).new_ones(len(x)), z_weight, **options)
        return entropy_of((-value / temperature).log_softmax(0))
    log_p = view_log_probability(x, z, z_weight, temperature)
    if settings.tuning_loss == "pointwise":
        return entropy_of(log_p).mean()
    return entropy_of_mean(log_p)


def entropy_of_mean(log_p: Tensor) -> Tensor:
    """Entropy in nats of the mean probability of the rows of ``log_p`` (N, K)."""
    count = torch.tensor(len(log_p), dtype=torch.float32, device="cpu")
    return entropy_of(log_p.logsumexp(0) - float(count.log()))
