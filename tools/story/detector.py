"""Does a picture look attacked? Writes ``assets/measured/detector.csv``. An attack on the whole picture moves its feature away from the weighted mean of its crops' (the offset). The threshold is the
lowest offset of a clean picture with at most 5 % false alarms. ``python -m tools.story.detector --data-root DATA``."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rita_demo.data import shipped_results
from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect
from rita_demo.records.measurement import DetectorRow
from rita_demo.settings import RECOMMENDED, Settings

DATASETS, SPLIT, FALSE_ALARMS = ("caltech101", "dtd"), "val", 0.05
CLEAN, ATTACKED = 100, 60  # pictures of each dataset


def offsets(engine: Engine, dataset: str, root: Path, settings: Settings, limit: int) -> Iterator[float]:
    """The offset of each of ``limit`` pictures."""
    chosen = collect(dataset, root, SPLIT, limit=limit, allow_partial=True)
    prompts = engine.encode_classes(chosen.names, settings)
    untuned = settings.replace(tuning_steps=0, protocol="off")  # the offset does not depend on the prompts
    for item in chosen.items:
        picture = open_picture(item.source, square=settings.square, side=engine.info.side)
        if settings.attack != "none":
            picture = picture_of(engine.attack(picture, prompts, settings, item.label).pixels)
        trace, _ = engine.decide(engine.encode_views(picture, settings), prompts, None, untuned)
        yield round(float(trace.crop_offset), 4)


def threshold(clean: np.ndarray) -> float:
    """The lowest of the offsets, or just above the highest, with at most ``FALSE_ALARMS`` of them at or above it."""
    candidates = [*np.sort(clean), np.nextafter(clean.max(), np.inf)]
    return float(next(at for at in candidates if (clean >= at).mean() <= FALSE_ALARMS))


def main() -> None:
    """Measure, print and store the one row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    root, engine = parser.parse_args().data_root, Engine("embedded")
    clean, attacked = (
        np.array([o for d in DATASETS for o in offsets(engine, d, root, RECOMMENDED.replace(attack=attack), limit)])
        for attack, limit in (("none", CLEAN), ("pgd", ATTACKED))
    )
    at = threshold(clean)
    alarms, hits = (int((values >= at).sum()) for values in (clean, attacked))
    key = engine.weights_key()[:8]
    row = DetectorRow("pgd", RECOMMENDED.budget, SPLIT, at, len(clean), alarms, len(attacked), hits, key)
    shipped_results.write_records(shipped_results.DETECTOR, [row])
    print(row)


if __name__ == "__main__":
    main()
