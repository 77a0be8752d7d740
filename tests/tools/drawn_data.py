"""A tiny data folder in the layouts of Caltech101, DTD and an extra set, drawn from a seed."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

SHAPES = ("anchor", "lamp", "pizza")
TEXTURES = ("banded", "dotted")


def make_picture(kind: int, generator: np.random.Generator) -> Image.Image:
    """A picture of 72 x 80 pixels whose colour and frequency tell its kind."""
    y, x = np.mgrid[0:72, 0:80] / 80
    wave = np.sin((4 + 5 * kind) * (x + 0.3 * y) + generator.uniform(0, 6))
    colour = np.eye(3)[kind % 3] * 0.6 + 0.2
    pixels = 0.5 + 0.4 * wave[..., None] * colour + generator.normal(0, 0.05, (72, 80, 3))
    return Image.fromarray((255 * pixels.clip(0, 1)).astype(np.uint8))


def draw_split(folder: Path, images: str, listing: str, names: tuple[str, ...], first: int) -> None:
    """One data set in CoOp's layout: 8 training and 4 validation pictures per class."""
    generator = np.random.default_rng(first)
    parts: dict[str, list] = {"train": [], "val": [], "test": []}
    for number, name in enumerate(names):
        (folder / images / name).mkdir(parents=True)
        for picture in range(12):
            file = f"{name}/{picture:02}.png"
            make_picture(first + number, generator).save(folder / images / file)
            parts["train" if picture < 8 else "val"].append([file, number, name])
    (folder / listing).write_text(json.dumps(parts))


def draw_data(root: Path) -> Path:
    """Fill `root` and return it."""
    draw_split(root / "caltech-101", "101_ObjectCategories", "split_zhou_Caltech101.json", SHAPES, 0)
    draw_split(root / "dtd", "images", "split_zhou_DescribableTextures.json", TEXTURES, 3)
    generator = np.random.default_rng(9)
    for kind, folder in ((5, "extra/things/Soy_Milk_carton"), (6, "extra/captioned/images")):
        (root / folder).mkdir(parents=True)
        make_picture(kind, generator).save(root / folder / "0.png")
    caption = 'file,caption\nimages/0.png,"A wave , seen from afar ."\n'
    (root / "extra" / "captioned" / "captions.csv").write_text(caption)
    return root


TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 96, "timm_model_name": "test_efficientnet", "timm_pool": "avg", "timm_proj": "linear"},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 1, "layers": 1},
}
