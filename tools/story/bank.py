"""Crops of other pictures for "How many crops may be wrong?": features alone, no photographs.

``python -m tools.story.bank --data-root DATA`` writes ``assets/measured/crop_bank.npz``: of Caltech101 and of DTD, ``val``, 60
pictures, of each 16 crops.
"""

import argparse
from pathlib import Path

from rita_demo.analysis import crop_law
from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect, picture_seed
from rita_demo.pipeline.crop_bank import bank_steps
from rita_demo.process.generators import run_to_end
from rita_demo.settings import RECOMMENDED

DATASETS, PICTURES, SEED = ("caltech101", "dtd"), 60, 0


def main() -> None:
    """Encode, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, required=True)
    root, engine, pictures, groups, seeds = parser.parse_args().data_root, Engine("embedded"), [], [], []
    for group, name in enumerate(DATASETS):
        for item in collect(name, root, "val", limit=PICTURES, allow_partial=True).items:
            pictures.append(open_picture(item.source(), square=RECOMMENDED.square, side=engine.info.side))
            groups.append(group)
            seeds.append(picture_seed(SEED, item))
    data = run_to_end(bank_steps(engine, pictures, groups, seeds)).to_bytes()
    crop_law.STORED.write_bytes(data)
    print(f"{len(pictures)} pictures, {len(data)} bytes")


if __name__ == "__main__":
    main()
