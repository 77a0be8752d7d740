"""TEST DATA: random records of the right shapes. No model computed these numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rita_demo.records import (
    Alignment,
    AttackStepResult,
    AttackTrace,
    BackboneInfo,
    CacheState,
    CacheUpdate,
    ClassPrompts,
    Confidence,
    EncodedViews,
    ImageResult,
    MeasuredCell,
    Picture,
    Run,
    ThreatModel,
    Trace,
    Transport,
    Tuning,
    Verdict,
    ViewSeedResult,
    ViewSet,
)
from rita_demo.settings import RECOMMENDED, Settings

NAMES = (
    "cup",
    "crab",
    "mayfly",
    "water lilly",
    "wheelchair",
    "laptop",
    "stop sign",
    "umbrella",
    "<b>bold</b> & <a href='http://example.org'>link</a>",
    "🦀 crab with an emoji",
    "n" * 300,
    "%{x} ${alert(1)}",
    "panda",
    "lamp",
    "chair",
    "anchor",
)
TEMPLATES = ("a photo of a {}.", "a close-up of the {}.", "a good picture of one {}, cropped.", "{}.")


def measured_cell(accuracy: float, **changes: Any) -> MeasuredCell:
    """TEST DATA: RITA on 50 pictures under PGD-7 at 4/255."""
    cell = MeasuredCell(
        *("dtd", "embedded", "rita", "pgd", 4, 7, "stream", "val"), accuracy, 50, accuracy - 5, accuracy + 4, "0", "x"
    )
    return replace(cell, **changes)


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def plan_of(cost: np.ndarray, blur: float, mass: float) -> np.ndarray:
    """A plan (K, N, M) with rows at most 1/N, columns mass/M: plain Sinkhorn with an extra column."""
    classes, views, atoms = cost.shape
    wide = np.concatenate([cost, np.zeros((classes, views, 1))], 2)
    kernel = np.exp(-(wide - wide.min((1, 2), keepdims=True)) / blur)
    columns = np.append(np.full(atoms, mass / atoms), max(1 - mass, 1e-12))
    u = np.ones((classes, views))
    for _ in range(300):
        v = columns / np.einsum("kn,knm->km", u, kernel)
        u = (1 / views) / np.einsum("km,knm->kn", v, kernel)
    v = columns / np.einsum("kn,knm->km", u, kernel)
    return (u[:, :, None] * kernel * v[:, None])[:, :, :-1]


def transport_of(cost: np.ndarray, blur: float, mass: float) -> Transport:
    classes, views, atoms = cost.shape
    plan = plan_of(cost, blur, mass)
    return Transport(
        cost=cost,
        plan=plan,
        distance=(plan * cost).sum((1, 2)) / mass,
        row_weight=np.full((classes, views), 1 / views),
        column_weight=np.full((classes, atoms), mass / atoms),
        mass=mass,
        potentials=(np.zeros((classes, views)), np.zeros((classes, atoms))),
        residual=np.array([1e-2, 1e-7]),
        checks=np.array([1, 20]),
        converged=True,
        outcome="converged after 20 iterations",
    )


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def picture_of(rng: np.random.Generator, size: int = 64) -> Picture:
    yy, xx = np.mgrid[0:size, 0:size] / size
    waves = [np.sin(6 * xx + p) * np.cos(5 * yy - p) for p in rng.uniform(0, 6, 3)]
    return Picture((127 + 100 * np.stack(waves, -1)).astype(np.uint8), key="synthetic")


def image_result_of(rng: np.random.Generator, settings: Settings, pull: np.ndarray, single: np.ndarray) -> ImageResult:
    """One side whose views have the cosine 0.2 plus ``pull`` (K,) with the classes, view 0 plus ``single`` (K,)."""
    classes, views, atoms = len(NAMES), settings.views, settings.prompts
    cosine = 0.2 + 0.03 * rng.standard_normal((classes, views, 1)) + pull[:, None, None]
    cosine = cosine + 0.008 * rng.standard_normal((classes, views, atoms))
    cosine[:, 0] = (0.2 + single)[:, None]
    transport = transport_of(1 - cosine, settings.entropy_weight, settings.transported_mass)
    probability = softmax(cosine.mean(2).T / 0.01)
    entropy = -(probability * np.log(probability + 1e-12)).sum(1)
    confidence = Confidence(
        probability, entropy, probability.argmax(1), entropy <= settings.max_entropy, settings.max_entropy
    )
    cache_distance = 0.4 - pull + 0.02 * rng.standard_normal(classes)
    total = transport.distance + settings.cache_weight * cache_distance
    low = np.sort(total)
    answer = softmax(-total / ((1 + settings.cache_weight) * 0.01))
    rita = Verdict(int(total.argmin()), answer, float(low[1] - low[0]), "cosine distance")
    boxes = np.sort(rng.uniform(0, 1, (views, 2, 2)), axis=1).reshape(views, 4).astype(np.float32)
    boxes[0] = (0, 0, 1, 1)
    trace = Trace(
        np.zeros((views, 8)),
        0.5,
        0.05,
        confidence,
        np.full(views, 1 / views),
        Tuning(np.array([1.5, 1.4]), np.zeros((classes, atoms, 8)), np.zeros(atoms), np.ones(1)),
        unit(rng.standard_normal((classes, atoms, 8))),
        np.full((classes, atoms), 1 / atoms),
        transport,
        transport,
        empty_cache(),
        empty_alignment(),
        None,
        cache_distance,
        total,
        rita,
        CacheUpdate((), ()),
    )
    verdicts = {"clip": simple_verdict(probability[0]), "ensemble": simple_verdict(probability.mean(0)), "rita": rita}
    flipped = rng.random(views) < 0.5
    encoded_views = EncodedViews(ViewSet(boxes, flipped, 0), unit(rng.standard_normal((views, 8))), "glance")
    trace = replace(trace, view_features=encoded_views.features)
    return ImageResult(picture_of(rng), encoded_views, trace, verdicts)


def simple_verdict(probability: np.ndarray) -> Verdict:
    best = np.sort(probability)[::-1]
    return Verdict(int(probability.argmax()), probability, float(best[0] - best[1]), "probability")


def empty_cache() -> CacheState:
    k, j = len(NAMES), 3
    return CacheState(
        np.zeros((k, j, 8)),
        np.full((k, j), np.inf),
        np.full((k, j), -1),
        np.full((k, j), -1),
        np.zeros(k, int),
        0,
        "synthetic",
    )


def empty_alignment() -> Alignment:
    k = len(NAMES)
    return Alignment(np.zeros((k, 3, 8)), np.zeros(k), np.zeros(k), ("",) * k)


def make_run(seed: int = 0, settings: Settings = RECOMMENDED, attack: bool = True) -> Run:
    """TEST DATA: true class 0; after the attack CLIP answers class 1 and RITA class 0."""
    rng = np.random.default_rng(seed)
    classes = len(NAMES)
    clean_pull = 0.01 * rng.standard_normal(classes)
    clean_pull[0] = 0.09
    attacked_pull = clean_pull - 0.02
    attacked_pull[1] = clean_pull[0] - 0.045
    single = clean_pull.copy()
    single[1] = single[0] + 0.05
    clean = image_result_of(rng, settings, clean_pull, clean_pull)
    attacked = image_result_of(rng, settings, attacked_pull, single) if attack else clean
    prompts = tuple(tuple(TEMPLATES[m % 4].format(n) for m in range(settings.prompts)) for n in NAMES)
    class_prompts = ClassPrompts(
        NAMES,
        prompts,
        unit(rng.standard_normal((classes, settings.prompts, 8))),
        np.full((classes, settings.prompts), 1 / settings.prompts),
        unit(rng.standard_normal((classes, 8))),
        ((),) * classes,
        0.01,
        "synthetic",
    )
    return Run(
        class_prompts,
        settings,
        BackboneInfo("synthetic", "Test data", 0, 112, 8, "cpu", "float32", 100.0),
        clean,
        attacked,
        attack_of(clean, attacked, settings) if attack else None,
        0,
        True,
        ThreatModel("pgd", 4, 7, 0, "picture", 64, "away", (), (), ()),
        empty_cache(),
        empty_cache(),
    )


def attack_of(clean: ImageResult, attacked: ImageResult, settings: Settings) -> AttackTrace:
    steps = settings.steps
    share = np.linspace(0, 1, steps + 1)[:, None] ** 0.5
    logits = [np.log(s.verdicts["clip"].probability + 1e-9) for s in (clean, attacked)]
    probability = softmax((1 - share) * logits[0] + share * logits[1])
    return AttackTrace(
        "pgd",
        attacked.picture.pixels,
        np.repeat(attacked.picture.pixels[None], steps + 1, 0),
        -np.log(probability[:, 0]),
        probability,
        0,
        None,
        settings.budget,
        4.0,
        1.2,
        True,
        False,
    )


def make_attack_steps(run: Run, seed: int = 1) -> list[AttackStepResult]:
    """TEST DATA: every method's answer moving from the clean to the attacked side."""
    frames = []
    steps = 0 if run.attack is None else len(run.attack.loss) - 1
    for step in range(steps + 1):
        share = (step / max(steps, 1)) ** 0.5
        verdicts = {}
        for method in ("clip", "ensemble", "rita"):
            ends = [np.log(s.verdicts[method].probability + 1e-9) for s in (run.clean, run.attacked)]
            verdicts[method] = simple_verdict(softmax((1 - share) * ends[0] + share * ends[1]))
        frames.append(AttackStepResult(step, replace(run.attacked, verdicts=verdicts)))
    return frames


def make_view_seed_results(run: Run, n: int = 10, seed: int = 2) -> list[ViewSeedResult]:
    """TEST DATA: the attacked side's answers with noise for each seed."""
    rng = np.random.default_rng(seed)
    draws = []
    for number in range(n):
        verdicts = {"clip": run.attacked.verdicts["clip"]}
        for method, noise in (("ensemble", 1.5), ("rita", 0.8)):
            logits = np.log(run.attacked.verdicts[method].probability + 1e-9)
            verdicts[method] = simple_verdict(softmax(logits + noise * rng.standard_normal(logits.size)))
        draws.append(ViewSeedResult(number, verdicts))
    return draws
