"""The prompt tuning of TPT, C-TPT, R-TPT and SS-TPT: one learnable context of 4 tokens, one step of AdamW."""

from collections.abc import Callable

from rita_demo.defences.contract import DefenceInput, method
from rita_demo.process.lazy import Tensor, torch

STEPS, RATE = 1, 5e-3
CONFIDENT_FRACTION = 0.1  # of the views: those of lowest entropy


def tuned_prompts(
    inputs: DefenceInput, views: Tensor, loss_from: Callable[[Tensor, Tensor], Callable[[Tensor], Tensor]]
) -> tuple[Tensor, Tensor]:
    """The untuned prompts (K, 1, D), and the prompts (K, D) after one step from the given context, without weight
    decay. ``loss_from``: views (N, D) and untuned prompts, both constants -> the loss of prompts (K, 1, D), a scalar."""
    # The page may run under inference_mode, whose tensors cannot take part in a gradient.
    with torch.inference_mode(False), torch.enable_grad():
        start = inputs.context.detach().clone()
        with torch.no_grad():
            z = inputs.encode_prompts(start)
            loss = loss_from(views.detach().clone(), z)
        _, tuned, *_ = method.optimise_contexts(inputs.encode_prompts, start, loss, STEPS, RATE)
        return z, tuned[:, 0]


def tuned_on_surest(inputs: DefenceInput, loss: Callable[[Tensor], Tensor], spread: float = 0.0) -> Tensor:
    """Prompts (K, D) after a step that lowers ``loss(log p) - spread * mean_k |z_k - mean z|`` over the most confident
    views: the 10 % of lowest entropy under the untuned prompt, at least one. ``loss``: log probabilities (n, K) of
    those views -> a scalar. ``spread``: weight of how far apart the classes' texts are."""

    def loss_from(x: Tensor, z: Tensor) -> Callable[[Tensor], Tensor]:
        ones, tau = z.new_ones(len(z), 1), inputs.temperature
        sure = method.most_confident(x, z, ones, tau, max(1, int(CONFIDENT_FRACTION * len(x))))

        def value(z: Tensor) -> Tensor:
            now = loss(method.view_log_probability(sure, z, ones, tau))
            return now - spread * (z[:, 0] - z[:, 0].mean(0)).norm(dim=-1).mean() if spread else now

        return value

    return tuned_prompts(inputs, method.unit(inputs.views), loss_from)[1]
