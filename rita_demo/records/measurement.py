"""Records of many pictures: measurements, streams, clouds of features. Frozen, with numpy arrays.

Axes as in ``records``; T pictures of a stream, E views inserted into the cache, n and P as stated.
"""

from dataclasses import dataclass, field
from typing import Any

from rita_demo.records.decision import Array, CacheState, ClassPrompts
from rita_demo.records.json_value import JsonValue

#: Cache protocol -> what becomes of the memory between pictures.
MEMORY_TEXT = {"off": "without memory", "reset": "memory reset", "stream": "memory kept"}
EARLIER_ATTACK = "earlier attack"  # in the column ``version`` of shipped numbers: their attacker was replaced since


def method_and_memory(name: str) -> tuple[str, str]:
    """The method that a stream calls ``name``, and the protocol of its memory where that is not kept: ("rita", "off") of
    ``rita:off``, ("rita", "") of ``rita``."""
    method, _, protocol = name.rpartition(":")
    return (method, protocol) if method and protocol in MEMORY_TEXT else (name, "")


@dataclass(frozen=True)
class MeasuredCell:
    """One line of ``tables --format csv``: a method's accuracy on part of a dataset, in percent."""

    dataset: str
    backbone: str
    method: str
    attack: str
    budget: int  # in 1/255
    steps: int
    protocol: str
    split: str
    accuracy: float  # the mean over all answers
    n: int  # different pictures; with several seeds each still counts once
    low: float  # Wilson's 95 % interval for n pictures
    high: float
    seeds: str
    settings: str
    class_names: int | None = field(default=None, kw_only=True, compare=False)  # number of names asked
    version: str = field(default="", kw_only=True, compare=False)  # of this package; None and "" where it is not known
    title: str = field(default="", kw_only=True, compare=False)  # of the method; "" where it is not known
    missing: int = field(default=0, kw_only=True, compare=False)  # answers that it lacks; 0 of a finished cell

    @property
    def by_earlier_attack(self) -> bool:
        """Whether an attacker made it that was replaced since."""
        return self.version == EARLIER_ATTACK

    @property
    def protocol_text(self) -> str:
        """What became of the memory between pictures, such as "memory kept"."""
        return MEMORY_TEXT.get(self.protocol, self.protocol)

    @property
    def attack_text(self) -> str:
        """The attack with its budget, such as "pgd 4/255"."""
        if self.attack == "none":
            return "no attack"
        return f"{self.attack} {self.budget}/255" if self.budget else self.attack


@dataclass(frozen=True)
class AblationPoint:
    """A measured cell and the settings it was measured with: only those its method depends on."""

    cell: MeasuredCell
    settings: dict[str, JsonValue]


@dataclass(frozen=True)
class AblationSweep:
    """Accuracy against one setting, everything else equal."""

    setting: str
    values: tuple[JsonValue, ...]  # ascending
    cells: tuple[MeasuredCell, ...]  # measured there
    others: tuple[tuple[str, JsonValue], ...] = ()  # (name, value): how this line differs from the setting's others


@dataclass(frozen=True)
class AccuracyChart:
    """Measured accuracies as groups of bars."""

    description: str  # what all cells share, as text
    axis: str  # what the groups are
    groups: tuple[str, ...]
    series: dict[str, tuple[MeasuredCell | None, ...]]  # a bar's name -> its cell in each group, None if not measured
    left_out: tuple[str, ...] = ()  # groups that are not drawn, since one method alone was measured

    @property
    def left_out_text(self) -> str:
        """A sentence on what is not drawn; "" where all is."""
        return f"Not drawn, since one method alone was measured: {'; '.join(self.left_out)}." if self.left_out else ""


@dataclass(frozen=True)
class RunTime:
    """Median seconds per picture: ``views`` for cutting and encoding them, ``own`` for the method itself; ``n`` pictures,
    cut into ``view_count`` views, 0 where that is not known."""

    method: str
    views: float
    own: float
    n: int
    title: str = ""  # of a method that is not loaded
    view_count: int = 0


@dataclass(frozen=True)
class PaperResult:
    """One accuracy of the paper's tables, in percent."""

    table: str
    backbone: str
    method: str
    dataset: str
    attack: str
    budget: int | None  # in 1/255, None for clean
    accuracy: float
    remark: str = ""  # what is known to be wrong with it


@dataclass(frozen=True)
class DetectorRow:
    """What a threshold on the distance of the whole picture's feature from the weighted mean of its crops' finds."""

    attack: str
    budget: int  # in 1/255
    split: str
    threshold: float
    clean: int  # pictures, and those of them at or above the threshold
    false_alarms: int
    attacked: int
    hits: int
    weights: str  # the first digits of the hash of the model's weights


#: The parts of RITA, one added after the other: fields of :class:`LadderRow`.
LADDER = ("clip", "ensemble", "ensemble_area", "rita", "memory")


@dataclass(frozen=True)
class LadderRow:
    """One attacked picture: 1 for every part of RITA that has it right, else 0. ``memory``: RITA with its memory kept."""

    dataset: str
    picture: str
    clip: int
    ensemble: int
    ensemble_area: int
    rita: int
    memory: int


@dataclass(frozen=True)
class AccuracyCurve:
    """A method's accuracy along a stream: over all pictures so far, in [0, 1], with Wilson's 95 % interval."""

    right: Array  # (T,) bool per picture
    accuracy: Array  # (T,)
    low: Array
    high: Array


@dataclass(frozen=True)
class RememberedView:
    """A view that entered a memory. Indices are of pictures in the order of arrival."""

    id: int  # its place in the order of entering, which names it for good
    picture: int
    name: str  # the picture's
    truth: int  # the picture's true class, -1 where that is not known
    attacked: bool | None  # whether the picture arrived attacked, None where that is not known
    label: int  # the class it was inserted under
    slot: int
    view: int
    entropy: float  # nats
    count: int = 0  # of a stream: views of that class right afterwards,
    correct_count: int = 0  # those of them under their true class,
    resultant_length: float = 0.0  # and r_k = |sum of their features| / count
    replaced: int | None = None  # id of the view that left for it, None where a place was free
    gain: float | None = None  # by how many nats its entropy is lower, > 0, likewise
    replaced_by: int | None = None  # id of the view that it left for, None while it is held
    left: int | None = None  # index of the picture that brought that, likewise


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
    """Two decisions on the same ``n`` pictures."""

    n: int
    gained: int  # right only with the first
    lost: int  # right only with the second
    p_value: float  # of McNemar's exact test
    different: tuple[DifferentAnswer, ...]  # pictures with two different answers, in order


@dataclass(frozen=True)
class StreamTrajectory:
    """A stream of T pictures, from its stored rows."""

    names: tuple[str, ...]  # K classes
    pictures: tuple[str, ...]  # T names
    label: Array  # (T,) true classes
    attacked: Array  # (T,) bool
    answers: dict[str, Array]  # method -> (T,) class, -1 where there is no row yet
    curves: dict[str, AccuracyCurve]
    titles: dict[str, str]  # method -> its title, the stored one where it is not loaded, in the order of the tables
    insertions: tuple[RememberedView, ...]  # every view that entered the cache, in order
    cache_size: Array  # (T,) items after each picture
    purity: Array  # (T,) fraction of them under the true class of their picture, NaN without items
    mean_entropy: Array  # (T,) of them in nats, likewise
    seconds: Array  # (T,) computing time
    slots: int  # most items of a class
    expected_pictures: int  # T of the finished stream


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
    """n pictures as features under one attack, and one cache filled by them in order; V views per picture. With mixed or
    clean traffic ``attacked`` and ``views`` are of the pictures as delivered."""

    title: str  # what was attacked and how
    class_prompts: ClassPrompts
    ids: tuple[str, ...]  # n names, which find the pictures in ``dataset`` again
    label: Array  # (n,) class index
    clean: Array  # (n, D) the whole picture
    attacked: Array  # (n, D)
    views: Array  # (n, V, D) crops of the attacked picture
    cache: CacheState  # after the last picture; ``born`` counts pictures from 0
    thumbs: Array | None = None  # (n, s, s, 3) uint8 of the delivered pictures
    pictures_name: str = "attacked pictures"  # plural name of the delivered pictures
    dataset: str = ""
    settings: Any = None  # rita_demo.settings.Settings; with a seed (n) they repeat a picture's attack and its views
    seeds: tuple[int, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The K class names."""
        return self.class_prompts.names


@dataclass(frozen=True)
class CloudPoints:
    """A cloud as one list of P points."""

    kind: Array  # (P,) one of ``analysis.KINDS``
    picture: Array  # (P,) index of its picture, -1 for prompts
    label: Array  # (P,) class of its colour (pictures and views: the true class; cached: the one it is stored under)
    index: Array  # (P,) the view or slot
    features: Array  # (P, D) unit length
    pictures_name: str = "attacked pictures"  # as of the cloud


@dataclass(frozen=True)
class Separability:
    """How far the classes of points are apart, by cosine distance in the original space. NaN with too few points."""

    points_name: str
    count: int
    silhouette: float  # in [-1, 1] (Rousseeuw 1987)
    purity: float  # in [0, 1]: mean fraction of a point's nearest points *of other pictures* with its class
    neighbours: int  # how many of them
    chance: float  # the purity of random classes


@dataclass(frozen=True)
class KlToOneHot:
    """Definition 15 for two kinds of features of a cloud: nats per class, NaN where there are none."""

    names: tuple[str, ...]
    original: Array  # (K,) the delivered pictures
    cached: Array  # (K,) the cache by the class of the slot
    cached_true: Array  # (K,) the cache by the true class
    medians: tuple[float, float, float]  # of the three over the classes that have both
    improved: float  # fraction of these classes whose cached views are closer than the pictures
    improved_true: float  # the same by the true class
    classes: int
    classes_true: int
    pictures_name: str = "attacked pictures"


@dataclass(frozen=True)
class PlacedCloud:
    """A cloud with everything that is computed from it once. ``coordinates`` maps "PCA" and, when it is ready, "UMAP" to
    (P, 2); ``captions`` maps the same to a sentence on the projection. ``stored``: it comes with this project."""

    cloud: FeatureCloud
    points: CloudPoints
    coordinates: dict[str, Array]
    captions: dict[str, str]
    kl_to_one_hot: KlToOneHot
    separability: tuple[Separability, ...] = ()
    stored: bool = False


@dataclass(frozen=True)
class SampleOutcome:
    """What was measured on one sample: CLIP's two answers, Ensemble's and RITA's on the attacked picture."""

    sample: str
    label: str
    clip_clean: str
    clip_attacked: str
    ensemble_attacked: str
    rita_attacked: str
    rita_margin: float  # of RITA's answer (cosine distance; a small one may differ on another machine)
    attack: str
    budget: int  # in 1/255
    steps: int
    weights: str  # the first letters of the hash of the model's weights

    @property
    def kind(self) -> str:
        """``rescued``, ``fails`` (RITA too is fooled), ``not fooled`` or ``wrong from the start``."""
        if self.clip_clean != self.label:
            return "wrong from the start"
        if self.clip_attacked == self.label:
            return "not fooled"
        return "rescued" if self.rita_attacked == self.label else "fails"
