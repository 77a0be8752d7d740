"""A contact sheet of the drawings: ``python -m rita_demo.data.textures sheet.png``."""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from PIL import Image, ImageDraw

from rita_demo.data.textures import CLASSES, SPLITS, draw, seeds

_NAME_WIDTH, _GAP = 92, 3


def sheet(names: list[str], split: str, columns: int, side: int, size: int = 224) -> Image.Image:
    """One row per class, one column per seed, the names on the left."""
    width = _NAME_WIDTH + columns * (side + _GAP)
    page = Image.new("RGB", (width, len(names) * (side + _GAP)), "white")
    pen = ImageDraw.Draw(page)
    for row, name in enumerate(names):
        top = row * (side + _GAP)
        pen.text((4, top + side // 2 - 5), name, fill="black")
        for column, seed in enumerate(seeds(split)[:columns]):
            tile = Image.fromarray(draw(name, seed, size)).resize(
                (side, side), Image.Resampling.BOX
            )
            page.paste(tile, (_NAME_WIDTH + column * (side + _GAP), top))
    return page


def timings(names: list[str], repeats: int, size: int = 224) -> dict[str, float]:
    """Median milliseconds per picture and class."""
    table = {}
    for name in names:
        times = []
        for seed in range(repeats + 1):
            start = time.perf_counter()
            draw(name, seed, size)
            times.append((time.perf_counter() - start) * 1000)
        table[name] = statistics.median(times[1:])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m rita_demo.data.textures", description=__doc__)
    parser.add_argument("file", type=Path, help="the picture to write, .png or .jpg")
    parser.add_argument("--classes", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--split", choices=SPLITS, default="train")
    parser.add_argument("--columns", type=int, default=8, help="pictures per class")
    parser.add_argument("--side", type=int, default=112, help="pixels per picture on the sheet")
    parser.add_argument("--timing", action="store_true", help="print median times per class")
    choice = parser.parse_args()
    sheet(choice.classes, choice.split, choice.columns, choice.side).save(choice.file)
    if choice.timing:
        for name, milliseconds in timings(choice.classes, 9).items():
            print(f"{name:14} {milliseconds:6.1f} ms")


if __name__ == "__main__":
    main()
