"""The cache of confident views."""

from dataclasses import dataclass

from rita_demo.records.arrays import Array


@dataclass(frozen=True)
class CacheState:
    """The cache as a value. The slots of a class are filled from 0; ``count`` (K,) are filled.

    ``features`` (K, J, D), zeros where empty; ``entropy`` (K, J) nats, +inf where empty; ``born`` (K, J) int: the index
    of the picture that added the item, -1 where empty; ``view`` (K, J) int: which of its views; ``pictures``: number of
    pictures so far; ``key`` names model and classes.
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
class Alignment:
    """Definition 10: ``aligned`` (K, J, D) = X_k W_k, unit rows, zeros where empty.

    ``resultant_length`` (K,): r_k = |sum of cached features| / count (0 when empty); ``angle`` (K,) radians between the
    mean direction and zbar_k; ``notes``: K sentences, empty unless something was degenerate.
    """

    aligned: Array
    resultant_length: Array
    angle: Array
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ProcrustesPlane:
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
