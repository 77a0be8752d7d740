"""Write the drawn textures that come with the program: ``python -m tools.textures`` makes ``assets/textures`` again.

A folder per class below a folder per split, read as anybody's folder is; a picture is called by its seed. It is the square
that the embedded model sees, so that its numbers are those of the picture as it is drawn; the samples are as large as they are
drawn. PNG keeps every pixel of what a stored or printed number is of: the first 100 of each split, the stored cloud and the
samples. The others are JPEG, so that all are small together."""

import argparse
import shutil
from itertools import product
from pathlib import Path

from PIL import Image

from rita_demo.data.pictures import open_picture
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation.page import DataFolders, shipped_cloud
from rita_demo.evaluation.pictures import DatasetItem, spread_over_classes
from rita_demo.process.assets import ASSETS
from tools import textures

PER_CLASS = {"val": 10, "test": 3}
MEASURED = 100  # pictures of a split that docs/results.md has numbers of: --limit 100
SIDE = 128  # the embedded model's
QUALITY = 85  # of JPEG
#: Class and seed of the samples that are drawn.
DRAWN_SAMPLES = frozenset(one.file.removesuffix(".png") for one in SAMPLES.values() if not one.place[0])


def exact_pictures() -> frozenset[str]:
    """Class and seed of the pictures that are stored without loss."""
    found = {*DRAWN_SAMPLES, *shipped_cloud(DataFolders(), "textures").cloud.ids}
    for split, count in PER_CLASS.items():
        seeds = textures.SEEDS[split][:count]
        items = [DatasetItem(f"{name}/{seed}", k) for k, name in enumerate(textures.CLASSES) for seed in seeds]
        found |= {item.id for item in spread_over_classes(items, MEASURED, by_class=True)}
    return frozenset(found)


def main() -> None:
    """Write all pictures, in the place of those that are there."""
    parser = argparse.ArgumentParser(prog="python -m tools.textures", description=__doc__)
    parser.add_argument("--out", metavar="DIR", type=Path, default=ASSETS / "textures", help="default: assets/textures")
    out, exact, sizes = parser.parse_args().out, exact_pictures(), []
    shutil.rmtree(out, ignore_errors=True)
    for split, name in product(PER_CLASS, textures.CLASSES):
        (out / split / name).mkdir(parents=True)
        for seed in textures.SEEDS[split][: PER_CLASS[split]]:
            picture, pixels = f"{name}/{seed}", textures.draw(name, seed)
            if picture not in DRAWN_SAMPLES:
                pixels = open_picture(pixels, square="model", side=SIDE).pixels
            file = out / split / f"{picture}.{'png' if picture in exact else 'jpg'}"
            Image.fromarray(pixels).save(file, quality=QUALITY, optimize=True)
            sizes.append(file.stat().st_size)
    print(f"{out}: {len(sizes)} pictures, {sum(sizes) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
