"""TDA: a cache of the surest pictures of each class, and one of unsure ones, beside CLIP's answer (Karmanov et al. 2024)."""

import math
from dataclasses import replace
from typing import Any

from rita_demo.defences import clip
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, method, verdict_of
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records import CacheEvent, CacheState, CacheUpdate, Confidence, Verdict
from rita_demo.settings.setting import Setting

SHOTS, NEGATIVE_SHOTS = 3, 2  # pictures per class
UNSURE = (0.2, 0.5)  # entropies, as a share of log K, of a picture for the negative cache
UNLIKELY = 0.03  # a probability up to which an unsure picture says nothing about a class


def parts(memory: CacheState) -> tuple[CacheState, CacheState]:
    """The positive cache (K, 3, D) and the negative one (K, 2, D) of a memory (2 K, 3, D)."""
    K = len(memory.count) // 2
    each = [(slice(0, K), SHOTS), (slice(K, None), NEGATIVE_SHOTS)]
    arrays = ("features", "entropy", "born", "view")
    positive, negative = (
        replace(memory, count=memory.count[rows], **{name: getattr(memory, name)[rows, :shots] for name in arrays})
        for rows, shots in each
    )
    return positive, negative


def joined(before: CacheState, positive: CacheState, negative: CacheState) -> CacheState:
    """The inverse of :func:`parts`; the third slot of the negative cache stays empty."""
    K = len(positive.count)
    changed: dict[str, Any] = {}
    for name in ("features", "entropy", "born", "view"):
        changed[name] = torch.cat([getattr(positive, name), getattr(before, name)[K:]])
        changed[name][K:, :NEGATIVE_SHOTS] = getattr(negative, name)
    return replace(before, count=torch.cat([positive.count, negative.count]), pictures=positive.pictures, **changed)


def remembered(inputs: DefenceInput) -> tuple[CacheState, CacheUpdate]:
    """The memory after the picture, and what entered; rows K to 2 K - 1 are the negative cache. The picture enters the
    positive cache of its most probable class, and the negative one if its entropy lies strictly inside the band: into a
    free slot, or instead of the highest entropy if its own is lower."""
    assert inputs.memory is not None
    x = method.unit(inputs.views[:1].detach()).cpu()
    log_p = clip.logits(inputs).detach().cpu().log_softmax(-1)[None]
    entropy, label = method.entropy_of(log_p), log_p.argmax(-1)
    share, K = float(entropy) / math.log(max(log_p.shape[1], 2)), log_p.shape[1]
    after, events = [], list[CacheEvent]()
    for offset, cache, enters in zip((0, K), parts(inputs.memory), (True, UNSURE[0] < share < UNSURE[1])):
        confident = torch.tensor([enters], dtype=torch.bool, device="cpu")
        state, change = method.update(cache, x, Confidence(log_p.exp(), entropy, label, confident, math.inf))
        after.append(state)
        events += [replace(event, label=event.label + offset) for event in change.events]
    return joined(inputs.memory, *after), CacheUpdate((0,), tuple(events))


def cache_logits(inputs: DefenceInput, memory: CacheState) -> Tensor:
    """``logits + alpha sum_i exp(-beta (1 - x F_i)) onehot_i - alpha' sum_j exp(-beta' (1 - x F_j)) [p_j > 0.03]`` (K,):
    F_i the features of the positive cache and their classes, F_j those of the negative cache and their own answers.
    Differentiable in the picture; the memory is a constant."""
    params, x, z = inputs.params, method.unit(inputs.views[0]), inputs.template_features
    (sure, filled), (unsure, present) = ((cache.features.to(x), _filled(cache).to(x.device)) for cache in parts(memory))
    near = (params["beta"] * (sure @ x - 1)).exp() * filled
    unsure = unsure[present]
    likely = ((unsure @ z.T / inputs.temperature).softmax(-1) > UNLIKELY).to(x)
    against = (params["negative_beta"] * (unsure @ x - 1)).exp() @ likely
    return clip.logits(inputs) + params["alpha"] * near.sum(1) - params["negative_alpha"] * against


def _filled(cache: CacheState) -> Tensor:
    """(K, J): which slots hold a picture."""
    return torch.arange(cache.features.shape[1], device=cache.count.device) < cache.count[:, None]


def logits(inputs: DefenceInput) -> Tensor:
    """The logits (K,) of the answer: the picture enters the memory first, as in the paper."""
    return cache_logits(inputs, remembered(inputs)[0])


def answer(inputs: DefenceInput) -> Verdict | None:
    """The answer with the memory after the picture; None where the memory is off."""
    if inputs.memory is None:
        return None
    after, change = remembered(inputs)
    return replace(verdict_of(cache_logits(inputs, after).softmax(-1)), memory=(after, change))


DEFENCE = Defence(
    name="tda",
    title="TDA",
    sentence="CLIP's answer and two plain caches of earlier pictures: it rises for classes of similar sure pictures and falls "
    "for those that a similar unsure picture named.",
    cites="Karmanov et al. 2024",
    url="https://arxiv.org/abs/2403.18293",
    sees="picture",
    input_description="1 view, and earlier pictures",
    answer=answer,
    adaptive=Adaptive(
        "exact",
        logits,
        "The gradient goes through the similarity to the remembered pictures; the memory, and how the picture itself enters "
        "it, are held fixed in a step.",
    ),
    uses=("hand_prompt", "protocol"),
    uses_cache=True,
    cache_only=True,
    memory_shape=lambda classes: (2 * classes, SHOTS),
    dash="dot",
    symbol="pentagon-open",
    attack_seconds=2,
    on_request=True,
    settings=tuple(
        Setting(f"{name}{letter}", "float", default, f"{what} of {which} pictures", help, low=0.0, high=1000.0)
        for name, which, letter, what, default, help in (
            (
                "",
                "sure",
                "alpha",
                "Weight",
                4.0,
                "α of TDA's positive cache. The paper has 2; chosen anew on val, as β.",
            ),
            ("", "sure", "beta", "Sharpness", 2.0, "β of TDA's positive cache. The paper has 5."),
            ("negative_", "unsure", "alpha", "Weight", 0.117, "α of the negative cache."),
            ("negative_", "unsure", "beta", "Sharpness", 1.0, "β of the negative cache."),
        )
    ),
)
