"""The records that cross a folder border: what each step did, as one frozen value.

Axes: **N** views, **K** classes, **M** prompt atoms per class, **J** cache slots per
class, **D** embedding width, **S** attack steps, **H x W** the square in pixels.

A record holds torch tensors below the engine and numpy arrays above it; the shapes are
the same (see ``engine.outside``).  Features are L2-normalised, probabilities sum to 1,
entropies are in nats, costs and distances are cosine distances in [0, 2].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Array = Any  # numpy.ndarray above the engine, torch.Tensor below it


@dataclass(frozen=True)
class Picture:
    """A decoded square: ``pixels`` (H, W, 3) uint8 RGB, H = W; ``key`` names its content.

    ``notes`` are sentences on what decoding did (rotated by EXIF, transparency on white, ...).
    """

    pixels: Array
    key: str
    notes: tuple[str, ...] = ()
    source_size: tuple[int, int] = (0, 0)  # (width, height) of the file before cropping


@dataclass(frozen=True)
class AttackTrace:
    """What one attack did to one square.

    ``pixels`` (H, W, 3) uint8 after rounding; ``frames`` (S+1, H, W, 3) uint8, the square
    before the first step and after each step (AutoAttack: only the first and the last, S = 1); ``loss``
    (S+1,) the attacker's objective (what it ascends) in ``loss_unit``; ``probability`` (S+1, K) CLIP's
    single-view answer at every step; ``budget`` 0 for an attack without one; ``linf`` in whole 1/255, ``l2`` in [0, 1] pixel units, both measured on the rounded square.
    ``fooled``: CLIP's answer on the clean square was the label and is not any more (targeted: it is
    the target now); ``already_wrong``: CLIP's answer on the clean square was not the label.
    """

    name: str
    pixels: Array
    frames: Array
    loss: Array
    probability: Array
    label: int
    target: int | None
    budget: int  # in 1/255
    linf: float
    l2: float
    fooled: bool
    already_wrong: bool
    seconds: float = 0.0
    loss_unit: str = "nats"


@dataclass(frozen=True)
class ViewSet:
    """Where the views were taken: view 0 is the whole square.

    ``boxes`` (N, 4) float32: left, top, right, bottom as shares of the square's side, in [0, 1];
    ``flipped`` (N,) bool; ``pixels`` (N, 3, side, side) float32 in [0, 1] at the model's input size,
    or None once the features are all that is needed.
    """

    boxes: Array
    flipped: Array
    seed: int
    pixels: Array | None = None


@dataclass(frozen=True)
class Glance:
    """One picture as a cloud of views: ``features`` (N, D) float32, unit length; ``key`` names it.

    ``seconds``: stage -> wall time.
    """

    views: ViewSet
    features: Array
    key: str
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TextBank:
    """A vocabulary as prompts.

    ``names`` K class names as written; ``prompts`` K tuples of M sentences, as a person would read
    them; ``features`` (K, M, D) unit length, zeros for padding; ``weight`` (K, M) rows sum to 1 (0 for
    padding, where a class has fewer written sentences than another);
    ``unknown`` K tuples with the words of a name the embedded model never met in training;
    ``temperature`` = 1 / logit scale; ``hand`` (K, D) unit length, the prompt ``hand_sentence``
    that plain CLIP answers with and that the attacker attacks.
    """

    names: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    features: Array
    weight: Array
    hand: Array
    unknown: tuple[tuple[str, ...], ...]
    temperature: float
    key: str
    hand_sentence: str = "a photo of a {}."


@dataclass(frozen=True)
class Confidence:
    """Row 8: ``probability`` (N, K); ``entropy`` (N,) in nats; ``label`` (N,) argmax; ``kept`` (N,) bool.

    ``limit`` is the entropy limit in nats that decided ``kept``.
    """

    probability: Array
    entropy: Array
    label: Array
    kept: Array
    limit: float


@dataclass(frozen=True)
class Transport:
    """Rows 5-7 for all classes at once; M stands for the number of atoms (J for the cache).

    ``cost`` (K, N, M); ``plan`` (K, N, M), its total mass is ``mass``; ``distance`` (K,) per unit of
    moved mass, by the objective asked for; ``row_weight`` (K, N), sums to 1, and ``column_weight`` (K, M),
    sums to ``mass``: what the marginals should be (with partial transport the rows are upper bounds); ``residual`` (T,) largest
    absolute marginal error after each check and ``checks`` (T,) at which iteration; ``potentials``
    f (K, N), g (K, M); ``outcome`` a human sentence on convergence.
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
class Descent:
    """How Sinkhorn came to one class's plan, at each of T checks.

    ``checks`` (T,) iteration number; ``level`` (T,) the lambda it was at (annealing lowers it to the
    one asked for); ``cost`` (T,) ``<T, C>`` per unit of moved mass, whatever the objective;
    ``residual`` (T,) largest absolute column error as a share of the total mass; ``potentials`` (T, M)
    of the columns, one more for what is left out when rho < 1.
    """

    checks: Array
    level: Array
    cost: Array
    residual: Array
    potentials: Array


@dataclass(frozen=True)
class CacheState:
    """The memory as a value. Slots of a class are filled from 0; ``count`` (K,) says how many.

    ``features`` (K, J, D), zeros where empty; ``entropy`` (K, J) nats, +inf where empty; ``born`` (K, J)
    int: number of the picture that brought the item, -1 where empty; ``view`` (K, J) int: which view of
    it; ``pictures``: how many pictures were committed so far; ``key`` names model and vocabulary.
    """

    features: Array
    entropy: Array
    born: Array
    view: Array
    count: Array
    pictures: int
    key: str


@dataclass(frozen=True)
class CacheEvent:
    """One view that entered: class, slot, view number, its entropy, and what it replaced (or None)."""

    label: int
    slot: int
    view: int
    entropy: float
    replaced_entropy: float | None
    replaced_born: int | None


@dataclass(frozen=True)
class CacheChange:
    """What one picture did to the memory: the views ``offered`` (kept ones) and the events in order."""

    offered: tuple[int, ...]
    events: tuple[CacheEvent, ...]


@dataclass(frozen=True)
class Alignment:
    """Row 10: ``aligned`` (K, J, D) = X_k W_k, unit rows, zeros where empty; ``strength`` (K,) is
    r_k = |sum of cached features| / count (0 when empty); ``angle`` (K,) radians between the mean
    direction and zbar_k; ``notes`` K sentences, empty unless something was degenerate."""

    aligned: Array
    strength: Array
    angle: Array
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Tuning:
    """Row 13: ``loss`` (s+1,) in nats before every step and after the last; ``features`` (K, M, D)
    after the steps; ``movement`` (M,) L2 change of each prompt's context, in token-embedding units;
    ``gradient`` (s,) L2 norm of the contexts' gradient at each step."""

    loss: Array
    features: Array
    movement: Array
    gradient: Array


@dataclass(frozen=True)
class Verdict:
    """An answer: ``label``; ``probability`` (K,); ``margin`` = second lowest total minus lowest for
    RITA (cosine distance), best minus second-best probability for the others; ``margin_unit`` says which."""

    label: int
    probability: Array
    margin: float
    margin_unit: str


@dataclass(frozen=True)
class LeftOut:
    """What a "what if" leaves out: view numbers, (class, prompt) pairs, and (class, slot) pairs of
    the memory that the picture was decided from."""

    views: frozenset[int] = frozenset()
    prompts: frozenset[tuple[int, int]] = frozenset()
    items: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Trace:
    """Everything RITA did for one glance.

    ``view_features`` (N, D) the views as they were decided on: those of the glance, or after ``step_back``;
    ``off_crops`` how far the whole square lies from its crops' weighted mean, in [0, 2], 0 where nobody knows; ``stepped`` how far
    every view was moved from there, before it was scaled to length 1;
    ``view_weight`` (N,); ``prompt_features`` (K, M, D) after tuning; ``prompt_before`` the transport of
    the untuned prompts; ``cache`` the state the decision was made from; ``cache_distance`` (K,) zeros
    when the cache is off; ``total`` (K,) = prompt.distance + cache_weight * cache_distance;
    ``memory_verdict`` the answer by ``cache_distance`` alone, None when the cache is off.
    """

    view_features: Array
    off_crops: float
    stepped: float
    confidence: Confidence
    view_weight: Array
    tuning: Tuning
    prompt_features: Array
    prompt_weight: Array
    prompt_before: Transport
    prompt: Transport
    cache: CacheState
    alignment: Alignment
    cache_transport: Transport | None
    cache_distance: Array
    total: Array
    verdict: Verdict
    change: CacheChange
    seconds: dict[str, float] = field(default_factory=dict)
    memory_verdict: Verdict | None = None


@dataclass(frozen=True)
class BackboneInfo:
    """A model: ``name`` as the visitor asks for it, ``side`` input pixels, ``width`` D, size and device."""

    name: str
    title: str
    parameters: int
    side: int
    width: int
    device: str
    precision: str
    logit_scale: float
    note: str = ""


@dataclass(frozen=True)
class Side:
    """One of the two visitors, clean or attacked: the picture, its views, every method's answer.

    ``verdicts`` maps a name of ``methods.METHODS`` to its :class:`Verdict`; clip, ensemble and rita
    are always there.
    """

    picture: Picture
    glance: Glance
    trace: Trace
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class ThreatModel:
    """Printed beside every robust number. ``sentences`` is the same in plain words."""

    attack: str
    budget: int  # in 1/255
    steps: int
    seed: int
    square: str  # "picture" or "model"
    side: int  # pixels of the attacked square
    goal: str  # "away from the true class 'cup'", "away from CLIP's own answer 'cup'", "towards 'crab'"
    knows: tuple[str, ...]
    does_not_know: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Story:
    """A picture attacked and defended: what the page shows and ``explain`` exports.

    ``attack`` is None (and ``attacked`` is ``clean``) when the picture was only defended.
    ``label`` is what counts as right; ``label_given`` says whether a person said so (else it is CLIP's own
    answer on the clean square). ``cache_before`` decided both sides; ``cache_after`` holds the delivered picture.
    ``step``: None, or the attack step whose square is the attacked side here (``film.at_step``).
    ``methods``: who was asked, names of ``methods.METHODS``.
    """

    bank: TextBank
    settings: Any  # rita_demo.settings.Settings
    backbone: BackboneInfo
    clean: Side
    attacked: Side
    attack: AttackTrace | None
    label: int
    label_given: bool
    threat: ThreatModel
    cache_before: CacheState
    cache_after: CacheState
    seconds: dict[str, float] = field(default_factory=dict)
    step: int | None = None
    methods: tuple[str, ...] = ("clip", "ensemble", "rita")


@dataclass(frozen=True)
class FilmFrame:
    """The square after attack step ``step`` (0 = before the first), looked at like either side."""

    step: int
    side: Side


@dataclass(frozen=True)
class Draw:
    """Every method's answer with another draw of views, on the delivered picture."""

    seed: int
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Plane:
    """One class's cached views in the plane of its prompt's mean direction (axis 1) and theirs.

    ``before``, ``smallest``, ``svd`` (J, 2): where the views are, and where the two solutions of
    Procrustes put them; ``mean`` (2,) the views' mean direction; ``angle`` radians between the two
    directions; ``moved_*`` (J,) how far each view moved outside the plane, which no solution needs.
    Rows of the next two are before, smallest, svd: ``share`` (3, 2) of the views' variance about the
    origin along each axis, in [0, 1]; ``spread`` (3,) of their variance about their own mean in the
    plane, in [0, 1], 0 where they do not differ.
    """

    before: Array
    smallest: Array
    svd: Array
    mean: Array
    angle: float
    moved_smallest: Array
    moved_svd: Array
    share: Array
    spread: Array


@dataclass(frozen=True)
class MeasuredCell:
    """One line of ``tables --format csv``: a method's accuracy on part of a dataset, in percent.

    ``n`` different pictures: asked under several seeds, each still counts once. ``accuracy`` is the mean over all
    answers; ``low`` and ``high``: Wilson's 95 % interval for ``n`` pictures, in percent; ``budget`` in 1/255.
    """

    dataset: str
    backbone: str
    method: str
    attack: str
    budget: int
    steps: int
    protocol: str
    split: str
    accuracy: float
    n: int
    low: float
    high: float
    seeds: str
    settings: str


@dataclass(frozen=True)
class SampleOutcome:
    """What was measured on one worked example: CLIP's two answers and RITA's on the attacked picture.

    ``rita_margin``: of RITA's answer there (cosine distance; small = could be otherwise on another
    machine); ``budget`` in 1/255; ``weights`` begins the name of the model's weights.
    """

    sample: str
    label: str
    clip_clean: str
    clip_attacked: str
    ensemble_attacked: str
    rita_attacked: str
    rita_margin: float
    attack: str
    budget: int
    steps: int
    weights: str

    @property
    def kind(self) -> str:
        """``rescued``, ``fails`` (RITA too is fooled), ``not fooled`` or ``wrong from the start``."""
        if self.clip_clean != self.label:
            return "wrong from the start"
        if self.clip_attacked == self.label:
            return "not fooled"
        return "rescued" if self.rita_attacked == self.label else "fails"


@dataclass(frozen=True)
class Bracket:
    """Definition 14 on one picture: squared Wasserstein distances (K,) in [0, 4].

    ``lower <= exact <= upper``: ``lower`` is Theorem 1's ``mean_gap + bures``, ``exact`` twice the
    transport cost without blur (lambda -> 0, all mass moved; NaN where it was not computed), ``used``
    twice the cost RITA decided with (its own lambda, rho and view weights: it may lie outside).
    """

    lower: Array
    upper: Array
    mean_gap: Array
    bures: Array
    exact: Array
    used: Array
