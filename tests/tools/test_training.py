"""The trainings of the embedded model and of its robust tower, of tiny models: they learn, and a resumed run ends bit by bit
as a whole one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rita_demo.process.cpu_threads import single_threaded
from rita_demo.records.errors import DemoError
from tests.tools.drawn_data import TINY, draw_data
from tools.train.loop import train
from tools.train.model_config import build_model, export
from tools.train.recipe import Recipe
from tools.train.robust import RobustRecipe, train_robust

SIZES = ((0.0, 64), (0.6, 96))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_data(tmp_path_factory.mktemp("data"))


def stopped_and_whole(make: Callable[..., Path], tmp_path: Path, stop: int) -> tuple[Path, Path, list[str]]:
    """A run that ends at a step and goes on, a whole one, and the lines of the latter."""
    lines: list[str] = []

    def interrupt(line: str) -> None:
        if f"step {stop} " in line:
            raise KeyboardInterrupt

    with single_threaded():
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "part", print_line=interrupt)
        return make(tmp_path / "part", resume=True), make(tmp_path / "whole", print_line=lines.append), lines


@pytest.mark.nightly
def test_training_learns_and_a_resumed_run_is_the_whole_one(data: Path, tmp_path: Path) -> None:
    recipe = Recipe(TINY, trunk_package="", drawn=1, batch=16, texts=12, sizes=SIZES, compiled=False)
    make = partial(train, data, minutes=1.0, seed=3, steps=40, recipe=recipe, save_every_steps=15)
    part, whole, lines = stopped_and_whole(make, tmp_path, 20)
    for name in ("open_clip_model.safetensors", "seen_tokens.json", "seen_words.json"):
        assert (part / name).read_bytes() == (whole / name).read_bytes()
    first, *_, last = (float(line.split("loss ")[1].split()[0]) for line in lines if "loss" in line)
    assert last < first
    assert any("accuracy on val: Caltech101" in line for line in lines)
    with pytest.raises(DemoError, match="made with seed 3"):
        train(data, tmp_path / "whole", 1.0, resume=True, seed=4, steps=2, recipe=recipe)


@pytest.mark.nightly
def test_robust_training_goes_on_where_it_was_stopped(data: Path, tmp_path: Path) -> None:
    export(build_model(TINY, 0).state_dict(), TINY, [], b"[]", tmp_path / "start")
    recipe = RobustRecipe(drawn=1, batch=16, sizes=SIZES, tecoa=1.0, fare=0.5)
    make = partial(train_robust, data, minutes=1.0, seed=3, steps=24, recipe=recipe, start=tmp_path / "start")
    part, whole, lines = stopped_and_whole(partial(make, save_every_steps=10), tmp_path, 20)
    one, other = load_file(part), load_file(whole)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert any("clean -> PGD-7" in line for line in lines)


def test_without_pictures_or_minutes_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="No training pictures"):
        train(tmp_path, tmp_path / "out", 1.0)
    with pytest.raises(DemoError, match="positive number of minutes"):
        train_robust(tmp_path, tmp_path / "out", 0.0)
