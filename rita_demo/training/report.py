"""Zero-shot accuracies of the model card, measured on a model folder with open_clip ("a photo of a {class}.")."""

from collections.abc import Callable
from pathlib import Path

import open_clip

from rita_demo.records.intervals import wilson
from rita_demo.training import corpus
from rita_demo.training.evaluate import Split, accuracy, cosines, drawn_split, load_split
from rita_demo.training.names import DTD_NAMES

DRAWN_PER_CLASS = 10


def report(model: Path, data: Path, part: str = "val", print_line: Callable[[str], None] = print) -> None:
    """Print the accuracies of the open_clip folder `model` on a split of the sets under `data`.

    Args:
        model: folder with open_clip_config.json and the weights.
        data: folder with caltech-101/ and dtd/ in CoOp's layout; textures are drawn.
        part: `val` or `test`.
        print_line: receives each line.
    """
    loaded = open_clip.create_model(f"local-dir:{model}").eval()
    side = loaded.visual.image_size
    side = side if isinstance(side, int) else side[0]
    sets: dict[str, Split] = {}
    if rows := corpus.coop_split(data, "caltech101", part):
        sets["Caltech101"] = load_split(rows, side)
    if rows := corpus.coop_split(data, "dtd", part):
        sets["DTD, names present"] = load_split(rows, side)
        sets["DTD, all 47 names"] = load_split(rows, side, DTD_NAMES)
    sets["drawn textures"] = drawn_split(part, DRAWN_PER_CLASS, side)
    for name, split in sets.items():
        result = format_with_interval(accuracy(cosines(loaded, split), split), len(split.label))
        print_line(f"{part}, {name} ({len(split.names)} prompts): zero-shot {result}")


def format_with_interval(percent: float, count: int) -> str:
    """`61.2 % (n = 300, 55.6 to 66.6)` with Wilson's 95 % interval."""
    low, high = (100 * end for end in wilson(percent / 100 * count, count))
    return f"{percent:.1f} % (n = {count}, {low:.1f} to {high:.1f})"
