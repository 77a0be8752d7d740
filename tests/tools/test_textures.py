"""The drawn textures: reproducible from a seed, different between seeds, classes and splits; and those that are stored."""

import re
import warnings
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DataError
from tools.textures import CLASSES, SPLITS, draw, seeds
from tools.textures.__main__ import PER_CLASS, SIDE, exact_pictures, main
from tools.textures.noise import fractal, smooth, voronoi

SMALL = 64
rng = np.random.default_rng


@cache
def small(name: str, seed: int) -> np.ndarray:
    """A small picture, drawn once for all tests."""
    return draw(name, seed, SMALL)


def test_every_word_of_dtd_is_drawn_for_many_seeds_without_a_warning() -> None:
    assert VOCABULARIES["dtd"].names == CLASSES
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        for name in CLASSES:
            for seed in range(8):
                picture = small(name, seed)
                assert (picture.shape, picture.dtype) == ((SMALL, SMALL, 3), np.uint8), name
                assert picture.std() > 3, f"an empty picture of {name}"


def test_a_seed_gives_one_picture_and_other_seeds_substantially_different_ones() -> None:
    for name in CLASSES:
        assert np.array_equal(small(name, 0), draw(name, 0, SMALL)), name
        pictures = [small(name, seed).astype(float) for seed in range(5)]
        assert min(np.abs(a - b).mean() for a, b in combinations(pictures, 2)) > 8, name
        views = [small(name, seed).reshape(8, 8, 8, 8, 3).mean(axis=(1, 3)) for seed in range(8)]  # blocks of 8 x 8
        assert np.mean([np.abs(a - b).mean() for a, b in combinations(views, 2)]) > 15, name
    assert len({small(name, 0).tobytes() for name in CLASSES}) == len(CLASSES)


def test_no_seed_belongs_to_two_splits() -> None:
    for one, other in combinations(map(seeds, SPLITS), 2):
        assert max(one.start, other.start) >= min(one.stop, other.stop)


def test_any_size_can_be_drawn() -> None:
    assert draw("veined", 0).shape == (224, 224, 3)
    for size in (32, 100, 225, 300):
        for name in ("knitted", "cracked", "potholed", "banded"):
            assert draw(name, 1, size).shape == (size, size, 3)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: draw("plaid", 0), "No drawing is called 'plaid'"),
        (lambda: draw("woven", -1), "seed of 0 or more"),
        (lambda: draw("woven", 0, 4), "size from 32"),
        (lambda: draw("woven", 0, 4096), "to 1024"),
        (lambda: seeds("all"), "one of train, val, test"),
    ],
)
def test_invalid_texture_requests_give_an_error_message(call, says: str) -> None:
    with pytest.raises(DataError, match=re.escape(says)):
        call()


def test_noise_has_mean_zero_and_deviation_one_and_soft_noise_changes_little_between_neighbours() -> None:
    for size in (64, 97):
        field = fractal(rng(0), size, 8, 2.0)
        assert (field.shape, field.dtype) == ((size, size), np.float32)
        assert abs(float(field.mean())) < 1e-4
        assert float(field.std()) == pytest.approx(1, abs=1e-3)
    field = smooth(rng(0), 200, 3)
    assert np.abs(np.diff(field)).max() < 0.2 < field.std()


def test_cells_find_the_nearest_of_all_points() -> None:
    v, u = np.meshgrid(np.linspace(0.1, 7.9, 24), np.linspace(0.1, 7.9, 24), indexing="ij")
    u, v = u.astype("f4"), v.astype("f4")
    cells = voronoi(rng(5), u, v, 0.9)
    shift = rng(5).uniform(0.05, 0.95, (2, 4096)).astype("f4")
    rows, columns = np.meshgrid(np.arange(-2, 11), np.arange(-2, 11), indexing="ij")
    key = ((rows & 63) << 6 | (columns & 63)).ravel()
    points = np.stack([columns.ravel() + shift[0][key], rows.ravel() + shift[1][key]])
    away = np.hypot(u.ravel()[:, None] - points[0], v.ravel()[:, None] - points[1])
    nearest = np.sort(away, axis=1)[:, :2]
    assert np.allclose(cells.first.ravel(), nearest[:, 0], atol=1e-4)
    assert np.allclose(cells.second.ravel(), nearest[:, 1], atol=1e-4)
    assert np.array_equal(cells.key.ravel(), key[away.argmin(axis=1)])


def test_the_stored_pictures_are_the_drawn_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored = ASSETS / "textures"
    pictures = {path.relative_to(stored).as_posix() for path in stored.rglob("*.*")}
    assert {Path(name).stem for name in pictures} <= {str(seed) for split in PER_CLASS for seed in seeds(split)}
    assert len(pictures) == sum(len(CLASSES) * count for count in PER_CLASS.values())
    assert sum((stored / name).stat().st_size for name in pictures) < 10_000_000
    assert {
        name.partition("/")[2].removesuffix(".png") for name in pictures if name.endswith("png")
    } == exact_pictures()
    monkeypatch.setattr("tools.textures.__main__.PER_CLASS", {"val": 2, "test": 1})
    monkeypatch.setattr("tools.textures.CLASSES", ("banded", "knitted"))
    monkeypatch.setattr("sys.argv", ["tools.textures", "--out", str(tmp_path / "out")])
    main()
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert len(written & pictures) == len(written) == 6
    for name in written:
        here, there = (np.asarray(Image.open(folder / name), float) for folder in (tmp_path / "out", stored))
        assert np.abs(here - there).mean() < 0.01, "the rounding of another processor"
        drawn = draw(name.split("/")[1], int(Path(name).stem))
        if len(here) == SIDE:
            drawn = open_picture(drawn, square="model", side=SIDE).pixels
        assert np.abs(here - drawn).mean() < (0.01 if name.endswith("png") else 12)
