"""How much the transport plan changes what RITA computes.

A plan chooses views, and it matches them with a class's prompts. The matching lowers the class's cost: the same views without
it are matched with all its prompts alike (the product of the plan's marginals). For every entropy weight: by how much, beside
the lead of the answer (the second lowest cost minus the lowest). The last column leaves out the choice, too: how many answers
are others when a class's cost is the mean cost of its nearest views, as much of their weight as is transported.

``python -m tools.bench.plan_scale --data-root DATA --dataset caltech101``
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect, picture_seed
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import Steps
from rita_demo.records import Transport
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.registry import load

ENTROPY_WEIGHTS = (0.1, 0.01, 0.001)
SIDES = ("clean", "attacked")


@dataclass(frozen=True)
class Decision:
    """One picture at one entropy weight: how far the matching lowers each class's cost (K,), the lead of the answer, and
    whether the nearest views give another answer."""

    lowered: np.ndarray
    lead: float
    changed: bool


def nearest_costs(mean_cost: np.ndarray, view_weight: np.ndarray, mass: float) -> np.ndarray:
    """(K,) the mean cost of each class's nearest views, until ``mass`` of the weight is reached. ``mean_cost`` (K, N): of a
    view over a class's prompts; ``view_weight`` (N,) sums to 1."""
    order = mean_cost.argsort(1, kind="stable")
    weight = view_weight[order]
    taken = np.clip(mass - (weight.cumsum(1) - weight), 0, weight)
    return (np.take_along_axis(mean_cost, order, 1) * taken).sum(1) / mass


def decision_of(transport: Transport, view_weight: np.ndarray) -> Decision:
    """What a plan does in one picture."""
    cost, plan, column = (
        np.asarray(part, np.float64) for part in (transport.cost, transport.plan, transport.column_weight)
    )
    mean_cost = np.einsum("knm,km->kn", cost, column / column.sum(1, keepdims=True))
    matched, alike = (plan * cost).sum((1, 2)) / transport.mass, (plan.sum(2) * mean_cost).sum(1) / transport.mass
    nearest, ordered = nearest_costs(mean_cost, view_weight, transport.mass), np.sort(matched)
    return Decision(alike - matched, float(ordered[1] - ordered[0]), bool(nearest.argmin() != matched.argmin()))


def decisions(engine: Engine, dataset: str, root: Path | None, limit: int) -> Iterator[tuple[str, float, Decision]]:
    """Side, entropy weight and decision of every picture of the split ``val``, clean and under PGD."""
    pictures = collect(dataset, root, "val", limit=limit, allow_partial=True)
    for item in pictures.items:
        seed = picture_seed(0, item)
        settings = RECOMMENDED.replace(protocol="off", square="model", view_seed=seed, attack_seed=seed)
        picture = open_picture(item.source(), square="model", side=engine.info.side)
        steps = Steps(RunRequest(picture, pictures.names, settings, item.label).run_steps(engine, None))
        for _ in steps:
            pass
        for side in SIDES:
            result = getattr(steps.value, side)
            for value in ENTROPY_WEIGHTS:
                asked = settings.replace(entropy_weight=value)
                trace, _ = engine.decide(result.encoded_views, steps.value.class_prompts, None, asked)
                yield side, value, decision_of(trace.prompt_transport, np.asarray(trace.view_weight))


def table(found: list[tuple[str, float, Decision]], title: str) -> str:
    """A Markdown table, medians over pictures and classes."""
    lines = [
        f"| {title} | the matching lowers a class's cost by | lead of the answer | other answers by the nearest views |",
        "|---|---|---|---|",
    ]
    for side in SIDES:
        for value in ENTROPY_WEIGHTS:
            part = [one for where, weight, one in found if (where, weight) == (side, value)]
            lowered, lead = (
                np.median(np.concatenate([one.lowered for one in part])),
                np.median([one.lead for one in part]),
            )
            changed = f"{sum(one.changed for one in part)} of {len(part)}"
            lines.append(f"| {side}, λ {value:g} | {lowered:.4f} | {lead:.3f} | {changed} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--dataset", default="textures")
    parser.add_argument("--limit", type=int, default=30, help="pictures of the split val")
    parser.add_argument("--backbone", default="embedded", choices=("embedded", "embedded-robust"))
    given = parser.parse_args()
    found = list(decisions(Engine(load(given.backbone, None)), given.dataset, given.data_root, given.limit))
    print(table(found, f"{given.dataset}, val, n = {len(found) // len(SIDES) // len(ENTROPY_WEIGHTS)}"))


if __name__ == "__main__":
    main()
