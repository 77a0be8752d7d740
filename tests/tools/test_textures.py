"""The drawn textures are those that are stored, picture by picture."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.process.assets import ASSETS
from tools.textures import CLASSES, SEEDS, draw
from tools.textures.__main__ import PER_CLASS, SIDE, exact_pictures, main

STORED = ASSETS / "textures"


def difference(path: Path) -> float:
    """Mean over the pixels of a stored picture, between it and the one of its class and seed that is drawn now."""
    stored, drawn = np.asarray(Image.open(path), float), draw(path.parent.name, int(path.stem))
    if len(stored) == SIDE:
        drawn = open_picture(drawn, square="model", side=SIDE).pixels
    return float(np.abs(stored - drawn).mean())


def test_every_word_of_dtd_is_drawn_as_it_is_stored() -> None:
    assert VOCABULARIES["dtd"].names == CLASSES
    for name in CLASSES:
        exact, *_ = sorted((STORED / "val" / name).glob("*.png"))
        assert difference(exact) < 0.01, f"{name}: more than the rounding of another processor"


def test_no_seed_belongs_to_two_splits() -> None:
    for one, other in combinations(SEEDS.values(), 2):
        assert max(one.start, other.start) >= min(one.stop, other.stop)


def test_the_folder_has_the_pictures_that_the_command_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pictures = {path.relative_to(STORED).as_posix() for path in STORED.rglob("*.*")}
    wanted = {f"{part}/{name}/{seed}" for part, n in PER_CLASS.items() for name in CLASSES for seed in SEEDS[part][:n]}
    assert {name.rpartition(".")[0] for name in pictures} == wanted
    assert sum((STORED / name).stat().st_size for name in pictures) < 10_000_000
    exact = {name.partition("/")[2].removesuffix(".png") for name in pictures if name.endswith("png")}
    assert exact == exact_pictures()
    monkeypatch.setattr("tools.textures.__main__.PER_CLASS", {"val": 2, "test": 1})
    monkeypatch.setattr("tools.textures.CLASSES", ("banded", "knitted"))
    monkeypatch.setattr("sys.argv", ["tools.textures", "--out", str(tmp_path / "out")])
    main()
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert len(written & pictures) == len(written) == 6
    for path in (folder / name for folder in (STORED, tmp_path / "out") for name in written):
        assert difference(path) < (0.01 if path.suffix == ".png" else 12)
