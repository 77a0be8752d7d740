"""COLA: transport of the surest views onto each class's descriptions, in the subspace of the class texts (Zhu et al. 2025)."""

from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.process.lazy import Tensor, torch
from rita_demo.settings.setting import Setting


def class_texts(inputs: DefenceInput) -> tuple[Tensor, Tensor]:
    """The descriptions (K, S, D) of every class and their weights (K, S), equal and summing to 1, 0 where a class has
    fewer. Where there are none: CLIP's own sentence."""
    texts = inputs.template_features[:, None] if inputs.each_description is None else inputs.each_description
    present = (texts.norm(dim=-1) > 0).to(texts)
    return texts, present / present.sum(1, keepdim=True)


def text_directions(means: Tensor, count: int) -> Tensor:
    """The first right singular vectors (C, D), at most ``count`` of them, of the class text means (K, D): an orthonormal
    basis of the subspace. Directions without any text are left out."""
    _, singular, directions = torch.linalg.svd(means, full_matrices=False)
    spanned = int((singular > singular[0] * 1e-6).sum())
    return directions[: min(count, spanned)]


def projected(x: Tensor, directions: Tensor) -> Tensor:
    """``unit(V^T V x)``: views (N, D) without what no class text says."""
    return method.unit(x @ directions.T @ directions)


def logits(inputs: DefenceInput) -> Tensor:
    """``-d_k / tau`` (K,): ``d_k = <T_k, C_k>`` with ``C_k[n, m] = 1 - cos(projected x_n, z_km)`` and ``T_k = argmin <T,
    C_k> - lambda h(T)`` for equal masses of the surest views and of the descriptions. The surest views have the lowest
    entropy of the projected view's answer from the class means. Differentiable in the views, also through the plan."""
    params, tau = inputs.params, inputs.temperature
    texts, weight = class_texts(inputs)
    means = method.unit((weight[:, :, None] * texts).sum(1))
    x = projected(inputs.views, text_directions(means, params["directions"]))
    entropy = method.entropy_of((x.detach() @ means.T / tau).log_softmax(-1))
    sure = x[entropy.topk(min(params["surest"], len(x)), largest=False).indices]
    cost = 1 - torch.einsum("nd,kmd->knm", sure, texts)
    solved = method.transport(cost, cost.new_ones(len(sure)), weight, entropy_weight=params["entropy_weight"])
    lam = params["entropy_weight"] if cost.requires_grad else None
    return -method.differentiable_distance(solved, cost, lam) / tau


SUREST_HELP = "How many views are transported. The paper has 5; chosen anew on val."
DIRECTIONS_HELP = "How many leading directions of the class texts are kept. With fewer classes all that they span."
DEFENCE = Defence(
    name="cola",
    title="COLA",
    sentence="The surest crops, without what no class text says, are transported onto each class's descriptions.",
    cites="Zhu et al. 2025",
    url="https://arxiv.org/abs/2510.24038",
    input_description="the 8 surest of {n} views, transport",
    answer=answer_of(logits),
    adaptive=Adaptive(
        "exact",
        logits,
        "The gradient goes through the projection and the transport plans, by the implicit function theorem; which views "
        "are the surest is held fixed in a step.",
    ),
    uses=("hand_prompt", "descriptions"),
    dash="longdash",
    symbol="hexagram",
    attack_seconds=10,
    on_request=True,
    settings=(
        Setting("surest", "int", 8, "Surest views of COLA", SUREST_HELP, low=1, high=256),
        Setting("directions", "int", 256, "Directions of COLA", DIRECTIONS_HELP, low=1, high=4096),
        Setting("entropy_weight", "float", 0.1, "Entropy weight of COLA", "λ of its transport.", low=1e-3, high=10.0),
    ),
)
