"""Zero-shot accuracies of the model card, measured on a model folder with open_clip ("a photo of a {class}.")."""

from collections.abc import Callable
from pathlib import Path

import open_clip

from rita_demo.records.intervals import wilson
from rita_demo.training.evaluate import accuracy, cosines, zero_shot_splits

DRAWN_PER_CLASS = 10
CARD_NAMES = {"DTD": "DTD, names present", "DTD among 47": "DTD, all 47 names"}


def report(model: Path, data: Path, part: str = "val", print_line: Callable[[str], None] = print) -> None:
    """Print the accuracies of the open_clip folder `model` on a split of the sets under `data`, with Wilson's 95 %
    intervals.

    Args:
        model: folder with open_clip_config.json and the weights.
        data: folder with caltech-101/ and dtd/ in CoOp's layout; textures are drawn.
        part: `val` or `test`.
        print_line: receives each line.
    """
    loaded = open_clip.create_model(f"local-dir:{model}").eval()
    side = loaded.visual.image_size
    side = side if isinstance(side, int) else side[0]
    for name, split in zero_shot_splits(data, part, DRAWN_PER_CLASS, side).items():
        percent, count = accuracy(cosines(loaded, split), split), len(split.label)
        low, high = (100 * end for end in wilson(percent / 100 * count, count))
        result = f"{percent:.1f} % (n = {count}, {low:.1f} to {high:.1f})"
        print_line(f"{part}, {CARD_NAMES.get(name, name)} ({len(split.names)} prompts): {result}")
