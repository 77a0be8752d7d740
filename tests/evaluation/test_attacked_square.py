"""Which square is attacked, the picture's or the model's, is said with its pixels."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rita_demo import run
from tests.toy_model import ToyEngine


@pytest.mark.parametrize(
    ("words", "square"),
    [
        (["--attack", "none,fgsm"], "the model's square of 64 × 64 pixels"),
        (["--square", "picture"], "each picture's own square of at most 448 × 448 pixels"),
        (["--attack", "none"], ""),
    ],
)
def test_evaluate_says_it_at_its_end(
    run_evaluate: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], square: str
) -> None:
    run_evaluate(tmp_path / "runs", "--methods", "clip", "--limit", "1", "--protocols", "off", *words)
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Attacked: ")]
    assert said == [f"Attacked: {square}."] * bool(square)


@pytest.mark.parametrize("square", ["picture", "model"])
def test_the_threat_model_of_a_run_says_it(square: str) -> None:
    engine = ToyEngine()
    picture = np.random.default_rng(0).integers(0, 256, (90, 70, 3), np.uint8)
    side = 70 if square == "picture" else engine.info.side
    done = run(picture, ["cat", "cup"], attack="fgsm", square=square, engine=engine, settings={"views": 2}).run
    assert f"on the {square}'s square of {side} × {side} pixels, seed 0." in " ".join(done.threat_model.sentences)
