"""TEST DATA: the toy engine's runs with hostile class names, and records made from them."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.records import AttackStepResult, MeasuredCell, Run, Verdict
from rita_demo.records.measurement import AblationPoint, AccuracyCurve, RememberedView, StreamTrajectory
from rita_demo.settings import RECOMMENDED, Settings
from tests.toy_model import ToyEngine

HOSTILE = (
    "<b>bold</b> & <a href='http://example.org'>link</a>",
    "🦀 crab with an emoji",
    "n" * 300,
    "%{x} ${alert(1)}",
)
NAMES = ("cup", HOSTILE[0], "mayfly", "water lilly", "wheelchair", "laptop", "stop sign", "umbrella", *HOSTILE[1:])
NAMES += ("crab", "panda", "lamp", "chair", "anchor")


def measured_cell(accuracy: float, **changes: Any) -> MeasuredCell:
    """TEST DATA: RITA on 50 pictures under PGD-7 at 4/255."""
    cell = MeasuredCell(
        *("dtd", "embedded", "rita", "pgd", 4, 7, "stream", "val"), accuracy, 50, accuracy - 5, accuracy + 4, "0", "x"
    )
    return replace(cell, **changes)


def ablation_point(accuracy: float, method: str = "rita", backbone: str = "embedded", **changes: Any) -> AblationPoint:
    """TEST DATA: such a cell with the recommended settings, but for ``changes`` of its columns and its settings."""
    columns = {"attack": "pgd", "budget": 4, "protocol": "stream"} | changes
    cell = {name: columns[name] for name in ("attack", "budget", "protocol")}
    settings = RECOMMENDED.as_dict() | columns if method == "rita" else {}
    return AblationPoint(measured_cell(accuracy, method=method, backbone=backbone, **cell), settings)


def printed_pair(attack: str, budget: int) -> SimpleNamespace:
    """TEST DATA: what the paper prints, beside what was measured."""
    about = {"method": "RITA", "printed": 40.1, "backbone": "ViT-B/32", "model": "embedded"}
    return SimpleNamespace(**about, attack=attack, budget=budget, cell=measured_cell(70))


def make_trajectory(without_memory: bool = False) -> StreamTrajectory:
    """TEST DATA: four pictures of ten; the second view is remembered under a wrong class."""
    right = {"clip": [False, True, False, False], "rita": [True, True, False, True]}
    answers, titles = {"clip": np.array([1, 2, 1, 0]), "rita": np.array([0, 2, 1, 1])}, {"clip": "CLIP", "rita": "RITA"}
    if without_memory:
        right["rita:off"], answers["rita:off"] = [True, False, False, False], answers["clip"]
        titles["rita:off"] = "RITA, without memory"
    shares = {name: np.cumsum(one) / np.arange(1, 5) for name, one in right.items()}
    return StreamTrajectory(
        names=("cat", "<b>dog</b>", "cup"),
        pictures=("a", "b", "c", "d"),
        label=np.array([0, 2, 0, 1]),
        attacked=np.array([False, True, False, True]),
        answers=answers,
        curves={n: AccuracyCurve(np.array(right[n]), share, share - 0.1, share + 0.2) for n, share in shares.items()},
        titles=titles,
        insertions=(
            RememberedView(0, 0, "a", 0, False, 0, 0, 5, 0.1, 1, 1, 1.0),
            RememberedView(1, 1, "b", 2, True, 1, 0, 0, 0.9, 1, 0, 1.0),
            RememberedView(2, 3, "d", 1, True, 1, 1, 63, 0.4, 2, 1, 0.8),
        ),
        cache_size=np.array([1, 2, 2, 3]),
        purity=np.array([1.0, 0.5, 0.5, 2 / 3]),
        mean_entropy=np.array([0.1, 0.5, 0.5, 1.4 / 3]),
        seconds=np.ones(4),
        slots=2,
        expected_pictures=10,
    )


def verdict(logits: np.ndarray) -> Verdict:
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return Verdict(int(p.argmax()), p, float(np.diff(np.sort(p))[-1]), "probability")


def make_run(seed: int = 0, settings: Settings = RECOMMENDED, attack: bool = True) -> Run:
    """TEST DATA: true class 0; after the attack CLIP answers class 1 and RITA class 0. The memory holds views."""
    engine, picture = ToyEngine(*NAMES[:2], spread=0.2), SAMPLES["motorcycle"].load(square="model", side=64)
    settings = settings.replace(view_seed=seed, attack=settings.attack if attack else "none")
    first = run_picture(engine, picture, NAMES, settings.replace(view_seed=seed + 1), label=0)
    return run_picture(engine, picture, NAMES, settings, label=0, cache=first.cache_after)


def make_attack_steps(run: Run) -> list[AttackStepResult]:
    """TEST DATA: every method's answer moving from the clean to the attacked side."""
    frames = []
    for step, share in enumerate(np.linspace(0, 1, len(run.attack.loss)) ** 0.5):
        verdicts = {}
        for method in ("clip", "ensemble", "rita"):
            clean, attacked = (np.log(s.verdicts[method].probability + 1e-9) for s in (run.clean, run.attacked))
            verdicts[method] = verdict((1 - share) * clean + share * attacked)
        frames.append(AttackStepResult(step, replace(run.attacked, verdicts=verdicts)))
    return frames
