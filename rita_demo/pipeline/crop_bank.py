"""Crops of other pictures, encoded: for the stored bank of the embedded model, and from drawn textures for any other."""

from collections.abc import Generator, Sequence

import numpy as np

from rita_demo.analysis.crop_law import CropBank, crop_weight
from rita_demo.data.datasets import class_names, load_split
from rita_demo.data.pictures import open_picture
from rita_demo.engine.protocol import Engine
from rita_demo.records import Picture
from rita_demo.settings import RECOMMENDED

CROPS = 16  # of each picture
TEXTURES = 24  # pictures of a bank of drawn textures, one of a class


def bank_steps(
    engine: Engine, pictures: Sequence[Picture], groups: Sequence[int], seeds: Sequence[int]
) -> Generator[float, None, CropBank]:
    """The bank of these pictures, each with its set and its view seed; yields the share that is done, in [0, 1)."""
    features, weight = [], []
    for n, (picture, seed) in enumerate(zip(pictures, seeds, strict=True)):
        yield n / len(pictures)
        views = engine.encode_views(picture, RECOMMENDED.replace(views=1 + CROPS, view_seed=seed))
        features.append(views.features[1:])
        weight.append(crop_weight(views.views.boxes[1:]))
    key = engine.weights_key()
    return CropBank(np.stack(features), np.stack(weight), np.array(groups), engine.info.name, key)


def texture_bank_steps(engine: Engine) -> Generator[float, None, CropBank]:
    """A bank of any model from drawn textures, for one that has none stored: 24 pictures of as many classes."""
    names = class_names("textures", None)
    names = names[:: len(names) // TEXTURES][:TEXTURES]
    first = {name: path for path, _, name in reversed(load_split("textures", None, "val"))}
    pictures = [open_picture(first[name]) for name in names]
    return (yield from bank_steps(engine, pictures, [0] * len(names), range(len(names))))
