"""Records of many pictures at once: measurements, streams, clouds of features. As in ``records``: frozen, numpy.

Axis letters as there: K classes, D dimensions; T pictures of a stream, E views that entered, n and P as said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rita_demo.records import Array, CacheState, MeasuredCell, TextBank


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured cell and the settings it was measured with: only those its method depends on."""

    cell: MeasuredCell
    knobs: dict[str, Any]


@dataclass(frozen=True)
class Sweep:
    """Accuracy against one setting, everything else alike: what an ablation draws.

    ``values`` of the setting, ascending, and the ``cells`` measured there; ``others`` the settings,
    as (name, value), in which this line differs from the other lines of the same setting.
    """

    knob: str
    values: tuple[Any, ...]
    cells: tuple[MeasuredCell, ...]
    others: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class PrintedCell:
    """One accuracy as the paper prints it, in percent; ``budget`` in 1/255, None where clean.

    ``remark`` says what is known to be wrong with it, empty when nothing is.
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
class Curve:
    """A method's accuracy as a stream went: ``right`` (T,) bool, each picture by itself; ``share``,
    ``low``, ``high`` (T,) in [0, 1]: of all pictures so far, with Wilson's 95 % interval."""

    right: Array
    share: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Entered:
    """The E views that entered a stream's memory, in order.

    ``picture`` (E,) which picture brought it, from 0; ``label`` (E,) the class it entered under;
    ``slot``, ``view`` (E,); ``entropy`` (E,) nats; ``true`` (E,) bool: that class is the picture's own.
    What the class held right afterwards: ``held`` (E,) views, ``pure`` (E,) those of them that are
    true, ``strength`` (E,) r_k = |sum of its features| / held.
    """

    picture: Array
    label: Array
    slot: Array
    view: Array
    entropy: Array
    true: Array
    held: Array
    pure: Array
    strength: Array


@dataclass(frozen=True)
class Course:
    """A stream of T pictures as it went, from its stored rows.

    ``names`` K classes; ``pictures`` T names; ``label`` (T,) true classes; ``attacked`` (T,) bool;
    ``answers`` method -> (T,) class, -1 where that method has no row yet; ``curves`` the same methods'
    accuracy. ``fill`` (T,) views held after each picture, of at most ``slots`` per class; ``purity``
    (T,) the share of them whose picture is of the class they lie under, NaN while there are none.
    ``seconds`` (T,) computing time of each picture; ``wanted`` pictures when finished.
    """

    names: tuple[str, ...]
    pictures: tuple[str, ...]
    label: Array
    attacked: Array
    answers: dict[str, Array]
    curves: dict[str, Curve]
    entered: Entered
    fill: Array
    purity: Array
    seconds: Array
    slots: int
    wanted: int


@dataclass(frozen=True)
class Held:
    """A stream's memory after a picture, per class: ``held`` and ``pure`` (K,) views, ``strength`` (K,)
    r_k, 0 where there are none; ``items`` the views that are there as (class, slot, number in ``Entered``)."""

    held: Array
    pure: Array
    strength: Array
    items: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Standing:
    """A method's accuracy on part of a stream (``all``, ``clean`` or ``attacked`` pictures): ``right`` of
    ``n``; ``share``, ``low``, ``high`` in [0, 1] with Wilson's 95 % interval, NaN when n is 0."""

    method: str
    part: str
    right: int
    n: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Cloud:
    """Many pictures as features, one attack, one memory filled by them in order. n pictures, V views.

    ``ids`` n names; ``label`` (n,) class of ``bank``; ``clean`` and ``attacked`` (n, D) the whole
    picture; ``views`` (n, V, D) random crops of the attacked picture (V of those the memory saw);
    ``memory`` the cache after the last picture, its ``born`` counting pictures from 0; ``thumbs``
    (n, s, s, 3) uint8 of the pictures as delivered, or None; ``title`` says what was attacked and how.
    ``whole`` says in plural what the delivered pictures are: where traffic was mixed or clean, ``attacked``
    and ``views`` are of pictures as they came.
    """

    title: str
    bank: TextBank
    ids: tuple[str, ...]
    label: Array
    clean: Array
    attacked: Array
    views: Array
    memory: CacheState
    thumbs: Array | None = None
    whole: str = "attacked pictures"


@dataclass(frozen=True)
class Marks:
    """A cloud as one list of P points: what is placed in the plane and drawn.

    ``kind`` (P,) one of ``analysis.KINDS``; ``picture`` (P,) which picture it came from, -1 for
    prompts; ``label`` (P,) the class it is coloured by (pictures and views: the true class; cached:
    the class it is filed under); ``number`` (P,) the view or slot; ``features`` (P, D) unit length.
    """

    kind: Array
    picture: Array
    label: Array
    number: Array
    features: Array
    whole: str = "attacked pictures"  # as of the cloud


@dataclass(frozen=True)
class Separation:
    """How well the classes of ``count`` points are apart in the original space, by cosine distance.

    ``silhouette`` in [-1, 1] (Rousseeuw 1987); ``purity`` in [0, 1]: the mean share of a point's
    ``neighbours`` nearest points *of other pictures* that have its class; ``chance`` what purity
    would be if classes were drawn at random. NaN where there are too few points.
    """

    what: str
    count: int
    silhouette: float
    purity: float
    neighbours: int
    chance: float


@dataclass(frozen=True)
class OneHot:
    """Definition 15 for the two kinds of features of a cloud: nats per class, NaN where there are none.

    ``original`` (K,) the pictures as delivered (``whole``, as of the cloud); ``cached`` (K,) the memory by the class it is filed under;
    ``cached_true`` (K,) the memory by the true class. ``medians`` of the three over the classes that
    have both, ``improved`` the share of these whose filed views are closer than the pictures, and
    ``improved_true`` the same by the true class.
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
    whole: str = "attacked pictures"
