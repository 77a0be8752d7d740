"""Drawn textures as arrays, for tests that need a picture of a class."""

import numpy as np

from rita_demo.data.datasets import load_split
from rita_demo.data.pictures import open_picture


def texture(name: str, number: int, side: int = 224) -> np.ndarray:
    """A picture of a class from those that come with the program, (side, side, 3) uint8."""
    paths = [path for path, _, own in load_split("textures", None, "val") if own == name]
    return open_picture(paths[number % len(paths)], square="model", side=side).pixels
