"""Does a poisoned memory change a later answer of RITA?

The attacker knows the picture that comes later and RITA's answer on it. They send attacked copies of it first: each aims at
the runner-up, through fresh crops, so that confident views of it enter the memory under the wrong class. The later
picture, clean or attacked by PGD, is then decided from the honest memory (filled from ``val``), from the poisoned one,
and from none. The defender's choices are the rows.

``python -m rita_demo.bench.poisoned_memory --data-root DATA --dataset caltech101 --split test``
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect
from rita_demo.records import CacheState, ClassPrompts, EncodedViews, Picture
from rita_demo.settings import RECOMMENDED, Settings

POISONS = 3  # pictures that the attacker sends
HONEST = 150  # pictures of the split val that filled the memory before
POISON = {"attack": "adaptive", "adaptive.against": "ensemble", "adaptive.steps": 10, "adaptive.restarts": 1}
#: The defender's choices: their settings beside the recommended ones.
CHOICES: dict[str, Settings] = {
    "recommended (α 0.1, J 3, γ 0.4)": RECOMMENDED,
    "α 1": RECOMMENDED.replace(cache_weight=1.0),
    "α 1, J 1": RECOMMENDED.replace(cache_weight=1.0, slots=1),
    "α 1, J 8": RECOMMENDED.replace(cache_weight=1.0, slots=8),
    "α 1, γ 0.1": RECOMMENDED.replace(cache_weight=1.0, max_entropy=0.1),
}


@dataclass(frozen=True)
class Outcome:
    """One later picture: RITA's margin of the right class over the attacker's without a memory, from the honest and from
    the poisoned one (cosine distance; right against this class where positive); ``right``: its answer from each of the
    two; ``entered``: whether a poison is remembered under the attacker's class."""

    alone: float
    honest: float
    poisoned: float
    right: tuple[bool, bool]
    entered: bool


class Experiment:
    """One model, dataset and budget of the poisons (in 1/255)."""

    def __init__(self, engine: Engine, dataset: str, root: Path | None, split: str, limit: int, budget: int) -> None:
        self.engine, self.budget = engine, budget
        self.pictures = collect(dataset, root, split, limit=limit, allow_partial=True)
        self.prompts: ClassPrompts = engine.encode_classes(self.pictures.names, RECOMMENDED)
        honest = collect(dataset, root, "val", limit=HONEST, allow_partial=True)
        views = self.encode([self.open(item.source()) for item in honest.stream(0)])
        self.honest = {name: self.remember(None, views, one) for name, one in CHOICES.items()}

    def open(self, source: object) -> Picture:
        return open_picture(source, square="model", side=self.engine.info.side)  # type: ignore[arg-type]

    def encode(self, pictures: list[Picture]) -> list[EncodedViews]:
        """The views of every picture, with seeds of its own."""
        return [self.engine.encode_views(one, RECOMMENDED.replace(view_seed=s)) for s, one in enumerate(pictures, 1)]

    def remember(self, cache: CacheState | None, pictures: list[EncodedViews], settings: Settings) -> CacheState:
        """The memory after the views of these pictures."""
        for views in pictures:
            cache = self.engine.decide(views, self.prompts, cache, settings)[1]
        assert cache is not None
        return cache

    def outcomes(self) -> dict[tuple[str, str], list[Outcome]]:
        """(clean or PGD, choice) -> the later pictures that RITA gets right without a memory."""
        found = defaultdict(list)
        for item in self.pictures.stream(0):
            clean = self.open(item.source())
            pgd = self.engine.attack(clean, self.prompts, RECOMMENDED.replace(attack="pgd", budget=4), item.label)
            for kind, arrives in (("clean", clean), ("PGD", picture_of(pgd.pixels))):
                views = self.engine.encode_views(arrives, RECOMMENDED)
                alone = self.engine.decide(views, self.prompts, None, RECOMMENDED.replace(protocol="off"))[0]
                answer, rival = (int(k) for k in alone.total.argsort()[:2])
                if answer != item.label:
                    continue
                poisons = self.encode(self.poisons(clean, answer, rival))
                for name, settings in CHOICES.items():
                    poisoned = self.remember(self.honest[name], poisons, settings)
                    caches = (self.honest[name], poisoned)
                    totals = [self.engine.decide(views, self.prompts, cache, settings)[0].total for cache in caches]
                    right = (int(totals[0].argmin()) == answer, int(totals[1].argmin()) == answer)
                    alone_margin, honest, after = (
                        float(total[rival] - total[answer]) for total in (alone.total, *totals)
                    )
                    entered = bool((poisoned.born[rival] >= self.honest[name].pictures).any())
                    found[kind, name].append(Outcome(alone_margin, honest, after, right, entered))
        return dict(found)

    def poisons(self, picture: Picture, label: int, target: int) -> list[Picture]:
        """Attacked copies of a picture that aim at ``target``, each from another seed."""
        settings = RECOMMENDED.replace(**POISON, budget=self.budget, attack_views=8)
        return [
            picture_of(
                self.engine.attack(picture, self.prompts, settings.replace(attack_seed=s), label, target=target).pixels
            )
            for s in range(POISONS)
        ]


def table(experiment: Experiment) -> str:
    """A Markdown table; a flip is an answer that is right from the honest memory and wrong from the poisoned one."""
    lines = [
        "| the later picture, and the defender's choice | n | a poison is remembered | flips to wrong | to right | "
        "margin without memory, honest, poisoned (median) | largest change by the poison |",
        "|---" * 7 + "|",
    ]
    for (kind, name), found in experiment.outcomes().items():
        wrong, right = (sum(one.right == flip for one in found) for flip in ((True, False), (False, True)))
        margins = ", ".join(
            f"{median(getattr(one, which) for one in found):.3f}" for which in ("alone", "honest", "poisoned")
        )
        most = max(abs(one.poisoned - one.honest) for one in found)
        entered = sum(one.entered for one in found)
        lines.append(f"| {kind}; {name} | {len(found)} | {entered} | {wrong} | {right} | {margins} | {most:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--dataset", default="textures")
    parser.add_argument("--split", default="test")
    parser.add_argument("--limit", type=int, default=100, help="later pictures")
    parser.add_argument("--budget", type=int, default=8, help="of the poisons, in 1/255")
    given = parser.parse_args()
    experiment = Experiment(Engine("embedded"), given.dataset, given.data_root, given.split, given.limit, given.budget)
    print(table(experiment))


if __name__ == "__main__":
    main()
