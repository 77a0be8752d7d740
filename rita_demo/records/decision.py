"""One decision: prompts, confidence, transport, tuning, verdict."""

from dataclasses import dataclass, field

from rita_demo.records.arrays import Array
from rita_demo.records.cache import Alignment, CacheState, CacheUpdate


@dataclass(frozen=True)
class ClassPrompts:
    """The classes as prompts.

    ``names``: K class names as written; ``prompts``: K tuples of M sentences; ``features`` (K, M, D) unit length, zeros
    for padding; ``weight`` (K, M): rows sum to 1, 0 for padding (a class may have fewer sentences than another);
    ``unknown``: K tuples with the words of a name that are not in the embedded model's training; ``temperature`` = 1 /
    logit scale; ``template_features`` (K, D) unit length: ``prompt_template`` with each class name, which plain CLIP
    answers with and which is attacked.
    """

    names: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    features: Array
    weight: Array
    template_features: Array
    unknown: tuple[tuple[str, ...], ...]
    temperature: float
    key: str
    prompt_template: str = "a photo of a {}."


@dataclass(frozen=True)
class Confidence:
    """Definition 8: ``probability`` (N, K); ``entropy`` (N,) in nats; ``label`` (N,) argmax; ``kept`` (N,) bool.

    ``limit``: the entropy in nats up to which a view is ``kept``.
    """

    probability: Array
    entropy: Array
    label: Array
    kept: Array
    limit: float


@dataclass(frozen=True)
class Transport:
    """Definitions 5-7 for all classes at once; M is the number of prompts (J for the cache).

    ``cost`` (K, N, M); ``plan`` (K, N, M) with the total mass ``mass``; ``distance`` (K,) per unit of moved mass, with
    the objective of the settings. The marginals: ``row_weight`` (K, N), sums to 1 (an upper bound in partial transport),
    ``column_weight`` (K, M), sums to ``mass``. ``residual`` (T,): the largest absolute marginal error at each of the
    iterations ``checks`` (T,). ``potentials``: f (K, N), g (K, M). ``outcome``: a sentence on convergence.
    """

    cost: Array
    plan: Array
    distance: Array
    row_weight: Array
    column_weight: Array
    mass: float
    potentials: tuple[Array, Array]
    residual: Array
    checks: Array
    converged: bool
    outcome: str


@dataclass(frozen=True)
class SinkhornHistory:
    """How Sinkhorn converged to one class's plan, at each of T checks.

    ``checks`` (T,) iteration; ``entropy_weight`` (T,): its lambda (annealing lowers it to that of the settings);
    ``cost`` (T,) ``<T, C>`` per unit of moved mass, for any objective; ``residual`` (T,): the largest absolute column
    error as a fraction of the total mass; ``potentials`` (T, M) of the columns, one more for the mass that stays when
    rho < 1.
    """

    checks: Array
    entropy_weight: Array
    cost: Array
    residual: Array
    potentials: Array


@dataclass(frozen=True)
class TheoremBounds:
    """Definition 14 on one picture: squared Wasserstein distances (K,) in [0, 4].

    ``lower <= exact <= upper``. ``lower``: Theorem 1's ``mean_gap + bures``; ``exact``: twice the transport cost
    without entropic regularisation and with all mass moved (NaN where not computed); ``used``: twice the cost RITA
    decided with (its lambda, rho and view weights), which may be outside the bounds.
    """

    lower: Array
    upper: Array
    mean_gap: Array
    bures: Array
    exact: Array
    used: Array


@dataclass(frozen=True)
class Tuning:
    """Definition 13: ``loss`` (s+1,) in nats before every step and after the last; ``features`` (K, M, D) after the
    steps; ``movement`` (M,) L2 change of each context, in token-embedding units; ``gradient`` (s,) L2 norm of the
    contexts' gradient at each step."""

    loss: Array
    features: Array
    movement: Array
    gradient: Array


@dataclass(frozen=True)
class Verdict:
    """An answer: ``label``; ``probability`` (K,); ``margin`` in ``margin_unit``.

    The margin is the second lowest total minus the lowest for RITA (cosine distance), and the highest minus the second
    highest probability for the others. ``added`` (3, S, S): what a defence that changes pixels added to the whole
    picture, in [-1, 1]; None for the others.
    """

    label: int
    probability: Array
    margin: float
    margin_unit: str
    added: Array | None = None


@dataclass(frozen=True)
class DefenceFault:
    """Why a user's own defence has no answer: ``sentence`` names the file, the line and the kind of error,
    ``detail`` is the error's own text (for the owner of the file, not for visitors)."""

    sentence: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.sentence}: {self.detail}" if self.detail else self.sentence


@dataclass(frozen=True)
class Exclusions:
    """What a "what if" leaves out: indices of views, (class, prompt) pairs, (class, slot) pairs of the cache."""

    views: frozenset[int] = frozenset()
    prompts: frozenset[tuple[int, int]] = frozenset()
    cache_items: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class ViewContribution:
    """What the cached view in ``slot`` of class ``k`` contributes to a decision: the decision with it minus the one without
    it. ``lead``: of the true class over the best other one, in cosine distance; ``distance``: of its class's d_cOT;
    ``label`` the answer with it, ``label_without`` the one without."""

    k: int
    slot: int
    lead: float
    distance: float
    label: int
    label_without: int


@dataclass(frozen=True)
class Trace:
    """Everything RITA did for the views of one picture.

    ``view_features`` (N, D) after the step back; ``crop_offset``: the distance of the whole square from the weighted
    mean of its crops, in [0, 2], 0 if unknown; ``step_back_distance``: how far every view was moved, before it was
    scaled to length 1; ``view_weight`` (N,); ``prompt_features`` (K, M, D) after tuning; ``untuned_prompt_transport``:
    the transport to the untuned prompts; ``cache``: the cache the decision was made from; ``cache_distance`` (K,), zeros
    without a cache; ``total`` (K,) = prompt distance + cache_weight * cache_distance; ``cache_verdict``: the answer by
    ``cache_distance`` alone, None without a cache; ``label_before_step`` (N,): the answer of every view before the step
    back, None where there is no step.
    """

    view_features: Array
    crop_offset: float
    step_back_distance: float
    confidence: Confidence
    view_weight: Array
    tuning: Tuning
    prompt_features: Array
    prompt_weight: Array
    untuned_prompt_transport: Transport
    prompt_transport: Transport
    cache: CacheState
    alignment: Alignment
    cache_transport: Transport | None
    cache_distance: Array
    total: Array
    verdict: Verdict
    cache_update: CacheUpdate
    seconds: dict[str, float] = field(default_factory=dict)
    cache_verdict: Verdict | None = None
    label_before_step: Array | None = None
