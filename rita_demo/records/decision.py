"""One decision: prompts, confidence, transport, tuning, cache, verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Array = Any  # numpy.ndarray above the engine, torch.Tensor below it


@dataclass(frozen=True)
class SamePrompt:
    """Class names whose prompts are the same for the model."""

    names: tuple[str, ...]
    cut: int  # the number of tokens after which they are cut; 0: they are the same without it

    @property
    def sentence(self) -> str:
        """What the names have in common, and what to do."""
        short = (name if len(name) <= 45 else f"{name[:20]}…{name[-20:]}" for name in self.names[:3])
        listed = " and ".join(f"“{name}”" for name in short) + " and others" * (len(self.names) > 3)
        if self.cut:
            what, other = f"are cut at {self.cut} tokens, and their prompts are the same", "shorter"
        else:
            what, other = "are the same prompt for the model", "other"
        return f"The names {listed} {what}: no method can tell them apart by their names. Write {other} ones."


def same_prompts_warning(groups: tuple[SamePrompt, ...]) -> str:
    """A sentence on each group of names that the model cannot tell apart, three at most; "" for none."""
    more = [f"There are {len(groups) - 3} more such groups of names."] if len(groups) > 3 else []
    return " ".join([*(group.sentence for group in groups[:3]), *more])


@dataclass(frozen=True)
class ClassPrompts:
    """The classes as prompts. A class may have fewer sentences than another: padding has weight 0."""

    names: tuple[str, ...]  # K, as written
    prompts: tuple[tuple[str, ...], ...]  # K tuples of M sentences
    features: Array  # (K, M, D) unit length, zeros for padding
    weight: Array  # (K, M) rows sum to 1
    template_features: Array  # (K, D) unit length: what plain CLIP answers with, and what is attacked
    unknown: tuple[tuple[str, ...], ...]  # K tuples: words of a name that are in no name of the model's training
    temperature: float  # 1 / logit scale
    key: str
    prompt_template: str = "a photo of a {}."  # of ``template_features``
    same_prompts: tuple[SamePrompt, ...] = ()

    @property
    def warning(self) -> str:
        """See :func:`same_prompts_warning`."""
        return same_prompts_warning(self.same_prompts)

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """The names that hold a word which is in no name of the model's training: with one of them in the list, no
        probability says anything."""
        return tuple(name for name, words in zip(self.names, self.unknown, strict=True) if words)


@dataclass(frozen=True)
class Confidence:
    """Definition 8, for every view alone."""

    probability: Array  # (N, K)
    entropy: Array  # (N,) nats
    label: Array  # (N,) argmax
    kept: Array  # (N,) bool
    limit: float  # the entropy in nats up to which a view is kept


@dataclass(frozen=True)
class Transport:
    """Definitions 5-7 for all classes at once; M is the number of prompts (J for the cache)."""

    cost: Array  # (K, N, M)
    plan: Array  # (K, N, M), sums to ``mass``
    distance: Array  # (K,) per unit of moved mass, with the objective of the settings
    row_weight: Array  # (K, N) marginals, sum to 1 (an upper bound in partial transport)
    column_weight: Array  # (K, M) marginals, sum to ``mass``
    mass: float
    potentials: tuple[Array, Array]  # f (K, N), g (K, M)
    residual: Array  # (T,) the largest absolute marginal error at each check
    checks: Array  # (T,) iterations
    converged: bool
    outcome: str  # a sentence on convergence


@dataclass(frozen=True)
class TheoremBounds:
    """Definition 14 on one picture: squared Wasserstein distances (K,) in [0, 4]; ``lower <= exact <= upper``."""

    lower: Array  # Theorem 1's mean_gap + bures
    upper: Array
    mean_gap: Array
    bures: Array
    exact: Array  # twice the cost without entropic regularisation, all mass moved; NaN where not computed
    used: Array  # twice the cost RITA decided with (its lambda, rho, view weights); may be outside the bounds, or NaN


@dataclass(frozen=True)
class Tuning:
    """Definition 13, of s steps."""

    loss: Array  # (s+1,) nats, before every step and after the last
    features: Array  # (K, M, D) after the steps
    movement: Array  # (M,) L2 change of each context, in token-embedding units
    gradient: Array  # (s,) L2 norm of the contexts' gradient at each step


@dataclass(frozen=True)
class CacheState:
    """The cache as a value. The slots of a class are filled from 0. ``others``: the memories of other defences, by name,
    which travel with RITA's."""

    features: Array  # (K, J, D), zeros where empty
    entropy: Array  # (K, J) nats, +inf where empty
    born: Array  # (K, J) int: index of the picture that added the item, -1 where empty
    view: Array  # (K, J) int: which of its views
    count: Array  # (K,) filled slots
    pictures: int  # so far
    key: str  # names model and classes
    others: Mapping[str, "CacheState"] = field(default_factory=dict)


@dataclass(frozen=True)
class CacheEvent:
    """One view that was inserted, and the entropy and picture of the item it replaced (or None)."""

    label: int
    slot: int
    view: int
    entropy: float
    replaced_entropy: float | None
    replaced_born: int | None


@dataclass(frozen=True)
class CacheUpdate:
    """What one picture did to the cache: its ``candidates`` (confident views) and the events in order."""

    candidates: tuple[int, ...]
    events: tuple[CacheEvent, ...]


@dataclass(frozen=True)
class Verdict:
    """An answer. The margin is the second lowest total minus the lowest for RITA (cosine distance), and the highest minus
    the second highest probability for the others."""

    label: int
    probability: Array  # (K,)
    margin: float
    margin_unit: str
    added: Array | None = None  # (3, S, S) in [-1, 1]: what a defence that changes pixels added to the whole picture
    memory: tuple[CacheState, CacheUpdate] | None = None  # of a defence with its own: afterwards, and what entered


@dataclass(frozen=True)
class DefenceFault:
    """Why a user's own defence has no answer."""

    sentence: str  # the file, the line and the kind of error
    detail: str = ""  # the error's own text, for the owner of the file, not for visitors

    def __str__(self) -> str:
        return f"{self.sentence}: {self.detail}" if self.detail else self.sentence


@dataclass(frozen=True)
class Exclusions:
    """What a "what if" leaves out: indices of views, (class, prompt) pairs, (class, slot) pairs of the cache."""

    views: frozenset[int] = frozenset()
    prompts: frozenset[tuple[int, int]] = frozenset()
    cache_items: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Alignment:
    """Definition 10."""

    aligned: Array  # (K, J, D) X_k W_k, unit rows, zeros where empty
    resultant_length: Array  # (K,) r_k = |sum of cached features| / count, 0 when empty
    angle: Array  # (K,) radians between the mean direction and zbar_k
    notes: tuple[str, ...]  # K sentences, empty unless something was degenerate


@dataclass(frozen=True)
class Trace:
    """Everything RITA did for the views of one picture."""

    view_features: Array  # (N, D) after the step back
    crop_offset: float  # of the whole square from the weighted mean of its crops, in [0, 2], 0 if unknown
    step_back_distance: float  # how far every view was moved, before it was scaled to length 1
    confidence: Confidence
    view_weight: Array  # (N,)
    tuning: Tuning
    prompt_features: Array  # (K, M, D) after tuning
    prompt_weight: Array
    untuned_prompt_transport: Transport
    prompt_transport: Transport
    cache: CacheState  # that the decision was made from
    alignment: Alignment
    cache_transport: Transport | None
    cache_distance: Array  # (K,), zeros without a cache
    total: Array  # (K,) = prompt distance + cache_weight * cache_distance
    verdict: Verdict
    cache_update: CacheUpdate
    seconds: dict[str, float] = field(default_factory=dict)
    cache_verdict: Verdict | None = None  # the answer by ``cache_distance`` alone, None without a cache
    label_before_step: Array | None = None  # (N,) every view's answer before the step back, None without one
