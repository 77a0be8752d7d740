"""A run that is killed and resumed ends where an uninterrupted one does, bit by bit."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rita_demo.records.errors import DemoError
from tests.tools.drawn_data import TINY, draw_data, single_threaded
from tools.train import Recipe, train

STEPS = 40
KILLED_AT = 20  # the last checkpoint before is step 15


def run(data: Path, out: Path, resume: bool = False, kill: bool = False) -> list[str]:
    """Train the tiny model; with `kill`, end the process when step 20 is logged."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if kill and f"step {KILLED_AT} " in line and "loss" in line:
            os.kill(os.getpid(), signal.SIGKILL)

    recipe = Recipe(
        model_cfg=TINY, trunk_package="", drawn=1, batch=16, texts=12, sizes=((0.0, 64), (0.6, 96)), compiled=False
    )
    with single_threaded():
        train(data, out, 1.0, resume, 3, steps=STEPS, recipe=recipe, save_every_steps=15, print_line=say)
    return lines


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[str]]:
    """(data, out, log lines) of a whole run."""
    data, out = draw_data(tmp_path_factory.mktemp("data")), tmp_path_factory.mktemp("whole")
    return data, out, run(data, out)


@pytest.mark.slow
def test_the_loss_falls_and_the_log_shows_accuracy_speed_and_time_left(uninterrupted) -> None:
    _, out, lines = uninterrupted
    first, *_, last = (float(line.split("loss ")[1].split()[0]) for line in lines if "loss" in line)
    assert last < first
    log = (out / "log.txt").read_text()
    for text in ("Caltech101", "DTD", "images/s", "min left", "64 px", "96 px"):
        assert text in log


@pytest.mark.nightly
def test_a_killed_and_resumed_run_ends_bit_identical(uninterrupted, tmp_path: Path) -> None:
    data, whole, _ = uninterrupted
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.tools.test_training_resumes import run\n"
        "run(Path(sys.argv[1]), Path(sys.argv[2]), kill=True)"
    )
    root = Path(__file__).parents[2]
    child = subprocess.run([sys.executable, "-c", code, str(data), str(tmp_path)], cwd=root, timeout=120, check=False)
    assert child.returncode == -signal.SIGKILL
    half = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert half["step"] == 15
    (tmp_path / "checkpoint.pt.tmp").write_bytes(b"a checkpoint that was being written")
    assert any("resumed at step 15" in line for line in run(data, tmp_path, resume=True))
    assert_same(*(torch.load(out / "checkpoint.pt", weights_only=True) for out in (whole, tmp_path)))
    for name in ("open_clip_model.safetensors", "seen_tokens.json"):
        assert (whole / "model" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


def assert_same(one: object, other: object, where: str = "checkpoint") -> None:
    """Equal values everywhere in two nested structures, the clock aside."""
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other), where
    elif isinstance(one, dict | list):
        parts, others = (dict(enumerate(side)) if isinstance(side, list) else side for side in (one, other))
        assert parts.keys() == others.keys(), where
        for key in parts.keys() - {"seconds"}:
            assert_same(parts[key], others[key], f"{where}/{key}")
    else:
        assert one == other, where


@pytest.mark.slow
def test_another_seed_gives_an_error_message(uninterrupted) -> None:
    data, out, _ = uninterrupted
    with pytest.raises(DemoError, match="made with seed 3"):
        train(data, out, 1.0, resume=True, seed=4, steps=2, recipe=Recipe(model_cfg=TINY, trunk_package="", drawn=1))


def test_a_folder_without_pictures_gives_an_error_message(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="No training pictures"):
        train(tmp_path, tmp_path / "out", 1.0, recipe=Recipe(model_cfg=TINY, trunk_package="", drawn=1))
