"""Valid things to start from, made on the spot and once."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import open_clip
import torch
from PIL import Image
from safetensors.torch import save as save_torch

from rita_demo.data import memory_file
from rita_demo.data.memory import MemoryTable
from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import export
from rita_demo.pipeline import run as run_module
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from tests.conftest import TINY_CONFIG
from tests.data.hostile import encoded, gif, photo, rotated_jpeg
from tests.data.tiff_files import GREY, LZW, RGB, tiff
from tests.toy_model import ToyEngine

ENGINE = ToyEngine(spread=0.2)
NAMES = ("motorbike", "crab", "cup", "piano")
SPLIT = {
    split: [[f"{c}/{n}.png", k, c] for k, c in enumerate(("dotted", "striped")) for n in range(3)]
    for split in ("train", "val", "test")
}
LISTS = {
    "variants.txt": "dotted\nstriped\n",
    "images_variant_train.txt": "0 dotted\n1 striped\n",
    "images_variant_val.txt": "0 dotted\n1 striped\n",
    "images_variant_test.txt": "2 dotted\n2 striped\n",
    "classnames.txt": "dotted a dotted thing\nstriped a striped thing\n",
}
DESCRIPTIONS = {"cup": ["a cup has a handle", "one drinks from it"], "crab": ["it walks sideways"]}
LINK = dict(
    parse_qsl(
        "sample=motorcycle&classes=motorbike,crab,cup&truth=motorbike&target=crab&attack=pgd&budget=4&views=16&methods=tpt"
        "&class=cup&view=3&step=2&atom=0&side=clean&view_scale=0.5&descriptions=none&tab=inside"
    )
)
EVENTS: tuple[Any, ...] = (
    {"view": 3, "atom": 0},
    {"view": 3, "k": 1},
    {"step": 1, "side": "clean"},
    {"points": [0, 1, 2, 5]},
    {"memory_k": 0, "slot": 0, "moment": 1},
    {"kind": "json"},
    {"sample": "motorcycle"},
    {"picture": 1},
    {"point": 0, "cloud_k": 1, "chip": 1},
)


@cache
def pictures() -> tuple[bytes, ...]:
    """Small files of every format that is read, with the odd ones among them."""
    rgb, grey = photo(40, 36), photo(33, 40, 1)
    deep = Image.fromarray(grey.astype(np.uint16) * 257)
    palette = Image.fromarray(rgb).quantize(16)
    alpha = Image.fromarray(photo(40, 40, 4), "RGBA")
    made = [encoded(rgb, kind) for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "AVIF")]
    made += [encoded(deep), encoded(palette, "PNG", transparency=0), encoded(alpha), encoded(grey, "TIFF")]
    made += [encoded(Image.fromarray(rgb), "TIFF", compression=c) for c in ("tiff_lzw", "tiff_adobe_deflate")]
    floats, deep_rgb = (rgb / 255).astype(np.float32), rgb.astype(np.uint16) * 257
    made += [
        tiff(floats, colours=RGB, tile=16, compression=LZW, predictor=3),
        tiff(deep_rgb, colours=RGB, separate=True),
    ]
    made += [tiff(grey[:, :, None].astype(np.uint16) * 16, colours=GREY, bits=12, order=">", big=True)]
    made += [encoded(Image.fromarray(rgb).convert("CMYK"), "JPEG"), rotated_jpeg(6, 40, 30), gif(3)]
    return tuple(made)


@cache
def runs() -> tuple[Run, Run]:
    """Two pictures in a row: the second is decided from what the first left in the memory."""
    settings, made = RECOMMENDED.replace(attack="pgd", steps=2, views=8), []
    for name in ("motorcycle", "coffee"):
        square = SAMPLES[name].load() if name in SAMPLES else picture_of(photo(64, 64))
        before = made[-1].cache_after if made else None
        made.append(run_module.run_picture(ENGINE, square, NAMES, settings, label=0, cache=before))
    return made[0], made[1]


@cache
def history() -> MemoryTable:
    """The memory through both pictures."""
    found = MemoryTable()
    for run in runs():
        cut = ENGINE.view_pixels(run.attacked.picture, run.settings)
        key = run.clean.picture.key
        found = found.with_picture("A picture", key, run, cut)
    assert len(found.moments[-1].held)
    return found


@cache
def exported_cache() -> bytes:
    """The memory before the second picture, as the page exports it: what that one was decided from."""
    run = runs()[1]
    return memory_file.pack(history().until(-2), run.backbone.name, run.settings, alone=True)


@cache
def saved_run() -> bytes:
    """The second picture as “Save this run” saves it."""
    return export.write_bundle(runs()[1], "<p>page</p>", exported_cache(), {"rita-costs": "<svg/>"})


def tiny_model(words: int = 64) -> Any:
    """The architecture of the checkpoints, with random weights; few words make it small."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        text = TINY_CONFIG["text_cfg"] | {"vocab_size": words}
        return open_clip.CLIP(**(TINY_CONFIG | {"text_cfg": text}))


@cache
def checkpoints() -> dict[str, bytes]:
    """The same weights as .safetensors and as .pt."""
    weights = tiny_model().state_dict()
    buffer = io.BytesIO()
    torch.save({"state_dict": weights}, buffer)
    return {"safetensors": save_torch(weights), "pt": buffer.getvalue()}


@cache
def vision_tower() -> bytes:
    """The vision tower of the same model alone, as TeCoA saves one."""
    buffer = io.BytesIO()
    tower = tiny_model().visual.state_dict()
    torch.save({"epoch": 1, "state_dict": {}, "vision_encoder_state_dict": tower}, buffer)
    return buffer.getvalue()


@cache
def model_folder() -> tuple[tuple[str, bytes], ...]:
    """A folder like assets/model."""
    side = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bicubic"}
    return (
        ("open_clip_config.json", json.dumps({"model_cfg": TINY_CONFIG, "preprocess_cfg": side}).encode()),
        ("open_clip_model.safetensors", save_torch(tiny_model(49_408).state_dict())),
        ("seen_words.json", b'["cat", "dog"]'),
    )


def draw(folder: Path) -> None:
    """Pictures of two classes, three each; beside them links, and what systems leave behind."""
    data = encoded(photo(34, 34))
    for name in ("dotted", "striped"):
        (folder / name).mkdir(parents=True)
        for number in range(3):
            (folder / name / f"{number}.png").write_bytes(data)
        (folder / name / "3.png").symlink_to("0.png")
        (folder / name / "up").symlink_to("..")
        for left in ("._0.png", "Thumbs.db", "0.png~"):
            (folder / name / left).write_bytes(data)
    for left in (".ipynb_checkpoints", "__MACOSX", "@eaDir"):
        (folder / left).mkdir()
        (folder / left / "0.png").write_bytes(data)
    (folder / "around").symlink_to("around")
