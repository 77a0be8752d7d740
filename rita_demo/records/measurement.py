"""Records of many pictures: measurements, streams, clouds of features. Frozen, with numpy arrays.

Axes as in ``records``; T pictures of a stream, E views inserted into the cache, n and P as stated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rita_demo.records import Array, CacheState, ClassPrompts


@dataclass(frozen=True)
class AblationPoint:
    """A measured cell and the settings it was measured with: only those its method depends on."""

    cell: MeasuredCell
    settings: dict[str, Any]


@dataclass(frozen=True)
class AblationSweep:
    """Accuracy against one setting, everything else equal.

    ``values`` of the setting, ascending, and the ``cells`` measured there; ``others``: the settings, as (name, value),
    in which this line differs from the other lines of the same setting.
    """

    setting: str
    values: tuple[Any, ...]
    cells: tuple[MeasuredCell, ...]
    others: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class AccuracyChart:
    """Measured accuracies as groups of bars: ``groups`` are their names, ``axis`` what they are, ``series`` maps the name of
    a bar to its cell in each group, None where nothing was measured; ``description``: what all cells share, as text."""

    description: str
    axis: str
    groups: tuple[str, ...]
    series: dict[str, tuple[MeasuredCell | None, ...]]


@dataclass(frozen=True)
class RunTime:
    """Median seconds per picture: ``views`` for cutting and encoding them, ``own`` for the method itself; ``n`` pictures."""

    method: str
    views: float
    own: float
    n: int


@dataclass(frozen=True)
class PaperResult:
    """One accuracy of the paper's tables, in percent; ``budget`` in 1/255, None for clean.

    ``remark``: what is known to be wrong with it, or "".
    """

    table: str
    backbone: str
    method: str
    dataset: str
    attack: str
    budget: int | None
    accuracy: float
    remark: str = ""


@dataclass(frozen=True)
class AccuracyCurve:
    """A method's accuracy along a stream: ``right`` (T,) bool per picture; ``accuracy``, ``low``, ``high`` (T,) in
    [0, 1] over all pictures so far, with Wilson's 95 % interval."""

    right: Array
    accuracy: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class CacheInsertions:
    """The E views inserted into a stream's cache, in order.

    ``picture`` (E,) index of its picture; ``label`` (E,) the class it was inserted under; ``slot``, ``view`` (E,);
    ``entropy`` (E,) nats; ``correct`` (E,) bool: ``label`` is the picture's true class. Of that class right afterwards:
    ``count`` (E,) items, ``correct_count`` (E,) of them correct, ``resultant_length`` (E,) r_k = |sum of features| /
    count.
    """

    picture: Array
    label: Array
    slot: Array
    view: Array
    entropy: Array
    correct: Array
    count: Array
    correct_count: Array
    resultant_length: Array


@dataclass(frozen=True)
class RememberedView:
    """A view that entered a stream's cache. ``id``: its place in :class:`CacheInsertions`, which names it for good.

    ``picture``: index of its picture in the stream, ``name`` the picture's, ``truth`` its true class, ``attacked``
    whether it arrived attacked; ``label``, ``slot``, ``view``, ``entropy`` as in :class:`CacheInsertions`.
    ``replaced``: id of the view that left for it and ``gain`` by how many nats its entropy is lower, > 0; both None
    where a place was free. ``replaced_by``: id of the view that it left for, ``left``: index of the picture that
    brought that; both None while it is held.
    """

    id: int
    picture: int
    name: str
    truth: int
    attacked: bool
    label: int
    slot: int
    view: int
    entropy: float
    replaced: int | None
    gain: float | None
    replaced_by: int | None
    left: int | None


@dataclass(frozen=True)
class DifferentAnswer:
    """A picture of a stream (its index, its name) that two decisions answer differently; classes as indices."""

    picture: int
    name: str
    label: int
    first: int
    second: int


@dataclass(frozen=True)
class AnswerComparison:
    """Two decisions on the same ``n`` pictures: ``gained`` are right only with the first, ``lost`` only with the second;
    ``p_value`` of McNemar's exact test; ``different``: the pictures with two different answers, in order."""

    n: int
    gained: int
    lost: int
    p_value: float
    different: tuple[DifferentAnswer, ...]


@dataclass(frozen=True)
class CacheComparison:
    """Two caches: the views in ``both`` (as the first has them) and in one only; of the first and the second ``purity``
    (share under their true class) and mean ``entropy`` in nats, NaN for an empty one."""

    both: tuple[RememberedView, ...]
    only_first: tuple[RememberedView, ...]
    only_second: tuple[RememberedView, ...]
    purity: tuple[float, float]
    entropy: tuple[float, float]


@dataclass(frozen=True)
class StreamTrajectory:
    """A stream of T pictures, from its stored rows.

    ``names``: K classes; ``pictures``: T names; ``label`` (T,) true classes; ``attacked`` (T,) bool; ``answers``: method
    -> (T,) class, -1 where there is no row yet; ``curves``: their accuracy; ``cache_size`` (T,) items after each
    picture, at most ``slots`` per class; ``purity`` (T,): fraction of them under the true class of their picture, NaN
    without items; ``mean_entropy`` (T,) of them in nats, likewise; ``seconds`` (T,) computing time; ``expected_pictures``: T of the finished stream.
    """

    names: tuple[str, ...]
    pictures: tuple[str, ...]
    label: Array
    attacked: Array
    answers: dict[str, Array]
    curves: dict[str, AccuracyCurve]
    insertions: CacheInsertions
    cache_size: Array
    purity: Array
    mean_entropy: Array
    seconds: Array
    slots: int
    expected_pictures: int


@dataclass(frozen=True)
class CacheStats:
    """A stream's cache after a picture: ``count``, ``correct_count`` (K,) items, ``resultant_length`` (K,) r_k (0 without
    items); ``items``: those present as (class, slot, index in ``CacheInsertions``)."""

    count: Array
    correct_count: Array
    resultant_length: Array
    items: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class AccuracySummary:
    """A method's accuracy on the ``all``, ``clean`` or ``attacked`` pictures of a stream: ``right`` of ``n``;
    ``accuracy``, ``low``, ``high`` in [0, 1] with Wilson's 95 % interval, NaN when n is 0."""

    method: str
    subset: str
    right: int
    n: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class FeatureCloud:
    """n pictures as features under one attack, and one cache filled by them in order. V views per picture.

    ``ids``: n names; ``label`` (n,) class index; ``clean`` and ``attacked`` (n, D): the whole picture; ``views``
    (n, V, D): crops of the attacked picture; ``cache``: after the last picture, its ``born`` counts pictures from 0;
    ``thumbs`` (n, s, s, 3) uint8 of the delivered pictures, or None; ``title``: what was attacked and how;
    ``pictures_name``: plural name of the delivered pictures. With mixed or clean traffic ``attacked`` and ``views`` are
    of the pictures as delivered. ``dataset`` and ``ids`` find a picture again; ``settings`` and
    ``seeds`` (n) repeat its attack and its views.
    """

    title: str
    class_prompts: ClassPrompts
    ids: tuple[str, ...]
    label: Array
    clean: Array
    attacked: Array
    views: Array
    cache: CacheState
    thumbs: Array | None = None
    pictures_name: str = "attacked pictures"
    dataset: str = ""
    settings: Any = None  # rita_demo.settings.Settings
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class CloudPoints:
    """A cloud as one list of P points.

    ``kind`` (P,) one of ``analysis.KINDS``; ``picture`` (P,) index of its picture, -1 for prompts; ``label`` (P,) the
    class of its colour (pictures and views: the true class; cached: the class it is stored under); ``index`` (P,) the
    view or slot; ``features`` (P, D) unit length.
    """

    kind: Array
    picture: Array
    label: Array
    index: Array
    features: Array
    pictures_name: str = "attacked pictures"  # as of the cloud


@dataclass(frozen=True)
class Separability:
    """How far the classes of ``count`` points are apart, by cosine distance in the original space.

    ``silhouette`` in [-1, 1] (Rousseeuw 1987); ``purity`` in [0, 1]: the mean fraction of a point's ``neighbours``
    nearest points *of other pictures* with its class; ``chance``: the purity of random classes. NaN with too few points.
    """

    points_name: str
    count: int
    silhouette: float
    purity: float
    neighbours: int
    chance: float


@dataclass(frozen=True)
class KlToOneHot:
    """Definition 15 for two kinds of features of a cloud: nats per class, NaN where there are none.

    ``original`` (K,) the delivered pictures (``pictures_name``); ``cached`` (K,) the cache by the class of the slot;
    ``cached_true`` (K,) the cache by the true class. ``medians`` of the three over the classes that have both;
    ``improved``: fraction of these classes whose cached views are closer than the pictures; ``improved_true``: the same
    by the true class.
    """

    names: tuple[str, ...]
    original: Array
    cached: Array
    cached_true: Array
    medians: tuple[float, float, float]
    improved: float
    improved_true: float
    classes: int
    classes_true: int
    pictures_name: str = "attacked pictures"


@dataclass(frozen=True)
class MeasuredCell:
    """One line of ``tables --format csv``: a method's accuracy on part of a dataset, in percent.

    ``n`` different pictures; with several seeds each still counts once. ``accuracy``: the mean over all answers;
    ``low``, ``high``: Wilson's 95 % interval for ``n`` pictures; ``budget`` in 1/255. ``class_names``: number of names
    asked, and ``version``: of this package, as rows say; None and "" where a file does not say.
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
    class_names: int | None = field(default=None, kw_only=True, compare=False)
    version: str = field(default="", kw_only=True, compare=False)

    @property
    def attack_text(self) -> str:
        """The attack with its budget, such as "pgd 4/255"."""
        if self.attack == "none":
            return "no attack"
        return f"{self.attack} {self.budget}/255" if self.budget else self.attack


@dataclass(frozen=True)
class SampleOutcome:
    """What was measured on one sample: CLIP's two answers, Ensemble's and RITA's on the attacked picture.

    ``rita_margin``: of RITA's answer (cosine distance; a small one may differ on another machine); ``budget`` in 1/255;
    ``weights``: the first letters of the hash of the model's weights.
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
