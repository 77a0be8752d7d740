"""The training of the embedded model, of a tiny model: it learns, and a resumed run ends bit by bit as a whole one."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rita_demo.process.cpu_threads import single_threaded
from rita_demo.records.errors import DemoError
from tools.train.loop import train
from tools.train.recipe import Recipe

TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 96, "timm_model_name": "test_efficientnet", "timm_pool": "avg", "timm_proj": "linear"},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 1, "layers": 1},
}


def draw(path: Path, kind: int, generator: np.random.Generator) -> None:
    """A picture of 72 x 80 pixels whose colour and frequency tell its kind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    y, x = np.mgrid[0:72, 0:80] / 80
    wave = np.sin((4 + 5 * kind) * (x + 0.3 * y) + generator.uniform(0, 6))
    pixels = 0.5 + 0.4 * wave[..., None] * (np.eye(3)[kind % 3] * 0.6 + 0.2)
    pixels = pixels + generator.normal(0, 0.05, pixels.shape)
    Image.fromarray((255 * pixels.clip(0, 1)).astype(np.uint8)).save(path)


def draw_data(root: Path) -> Path:
    """Caltech101 and DTD in CoOp's layout, with 8 training and 4 validation pictures of each class, and a picture with a
    caption."""
    generator = np.random.default_rng(0)
    sets = [("caltech-101", "101_ObjectCategories", "Caltech101", ("anchor", "lamp", "pizza"), 0)]
    for folder, images, listing, names, first in [
        *sets,
        ("dtd", "images", "DescribableTextures", ("banded", "dotted"), 3),
    ]:
        parts: dict[str, list] = {"train": [], "val": [], "test": []}
        for number, name in enumerate(names):
            for picture in range(12):
                draw(root / folder / images / name / f"{picture}.png", first + number, generator)
                parts["train" if picture < 8 else "val"].append([f"{name}/{picture}.png", number, name])
        (root / folder / f"split_zhou_{listing}.json").write_text(json.dumps(parts))
    draw(root / "extra" / "captioned" / "0.png", 6, generator)
    (root / "extra" / "captioned" / "captions.csv").write_text('file,caption\n0.png,"A wave , seen from afar ."\n')
    return root


@pytest.mark.nightly
def test_training_learns_and_a_resumed_run_is_the_whole_one(tmp_path: Path) -> None:
    data, lines = draw_data(tmp_path / "data"), list[str]()
    sizes = ((0.0, 64), (0.6, 96))
    recipe = Recipe(TINY, trunk_package="", drawn=1, batch=16, texts=12, sizes=sizes, compiled=False)
    make = partial(train, data, minutes=1.0, seed=3, steps=40, recipe=recipe, save_every_steps=15)

    def interrupt(line: str) -> None:
        if "step 20 " in line:
            raise KeyboardInterrupt

    with single_threaded():
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "part", print_line=interrupt)
        part, whole = make(tmp_path / "part", resume=True), make(tmp_path / "whole", print_line=lines.append)
    for name in ("open_clip_model.safetensors", "seen_tokens.json", "seen_words.json"):
        assert (part / name).read_bytes() == (whole / name).read_bytes()
    first, *_, last = (float(line.split("loss ")[1].split()[0]) for line in lines if "loss" in line)
    assert last < first
    assert any("accuracy on val: Caltech101" in line for line in lines)
    with pytest.raises(DemoError, match="made with seed 3"):
        train(data, tmp_path / "whole", 1.0, resume=True, seed=4, steps=2, recipe=recipe)
