"""The law in pixels: crops of a picture are replaced by crops of other pictures before they are encoded, and the engine
answers as it is.

``python -m tools.story.pixels --data-root DATA --dataset caltech101 --split test --limit 50`` prints percent right. ``clutter``:
each replaced crop is of another picture; ``impostor``: all are of one, of another class.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect, picture_seed
from rita_demo.records import ClassPrompts, EncodedViews, Verdict
from rita_demo.records.intervals import wilson
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.vlm.registry import load

CASES = (("clutter", 80), ("clutter", 90), ("impostor", 30), ("impostor", 70))  # percent of the crops
MASSES = {"balanced": 1.0, "nearest 35 %": 0.35, "nearest 10 %": 0.1}  # RITA's transported mass
SETTINGS = RECOMMENDED.replace(square="model", protocol="off", tuning_steps=0)


def replaced(crops: np.ndarray, kind: str, share: int, n: int, other: int, random: np.random.Generator) -> np.ndarray:
    """The crops (N, S, S, 3) of picture ``n`` of (P, N, S, S, 3) with ``share`` percent of them replaced: by those of
    picture ``other``, or each by that of any other picture, in the same box."""
    mine = crops[n].copy()
    at = random.permutation(len(mine))[: round(share * len(mine) / 100)]
    others = np.delete(np.arange(len(crops)), n)
    sources = np.full(len(at), other) if kind == "impostor" else random.choice(others, len(at))
    mine[at] = crops[sources, at]
    return mine


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--dataset", default="caltech101")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=50)
    asked, backbone = parser.parse_args(), load("embedded")
    engine, random = Engine(backbone), np.random.default_rng(0)
    chosen = collect(asked.dataset, asked.data_root, asked.split, limit=asked.limit, allow_partial=True)
    prompts, labels = engine.encode_classes(chosen.names, SETTINGS), [item.label for item in chosen.items]
    opened = [open_picture(item.source(), square="model", side=engine.info.side) for item in chosen.items]
    seeds = [SETTINGS.replace(view_seed=picture_seed(0, item)) for item in chosen.items]
    crops = np.stack([engine.view_pixels(picture, own) for picture, own in zip(opened, seeds)])
    right = {case: dict.fromkeys(("average", *MASSES), 0) for case in CASES}
    for n, (picture, own) in enumerate(zip(opened, seeds)):
        views = engine.encode_views(picture, own)
        for kind, share in CASES:
            other = random.choice([m for m, label in enumerate(labels) if label != labels[n]])
            mixed = torch.from_numpy(replaced(crops, kind, share, n, int(other), random)).permute(0, 3, 1, 2)
            features = backbone.encode_views(mixed.float() / 255).numpy()
            for name, label in answers(engine, replace(views, features=features), prompts, own).items():
                right[kind, share][name] += label == labels[n]
    print("percent right | " + " | ".join(("average", *MASSES)))
    for (kind, share), counts in right.items():
        ends = [(count / len(labels), *wilson(count, len(labels))) for count in counts.values()]
        cells = [f"{100 * mean:.0f} ({100 * low:.0f}-{100 * high:.0f})" for mean, low, high in ends]
        print(f"{kind} {share} % | " + " | ".join(cells))


def answers(engine: Engine, views: EncodedViews, prompts: ClassPrompts, settings: Settings) -> dict[str, int]:
    """Rule -> the engine's answer: Ensemble, and RITA with each transported mass."""
    ensemble = engine.answers(views, prompts, settings, ("ensemble",))["ensemble"]
    assert isinstance(ensemble, Verdict)
    found = {"average": ensemble.label}
    for name, mass in MASSES.items():
        trace, _ = engine.decide(views, prompts, None, settings.replace(transported_mass=mass))
        found[name] = trace.verdict.label
    return found


if __name__ == "__main__":
    main()
