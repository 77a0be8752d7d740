"""Adversarial fine-tuning of a tiny tower: it resists more than before, and a resumed run ends bit by bit as a whole one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from rita_demo.records.errors import DemoError
from tests.tools.drawn_data import TINY, draw_data, single_threaded
from tools.train import RobustRecipe, train_robust
from tools.train.corpus import load_corpus
from tools.train.evaluate import cosines, load_split
from tools.train.model_config import build_model, encode_image, export, normalised
from tools.train.robust import Towers, class_sentences, pgd_accuracy

RECIPE = RobustRecipe(drawn=1, batch=16, sizes=((0.0, 64), (0.6, 96)), tecoa=1.0, fare=0.5)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(data, start): drawn pictures, and a tiny model with random weights."""
    start = tmp_path_factory.mktemp("start")
    export(build_model(TINY, 0).state_dict(), TINY, [], b"[]", start)
    return draw_data(tmp_path_factory.mktemp("data")), start


@pytest.fixture
def towers() -> Towers:
    torch.manual_seed(0)
    return Towers(build_model(TINY, 0).requires_grad_(False), ("anchor", "lamp", "banded"), RECIPE)


def test_the_loss_is_tecoas_and_fares_per_picture(towers: Towers) -> None:
    pixels, label = torch.rand(4, 3, 64, 64), torch.tensor([0, -1, 2, -1])
    towers.model.eval()
    with torch.no_grad():
        clean = encode_image(towers.old, normalised(pixels.flip(3)))
        found = towers.loss(pixels, label, clean)
        features = encode_image(towers.model, normalised(pixels))
    for n in range(4):
        expected = 0.5 * (1 - float(features[n] @ clean[n]))
        if label[n] >= 0:
            log_p = (towers.scale * features[n] @ towers.text.T).log_softmax(0)
            expected += float(-0.9 * log_p[label[n]] - 0.1 * log_p.mean())
        assert float(found[n]) == pytest.approx(expected, abs=1e-4)


def test_the_inner_attack_stays_in_its_growing_budget_and_raises_the_loss(towers: Towers) -> None:
    pixels, label = torch.rand(8, 3, 64, 64), torch.arange(8) % 3
    with torch.no_grad():
        clean = encode_image(towers.old, normalised(pixels))
    towers.model.eval()
    for progress, share in ((0.0, 0.1), (0.125, 0.55), (0.25, 1.0), (0.9, 1.0)):
        attacked = towers.attacked(pixels, label, clean, progress, seed=1)
        assert float((attacked - pixels).abs().max()) == pytest.approx(share * 4 / 255, rel=1e-3)
        assert 0 <= float(attacked.min()) <= float(attacked.max()) <= 1
    with torch.no_grad():
        before, after = (towers.loss(p, label, clean).mean() for p in (pixels, attacked))
    assert after > before


def test_only_target_sets_have_class_sentences(folders: tuple[Path, Path], tmp_path: Path) -> None:
    sets, names = load_corpus(folders[0], tmp_path, 1), ("anchor", "lamp", "pizza", "banded", "dotted")
    sentence = class_sentences(sets, names, RECIPE.focus_groups)
    for group, pictures in sets.groups.items():
        expected = {"caltech101": {0, 1, 2}, "dtd": {3, 4}}.get(group, {-1})
        assert set(np.unique(sentence[pictures])) == expected


@pytest.mark.nightly
def test_a_resumed_run_ends_bit_by_bit_as_a_whole_one(folders: tuple[Path, Path], tmp_path: Path) -> None:
    data, start = folders

    def run(out: Path, resume: bool = False, stop: int | None = None) -> Path:
        lines: list[str] = []

        def say(line: str) -> None:
            lines.append(line)
            if stop and f"step {stop} " in line:
                raise KeyboardInterrupt

        file = train_robust(
            data, out, 1.0, resume, 3, steps=24, recipe=RECIPE, start=start, save_every_steps=10, print_line=say
        )
        assert any("clean -> PGD-7" in line for line in lines)
        return file

    with single_threaded():
        whole = load_file(run(tmp_path / "whole"))
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "part", stop=20)
        part = load_file(run(tmp_path / "part", resume=True))
    assert whole.keys() == part.keys()
    assert all(torch.equal(whole[name], part[name]) for name in whole)


def test_pgd_lowers_the_accuracy(folders: tuple[Path, Path]) -> None:
    rows = [(path, name) for name in ("lamp", "pizza") for path in sorted(folders[0].rglob(f"{name}/*.png"))]
    split, model = load_split(rows, 96), build_model(TINY, 0).eval()
    own = replace(split, label=cosines(model, split).argmax(1))
    assert pgd_accuracy(model, own, budget=32 / 255) < pgd_accuracy(model, own, budget=0.0)


def test_data_without_the_target_sets_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="No training pictures"):
        train_robust(tmp_path, tmp_path / "out", 1.0)
    with pytest.raises(DemoError, match="positive number of minutes"):
        train_robust(tmp_path, tmp_path / "out", 0.0)
