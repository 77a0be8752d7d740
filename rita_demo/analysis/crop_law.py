"""How many crops may be wrong? Crops of the picture on screen are replaced by crops of other pictures, from stored
features: no model is called."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rita_demo.analysis.rules import LawPoint, law_point
from rita_demo.process.assets import ASSETS, reading_asset
from rita_demo.records import Array, Run
from rita_demo.views.boxes import area_fractions

#: Of the embedded model, written by ``python -m tools.story.bank``.
STORED = ASSETS / "measured" / "crop_bank.npz"
SHARES = np.arange(0, 101, 5)  # percent of the crops that are replaced
NEAREST = (0.35, 0.1)  # shares of the mass that the rules "nearest" keep
MOST_COSTS = 60_000_000  # draws times crops times classes of all points: more classes than 100 get fewer draws
CHUNK = 1 << 17  # costs that are sorted together


@dataclass(frozen=True)
class CropBank:
    """Crops of other pictures: P pictures of some sets, C crops of each."""

    features: Array  # (P, C, D) unit length
    weight: Array  # (P, C) each crop's weight before scaling: what it leaves out of its picture
    group: Array  # (P,) int, the set that a picture is of
    backbone: str  # the model's name
    weights: str  # its hash, "" if unknown

    def to_bytes(self) -> bytes:
        """A file of numbers; float16."""
        buffer = io.BytesIO()
        np.savez(
            buffer,
            features=np.asarray(self.features, np.float16),
            weight=np.asarray(self.weight, np.float16),
            group=np.asarray(self.group, np.uint8),
            backbone=np.array(self.backbone),
            weights=np.array(self.weights),
        )
        return buffer.getvalue()


@dataclass(frozen=True)
class LawCurve:
    """One kind of replacement at every share of :data:`SHARES`; S of them."""

    average: Array  # (S,) percent of the draws in which the mean probability is right
    balanced: Array  # (S,) the same for the mean cosine cost by the weights of the crops
    nearest_35: Array  # (S,) for the mean cost of each class's nearest 35 % of the mass
    nearest_10: Array  # (S,) of the nearest 10 %
    drop: Array  # (S,) mean fall of the right class's cosine in the replaced crops; NaN without replaced or kept ones
    rise: Array  # (S,) mean growth of the cosine of the class that is the best wrong one there, NaN likewise

    @property
    def partial_helps(self) -> Array:
        """(S,) bool: the law says that the nearest 35 % are better than the mean. False where it says nothing. Where more
        than 35 % are replaced it is no longer exact."""
        return (1 / NEAREST[0] - 1) * self.rise < self.drop


@dataclass(frozen=True)
class LawCurves:
    """What becomes of the answer as more and more crops are replaced."""

    shares: Array  # (S,) percent
    clutter: LawCurve  # each replaced crop is of another picture
    impostor: LawCurve  # all are of one
    attack: LawPoint | None  # what the run's own attack does; None: it turned no crop
    draws: int  # per share


def stored_bank(path: Path = STORED) -> CropBank:
    """The bank of the embedded model. Raises DataError: the file is missing or damaged."""
    reading = reading_asset("The stored crops of other pictures", "measured/crop_bank.npz")
    with reading, np.load(path, allow_pickle=False) as file:
        features = file["features"].astype(np.float32)
        features /= np.linalg.norm(features, axis=-1, keepdims=True)
        weight, group = file["weight"].astype(np.float32), file["group"]
        return CropBank(features, weight, group, str(file["backbone"]), str(file["weights"]))


def crop_weight(boxes: Array) -> Array:
    """(..., N) the weight of each crop (..., N, 4) before scaling: the share of the picture that it leaves out, at
    least 0.001 (``view_weight=area``)."""
    flat = area_fractions(np.asarray(boxes).reshape(-1, 4))
    return np.maximum(1 - flat, 1e-3).reshape(np.shape(boxes)[:-1])


def law_curves(run: Run, bank: CropBank | None, draws: int = 200, seed: int = 0) -> LawCurves | None:
    """The curves of the picture on screen without its attack; the right answer is the reference class.

    A draw replaces crops at random; every crop keeps the weight of its own box. Other pictures are those of the set of
    the bank that CLIP is surest of among the run's classes, without those it takes for the reference class. None: there
    is no bank of this model, or no other picture in it."""
    if bank is None or bank.backbone != run.backbone.name:
        return None
    views, prompts = run.clean.encoded_views, run.class_prompts
    text = np.einsum("kmd,km->kd", prompts.features, prompts.weight)
    others, weight = _others(bank, run)
    if not len(others):
        return None
    crops = np.concatenate([np.asarray(views.features), others.reshape(-1, others.shape[-1])])
    own = len(views.features)
    logits = crops @ prompts.template_features.T / prompts.temperature
    table = _Table(
        own=own,
        fit=(crops @ text.T).astype(np.float32),
        probability=_softmax(logits),
        mass=np.concatenate([crop_weight(views.views.boxes), weight.ravel()]).astype(np.float32),
    )
    draws = max(10, min(draws, MOST_COSTS // (2 * len(SHARES) * own * len(text))))
    clutter, impostor = (_curve(table, run.label, others.shape[:2], alone, draws, seed) for alone in (False, True))
    return LawCurves(SHARES, clutter, impostor, law_point(run, run.attacked), draws)


@dataclass(frozen=True)
class _Table:
    """Of all crops, first the ``own`` ones of the picture on screen: (N + P C, K) and (N + P C,)."""

    own: int
    fit: np.ndarray
    probability: np.ndarray
    mass: np.ndarray


def _others(bank: CropBank, run: Run) -> tuple[np.ndarray, np.ndarray]:
    prompts = run.class_prompts
    answers = _softmax(bank.features @ prompts.template_features.T / prompts.temperature)  # (P, C, K)
    groups = np.unique(bank.group)
    surest = groups[np.argmax([answers[bank.group == g].max(-1).mean() for g in groups])]
    used = (bank.group == surest) & (answers.mean(1).argmax(-1) != run.label)
    return bank.features[used], bank.weight[used]


def _curve(table: _Table, label: int, bank: tuple[int, ...], alone: bool, draws: int, seed: int) -> LawCurve:
    """``alone``: all replaced crops are of one picture."""
    random, columns = np.random.default_rng(seed), []
    for share in SHARES:
        replaced = round(share * table.own / 100)
        chosen = _draw(random, table.own, bank, replaced, alone, draws)
        columns.append([*_right(table, chosen, label), *_drop_and_rise(table, chosen, label)])
    return LawCurve(*np.array(columns).T)


def _draw(
    random: np.random.Generator, own: int, bank: tuple[int, ...], replaced: int, alone: bool, draws: int
) -> np.ndarray:
    """(draws, N) indices into the table, with ``replaced`` of them beyond the own crops."""
    pictures, crops = bank
    order = random.permuted(np.tile(np.arange(own), (draws, 1)), axis=1)
    which = random.integers(0, pictures, (draws, 1 if alone else replaced))
    foreign = own + which * crops + random.integers(0, crops, (draws, replaced))
    return np.concatenate([order[:, replaced:], foreign], 1)


def _right(table: _Table, chosen: np.ndarray, label: int) -> Iterator[float]:
    """Percent of the draws (draws, N) that each rule has right."""
    counts = _counts(chosen, len(table.mass))
    mass = counts * table.mass
    yield _percent((counts @ table.probability).argmax(1) == label)
    yield _percent((mass @ table.fit).argmax(1) == label)
    costs = _nearest(table, chosen, mass.sum(1))
    for cost in costs:
        yield _percent(cost.argmin(1) == label)


def _nearest(table: _Table, chosen: np.ndarray, mass: np.ndarray) -> list[np.ndarray]:
    """For each share of :data:`NEAREST` the mean cost (draws, K) of the nearest part of the mass of a draw.

    Cost and weight of a crop are the two halves of one number, and sorting that sorts the weights with the costs: costs
    are not negative, so that their bits are in their order."""
    draws, (size, classes) = chosen.shape, table.fit.shape
    both = np.empty((classes, size, 2), np.float32)
    both[..., 1], both[..., 0] = np.maximum(1 - table.fit.T, 0), table.mass
    packed = both.view(np.uint64)[..., 0]  # little-endian: the cost is the upper half
    values = [np.empty((draws[0], classes), np.float32) for _ in NEAREST]
    step = max(1, CHUNK // (draws[1] * classes))
    for start in range(0, draws[0], step):
        part = slice(start, start + step)
        picked = np.take(packed, chosen[part].ravel(), 1).reshape(classes, -1, draws[1])
        ordered = np.sort(picked, -1).view(np.float32).reshape(classes, -1, draws[1], 2)
        weight, cost = np.ascontiguousarray(ordered[..., 0]), ordered[..., 1]
        before = np.cumsum(weight, -1) - weight
        for share, into in zip(NEAREST, values):
            wanted = share * mass[part]
            taken = np.minimum(np.maximum(wanted[:, None] - before, 0), weight)
            into[part] = (np.einsum("kdn,kdn->kd", taken, cost) / wanted).T
    return values


def _drop_and_rise(table: _Table, chosen: np.ndarray, label: int) -> tuple[float, float]:
    """Means over the draws. The best wrong class of a draw is that of the mean of its replaced crops."""
    mass, own = _counts(chosen, len(table.mass)) * table.mass, np.arange(len(table.mass)) < table.own
    if not mass[:, own].any() or not mass[:, ~own].any():
        return np.nan, np.nan
    own_mean, replaced = (_mean(mass[:, part], table.fit[part]) for part in (own, ~own))
    growth, wrong = replaced - own_mean, replaced.copy()
    wrong[:, label] = -np.inf
    rise = np.take_along_axis(growth, wrong.argmax(1)[:, None], 1)
    return -float(growth[:, label].mean()), float(rise.mean())


def _mean(mass: np.ndarray, values: np.ndarray) -> np.ndarray:
    return mass @ values / mass.sum(1, keepdims=True)


def _counts(chosen: np.ndarray, size: int) -> np.ndarray:
    """(draws, size) how often each crop of the table is in a draw."""
    flat = chosen + size * np.arange(len(chosen))[:, None]
    return np.bincount(flat.ravel(), minlength=len(chosen) * size).reshape(len(chosen), size).astype(np.float32)


def _percent(right: np.ndarray) -> float:
    return 100 * float(right.mean())


def _softmax(logits: np.ndarray) -> np.ndarray:
    share = np.exp(logits - logits.max(-1, keepdims=True))
    return share / share.sum(-1, keepdims=True)
