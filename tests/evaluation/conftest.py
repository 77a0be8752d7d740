"""Tiny datasets in CoOp's layout, drawn here, and a way to measure them with a tiny random model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo import cli
from rita_demo.data.pictures import png_bytes

Run = Callable[..., Path]


def draw_dataset(
    root: Path, folder: str, pictures: str, listing: str, names: Sequence[str], each: int
) -> None:
    """``each`` noisy pictures of every class, all of them in every split."""
    rows = []
    for label, name in enumerate(names):
        for number in range(each):
            path = root / folder / pictures / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            rng = np.random.default_rng([label, number])
            colour = np.random.default_rng(label).integers(40, 200, 3)
            pixels = np.clip(colour + rng.normal(0, 40, (48, 56, 3)), 0, 255).astype(np.uint8)
            path.write_bytes(png_bytes(pixels))
            rows.append([f"{name}/{number}.png", label, name])
    splits = dict.fromkeys(("train", "val", "test"), rows)
    (root / folder / listing).write_text(json.dumps(splits))


@pytest.fixture(autouse=True, scope="module")  # a package's end may come after other folders' files
def one_thread() -> Iterator[None]:
    """Layers this small wait for each other longer than they compute; and sums keep one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Caltech101's layout with three classes of its own; DTD's with two of DTD's 47."""
    root = tmp_path_factory.mktemp("data")
    draw_dataset(
        root, "caltech-101", "101_ObjectCategories", "split_zhou_Caltech101.json",
        ["cat", "dog", "cup"], 4,
    )  # fmt: skip
    draw_dataset(
        root, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped"], 2
    )
    return root


@pytest.fixture
def words(data_root: Path, tiny_model_dir: Path) -> Callable[..., list[str]]:
    """The command line of a small measurement into ``out``; later words win."""

    def make(out: Path, *more: str) -> list[str]:
        given = [
            "--data-root",
            data_root,
            "--dataset",
            "caltech101",
            "--methods",
            "clip,ensemble,rita",
        ]
        given += ["--attack", "pgd", "--budget", "4", "--steps", "1", "--protocols", "stream"]
        given += ["--backbone", f"local-dir:{tiny_model_dir}", "--out", out]
        given += ["--set", "views=6", "--set", "prompts=2", "--set", "max_entropy=9"]
        return ["evaluate", *map(str, given), *more]

    return make


@pytest.fixture
def measure(words: Callable[..., list[str]]) -> Run:
    """Do it, and give the folder back."""

    def run(out: Path, *more: str) -> Path:
        assert cli.main(words(out, *more)) == 0
        return out

    return run


def cells(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Cell folder -> its rows without their times."""
    found = {}
    for path in sorted(out.glob("cells/*/rows.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        found[path.parent.name] = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    return found


@pytest.fixture(scope="session")
def rows_of() -> Callable[[Path], dict[str, list[dict[str, Any]]]]:
    return cells
