"""How far do the features of a picture drift, without an attack and with one? Rows of ``assets/measured/drift.csv``.

``python -m tools.story.drift --data-root DATA --square picture --attack pgd --limit 100`` adds the rows that
this square and attack lack; attack ``none`` are the clean pictures, ``adaptive`` is aimed at RITA. A call with the same limit
goes on where an earlier one ended.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rita_demo.analysis.drift import Kind, detector
from rita_demo.data import shipped_results
from rita_demo.data.pictures import open_picture, picture_of
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect
from rita_demo.pipeline.story import noise_drift
from rita_demo.records.measurement import DriftRow
from rita_demo.settings import RECOMMENDED, Settings

DATASETS, SPLIT = ("caltech101", "dtd"), "val"
KINDS: tuple[Kind, ...] = ("crop_offset", "noise")


def measure(engine: Engine, dataset: str, root: Path, settings: Settings, limit: int, skip: int) -> Iterator[DriftRow]:
    """A row for each of ``limit`` pictures of a dataset but the first ``skip``."""
    chosen = collect(dataset, root, SPLIT, limit=limit, allow_partial=True)
    prompts, key = engine.encode_classes(chosen.names, settings), engine.weights_key()[:8]
    untuned = settings.replace(tuning_steps=0, protocol="off")  # the offset does not depend on the prompts
    for item in chosen.items[skip:]:
        picture = open_picture(item.source(), square=settings.square, side=engine.info.side)
        if settings.attack != "none":
            picture = picture_of(engine.attack(picture, prompts, settings, item.label).pixels)
        trace, _ = engine.decide(engine.encode_views(picture, settings), prompts, None, untuned)
        offset, noise = (round(float(d), 4) for d in (trace.crop_offset, noise_drift(engine, picture, settings)))
        budget = settings.budget * (settings.attack != "none")
        yield DriftRow(dataset, SPLIT, settings.square, settings.attack, budget, offset, noise, key)


def main() -> None:
    """Measure one attack on one square, and put each row into the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--square", choices=("picture", "model"), default="picture")
    parser.add_argument("--attack", choices=("none", "pgd", "adaptive"), default="none")
    parser.add_argument("--limit", type=int, default=100, help="pictures of each dataset")
    asked, path, engine = parser.parse_args(), shipped_results.DRIFT, Engine("embedded")
    settings = RECOMMENDED.replace(attack=asked.attack, square=asked.square)
    rows = list(shipped_results.drift_rows() if path.exists() else ())
    for dataset in DATASETS:
        done = sum((row.dataset, row.square, row.attack) == (dataset, asked.square, asked.attack) for row in rows)
        for row in measure(engine, dataset, asked.data_root, settings, asked.limit, done):
            rows.append(row)
            shipped_results.write_records(path, sorted(rows, key=lambda row: (row.square, row.attack, row.dataset)))
            print(row, flush=True)
    for kind in KINDS:
        if found := detector(rows, kind, asked.attack, asked.square):
            limits = [(share, found.threshold(share)) for share in (0.01, 0.05, 0.1)]
            hits = ", ".join(f"{100 * share:.0f} % {at:.2f} {100 * found.hits(at):.0f} %" for share, at in limits)
            print(
                f"{kind}, {len(found.clean)} clean, {len(found.attacked)} {asked.attack}: separation {found.separation:.2f}"
            )
            print(f"  false alarms, threshold, hits: {hits}")


if __name__ == "__main__":
    main()
