"""Definition 13: the prompt update, which optimises the prompts' contexts for one picture only."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rita_demo.method.confidence import entropy_of, view_log_probability
from rita_demo.method.cost import cosine_cost, unit
from rita_demo.method.sinkhorn import entropic_value, transport_options
from rita_demo.process.cuda_graphs import CudaGraphs, is_recording
from rita_demo.records import Tuning
from rita_demo.settings import Settings

Encode = Callable[[Tensor], Tensor]  # contexts (M, L, E) -> prompt features (K, M, D)
Updated = tuple[Tensor, Tensor, Tensor, Tensor]  # the fields of a Tuning


@dataclass(frozen=True)
class Prompts:
    """The class prompts as the method needs them, independent of the model. ``encode`` maps contexts (M, L, E) to unit
    features (K, M, D) and is differentiable. ``context`` (M, L, E) holds the initial contexts, ``features`` (K, M, D)
    their encoding. ``weight`` (K, M): rows sum to 1, 0 for padding. ``temperature`` is tau = 1 / logit scale.
    ``initial``: the initial contexts as a leaf and their features with a graph that stays, or None. ``recorded``: prompt
    updates that a GPU repeats, each for at most ``together`` pictures."""

    encode: Encode
    context: Tensor
    features: Tensor
    weight: Tensor
    temperature: float
    initial: Callable[[], tuple[Tensor, Tensor] | None] = lambda: None
    recorded: CudaGraphs = field(default_factory=CudaGraphs)
    together: int = 1


def tune(prompts: Prompts, x: Tensor, settings: Settings) -> Tuning:
    """s steps of AdamW on the contexts only (definition 13), for the views ``x`` (N, D). Contexts and optimiser start anew
    for every picture. PyTorch's betas (0.9, 0.999) and weight decay 0: definition 13 names no decay, and a decay would
    move the contexts towards zero. Without steps, or with the loss ``none``, the result is exactly the initial features
    and one loss (0 for ``none``). ``settings``: tuning_steps, tuning_rate, tuning_loss, subset_size; for ``transport``
    also those of the transport."""
    return tune_together(prompts, [x], settings)[0]


def tune_together(prompts: Prompts, views: Sequence[Tensor], settings: Settings) -> list[Tuning]:
    """:func:`tune` for the views (N, D) of several pictures. A GPU tunes some of them at once: their contexts do not depend
    on each other, and neither do AdamW's steps."""
    if settings.tuning_loss == "none" or settings.tuning_steps == 0:
        return [_untuned(prompts, x, settings) for x in views]
    # a transport takes as many steps as it needs, which cannot be recorded
    recorded = prompts.recorded if settings.tuning_loss != "transport" else CudaGraphs()
    size = prompts.together if recorded.enabled else 1
    # The caller may use inference_mode, whose tensors cannot take part in a gradient.
    with torch.inference_mode(False), torch.enable_grad():
        parts = [views[first : first + size] for first in range(0, len(views), size)]
        return [one for part in parts for one in _tune_part(prompts, part, settings, recorded)]


def _untuned(prompts: Prompts, x: Tensor, settings: Settings) -> Tuning:
    x = most_confident(x, prompts.features, prompts.weight, prompts.temperature, settings.subset_size)
    loss = tuning_loss(x, prompts.features, prompts.weight, settings, prompts.temperature)
    return Tuning(loss[None], prompts.features, loss.new_zeros(len(prompts.context)), loss.new_zeros(0))


def _tune_part(prompts: Prompts, views: Sequence[Tensor], settings: Settings, recorded: CudaGraphs) -> Iterator[Tuning]:
    count, M, temperature = len(views), len(prompts.context), prompts.temperature
    start = prompts.context.detach().clone().repeat(count, 1, 1)
    initial = prompts.initial() if count == 1 else None

    def each(z: Tensor) -> list[Tensor]:
        """The prompts (K, M, D) of every picture, among those of all contexts and the descriptions, which are the same."""
        tuned, frozen = z[:, : count * M], z[:, count * M :]
        return [torch.cat([own, frozen], 1) for own in tuned.split(M, 1)] if count > 1 else [z]

    def update(z_weight: Tensor, *views: Tensor) -> Updated:
        with torch.no_grad():
            sure = [most_confident(x, prompts.features, z_weight, temperature, settings.subset_size) for x in views]

        def losses(z: Tensor) -> list[Tensor]:
            return [tuning_loss(x, own, z_weight, settings, temperature) for x, own in zip(sure, each(z))]

        return _optimise(prompts.encode, start, losses, settings.tuning_steps, settings.tuning_rate, initial)

    key = settings.tuning_steps, settings.tuning_rate, settings.tuning_loss, settings.subset_size, count
    given = (t.detach().clone() for t in (prompts.weight, *views))
    losses, features, movement, gradients = recorded.run(key, update, *given)
    for n, own in enumerate(each(features)):
        yield Tuning(losses[:, n], own, movement[n], gradients[:, n])


def optimise_contexts(
    encode: Encode, start: Tensor, loss: Callable[[Tensor], Tensor], steps: int, rate: float
) -> Tuning:
    """``steps`` of a new AdamW without weight decay on contexts ``start`` (M, L, E), which are not changed. ``loss``:
    prompt features (K, M, D) to a scalar. ``rate``: learning rate."""
    losses, features, movement, gradients = _optimise(encode, start, lambda z: [loss(z)], steps, rate)
    return Tuning(losses[:, 0], features, movement[0], gradients[:, 0])


def _optimise(
    encode: Encode,
    start: Tensor,
    loss: Callable[[Tensor], list[Tensor]],
    steps: int,
    rate: float,
    initial: tuple[Tensor, Tensor] | None = None,
) -> Updated:
    """AdamW on the contexts ``start`` (B M, L, E) of B pictures. ``loss``: all features to B losses. ``initial``: a leaf of
    the same contexts and their features, with a graph that stays. Returns losses (steps + 1, B), the features, how far
    each context moved (B, M), and the norms of the gradients (steps, B)."""
    context = start.clone().requires_grad_()
    on_device = is_recording(start.device)  # where the optimiser counts its steps
    optimiser = torch.optim.AdamW([context], lr=rate, weight_decay=0.0, capturable=on_device)
    losses, gradients, count = [], [], 1
    for step in range(steps):
        kept = initial is not None and step == 0
        leaf, features = initial if kept and initial else (context, encode(context))
        values = loss(features)
        count = len(values)
        # This gradient alone, so that the parameters of the model get none. The losses do not depend on each other.
        (context.grad,) = torch.autograd.grad(sum(values[1:], values[0]), leaf, retain_graph=kept)
        losses.append(torch.stack(values).detach())
        gradients.append(torch.stack([own.norm() for own in context.grad.chunk(count)]))
        optimiser.step()
    with torch.no_grad():
        features = encode(context.detach())
        losses.append(torch.stack(loss(features)))
    movement = (context.detach() - start).flatten(1).norm(dim=1)
    return torch.stack(losses), features, movement.unflatten(0, (count, -1)), torch.stack(gradients)


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
        value = entropic_value(cosine_cost(x, z), unit(x).new_ones(len(x)), z_weight, **options)
        return entropy_of((-value / temperature).log_softmax(0))
    log_p = view_log_probability(x, z, z_weight, temperature)
    if settings.tuning_loss == "pointwise":
        return entropy_of(log_p).mean()
    return entropy_of_mean(log_p)


def entropy_of_mean(log_p: Tensor) -> Tensor:
    """Entropy in nats of the mean probability of the rows of ``log_p`` (N, K)."""
    return entropy_of(log_p.logsumexp(0) - float(torch.tensor(float(len(log_p))).log()))
