"""Does a poisoned memory change a later answer of RITA?

The attacker knows the picture that comes later and RITA's answer on it. They send attacked copies of it first: each aims at
the runner-up, through fresh crops, so that confident views of it enter the memory under the wrong class. The later
picture, clean or attacked by PGD, is then decided from the honest memory (filled from ``val``), from the poisoned one,
and from none. The defender's choices are the rows.

``python -m tools.bench.poisoned_memory --data-root DATA --dataset caltech101 --split test``
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.records import CacheState, EncodedViews, Picture
from rita_demo.settings import RECOMMENDED

POISONS = 3  # pictures that the attacker sends
HONEST = 150  # pictures of the split val that filled the memory before
POISON = {"attack": "adaptive", "adaptive.against": "ensemble", "adaptive.steps": 10, "adaptive.restarts": 1}
STRONG = RECOMMENDED.replace(cache_weight=1.0)
#: The defender's choices: their settings beside the recommended ones.
CHOICES = {
    "recommended (α 0.1, J 3, γ 0.4)": RECOMMENDED,
    "α 1": STRONG,
    "α 1, J 1": STRONG.replace(slots=1),
    "α 1, J 8": STRONG.replace(slots=8),
    "α 1, γ 0.1": STRONG.replace(max_entropy=0.1),
}


@dataclass(frozen=True)
class Outcome:
    """One later picture. ``margins``: the attacker's class minus the right one, in cosine distance, without a memory,
    from the honest and from the poisoned one; ``right``: the answers from the last two; ``entered``: whether a poison
    is remembered under the attacker's class."""

    margins: tuple[float, ...]
    right: tuple[bool, ...]
    entered: bool


def measure(engine: Engine, later: PictureSet, honest: PictureSet, budget: int) -> dict[tuple[str, str], list[Outcome]]:
    """(clean or PGD, choice) -> the ``later`` pictures that RITA gets right without a memory; ``budget`` in 1/255."""
    prompts, found = engine.encode_classes(later.names, RECOMMENDED), defaultdict(list)
    attacker = RECOMMENDED.replace(**POISON, budget=budget, attack_views=8)

    def squares(pictures: PictureSet) -> list[Picture]:
        side = engine.info.side
        return [open_picture(item.source(), square="model", side=side) for item in pictures.stream(0)]

    def encoded(pictures: Sequence[Picture]) -> list[EncodedViews]:
        return [engine.encode_views(one, RECOMMENDED.replace(view_seed=s)) for s, one in enumerate(pictures, 1)]

    def memories(before: Mapping[str, CacheState], views: Sequence[EncodedViews]) -> dict[str, CacheState]:
        after = dict(before)
        for name, settings in CHOICES.items():
            for one in views:
                after[name] = engine.decide(one, prompts, after[name], settings)[1]
        return after

    empty = {name: engine.empty_cache(prompts, settings) for name, settings in CHOICES.items()}
    filled = memories(empty, encoded(squares(honest)))
    for item, clean in zip(later.stream(0), squares(later)):
        pgd = engine.attack(clean, prompts, RECOMMENDED.replace(attack="pgd", budget=4), item.label)
        for kind, arrives in (("clean", clean), ("PGD", picture_of(pgd.pixels))):
            views = engine.encode_views(arrives, RECOMMENDED)
            alone = engine.decide(views, prompts, None, RECOMMENDED.replace(protocol="off"))[0].total
            answer, rival = (int(k) for k in alone.argsort()[:2])
            if answer != item.label:
                continue
            seeds = [attacker.replace(attack_seed=seed) for seed in range(POISONS)]
            poisons = [engine.attack(clean, prompts, one, answer, target=rival).pixels for one in seeds]
            poisoned = memories(filled, encoded([picture_of(pixels) for pixels in poisons]))
            for name, settings in CHOICES.items():
                caches = (filled[name], poisoned[name])
                totals = [engine.decide(views, prompts, cache, settings)[0].total for cache in caches]
                margins = tuple(float(total[rival] - total[answer]) for total in (alone, *totals))
                right = tuple(int(total.argmin()) == answer for total in totals)
                entered = bool((poisoned[name].born[rival] >= filled[name].pictures).any())
                found[kind, name].append(Outcome(margins, right, entered))
    return dict(found)


def table(outcomes: Mapping[tuple[str, str], Sequence[Outcome]]) -> str:
    """A Markdown table; a flip is an answer that is right from the honest memory and wrong from the poisoned one."""
    lines = [
        "| the later picture, and the defender's choice | n | a poison is remembered | flips to wrong | to right | "
        "margin without memory, honest, poisoned (median) | largest change by the poison |",
        "|---" * 7 + "|",
    ]
    for (kind, name), found in outcomes.items():
        wrong, right = (sum(one.right == flip for one in found) for flip in ((True, False), (False, True)))
        margins = ", ".join(f"{median(values):.3f}" for values in zip(*(one.margins for one in found)))
        most = max(abs(one.margins[2] - one.margins[1]) for one in found)
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
    later = collect(given.dataset, given.data_root, given.split, limit=given.limit, allow_partial=True)
    honest = collect(given.dataset, given.data_root, "val", limit=HONEST, allow_partial=True)
    print(table(measure(Engine("embedded"), later, honest, given.budget)))


if __name__ == "__main__":
    main()
