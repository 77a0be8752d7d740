"""SS-TPT: prompt tuning in which views count by what they share and how stable they are (arXiv 2606.06943)."""

from collections.abc import Callable

from rita_demo.defences.contract import TUNING_SENTENCE, Adaptive, Defence, DefenceInput, answer_of, method
from rita_demo.defences.prompt_tuning import tuned_prompts
from rita_demo.process.lazy import Tensor, torch, uniform
from rita_demo.settings.setting import Setting

SHARED, STABLE = 0.4, 0.6  # weights of the two scores
SHARPNESS = 0.25  # temperature of the weights
SUREST = 3  # views whose entropy is lowered
JITTER = 0.1  # brightness, contrast and saturation change by at most this share
TINY = 1e-8


def jittered(pixels: Tensor, seed: int) -> Tensor:
    """Views (N, 3, S, S) with brightness, contrast and saturation changed a little, each view by its own factors."""
    generator = torch.Generator().manual_seed(seed)
    factor = (1 + JITTER * (2 * uniform([3, len(pixels), 1, 1, 1], generator) - 1)).to(pixels)
    bright = pixels * factor[0]
    middle = bright.mean((1, 2, 3), keepdim=True)
    contrast = middle + factor[1] * (bright - middle)
    grey = contrast.mean(1, keepdim=True)
    return (grey + factor[2] * (contrast - grey)).clamp(0, 1)


def view_weights(x: Tensor, log_p: Tensor, log_jittered: Tensor) -> Tensor:
    """``w = softmax(score / 0.25)`` (N,) from views (N, D) and log probabilities (N, K) before and after the jitter.
    ``score = 0.4 min-max(1 / mean distance to the other views) + 0.6 min-max(1 / JS(p, p jittered))``."""
    log_p, log_jittered = log_p.double(), log_jittered.double()  # the logs of a sure view are nearly equal
    distance = (2 - 2 * x @ x.T).double().clamp(min=TINY).sqrt()
    distance = (distance.sum(1) - distance.diagonal()) / max(len(x) - 1, 1)
    middle = 0.5 * (log_p.exp() + log_jittered.exp())
    log_middle = middle.clamp(min=TINY).log()
    one, other = ((log.exp() * (log - log_middle)).sum(1) for log in (log_p, log_jittered))
    js = 0.5 * (one + other)
    score = SHARED * _min_max(1 / (distance + TINY)) + STABLE * _min_max(1 / (js.clamp(min=0) + TINY))
    return (score / SHARPNESS).softmax(0).to(x)


def _min_max(score: Tensor) -> Tensor:
    return (score - score.min()) / (score.max() - score.min() + TINY)


def loss(log_p: Tensor, weight: Tensor) -> Tensor:
    """Mean entropy of the 3 surest views, plus the mean KL of each view to the weighted mean of the others."""
    entropy = method.entropy_of(log_p)
    surest = entropy.topk(min(SUREST, len(entropy)), largest=False).values.mean()
    if len(log_p) == 1:
        return surest
    p = log_p.exp()
    others = (weight @ p - weight[:, None] * p) / (1 - weight[:, None]).clamp(min=TINY)
    return surest + (p * (log_p - others.clamp(min=TINY).log())).sum(1).mean()


def logits(inputs: DefenceInput) -> Tensor:
    """``sum_n w_n logits_n`` (K,) with the tuned prompts; differentiable in the views, the tuned prompt is a constant."""
    count, tau = min(inputs.params["views"], len(inputs.views)), inputs.temperature
    x = method.unit(inputs.views[:count])
    changed = method.unit(inputs.encode_images(jittered(inputs.draw_views(count), inputs.seed)))

    def log_answers(views: Tensor, prompts: Tensor) -> Tensor:
        return (views @ prompts[:, 0].T / tau).log_softmax(-1)

    def weights(prompts: Tensor) -> Tensor:
        return view_weights(x, log_answers(x, prompts), log_answers(changed, prompts))

    def loss_from(fixed: Tensor, prompts: Tensor) -> Callable[[Tensor], Tensor]:
        weight = weights(prompts)
        return lambda now: loss(log_answers(fixed, now), weight)

    z, tuned = tuned_prompts(inputs, x, loss_from)
    return weights(z) @ (x @ tuned.T / tau)


DEFENCE = Defence(
    name="sstpt",
    title="SS-TPT",
    sentence="Prompt tuning in which a crop counts more where it resembles the others and a small change of colour does "
    "not change its answer.",
    cites="SS-TPT 2026",
    url="https://arxiv.org/abs/2606.06943",
    sees="prompts",
    input_description="16 views, each also jittered",
    reads_pixels=True,
    answer=answer_of(logits),
    adaptive=Adaptive("exact", logits, f"The gradient goes through the weights of the crops. {TUNING_SENTENCE}"),
    uses=(),
    dash="dot",
    symbol="star-diamond",
    settings=(Setting("views", "int", 16, "Views of SS-TPT", "How many of the views it uses.", low=2, high=256),),
)
