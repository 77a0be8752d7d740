"""The commands of tools: what they are asked is what is measured and trained; the lecture as the documents have it."""

from pathlib import Path
from types import ModuleType

import pytest

from rita_demo.cli.terminal import run_command
from tools.bench import __main__ as bench
from tools.train import __main__ as train


def test_the_training_gets_the_options_of_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, dict]] = []
    for name in ("train", "train_robust"):
        monkeypatch.setattr(train, name, lambda name=name, **options: calls.append((name, options)))
    words = ["--data", str(tmp_path), "--out", str(tmp_path / "o"), "--minutes", "1.5"]
    assert run_command(train.build_parser, [*words, "--resume"]) == 0
    assert run_command(train.build_parser, [*words, "--robust"]) == 0
    asked = {"data": tmp_path, "out": tmp_path / "o", "minutes": 1.5}
    assert calls == [("train", asked | {"resume": True}), ("train_robust", asked | {"resume": False})]


@pytest.mark.parametrize(
    ("command", "words", "status", "sentence"),
    [
        (train, "--data x --out y", 2, "--minutes"),
        (train, "--data no/such --out y --minutes 1", 1, "does not exist"),
        (bench, "--only pages", 2, "Did you mean page"),
        (bench, "--json no/such/f.json", 1, "cannot be written"),
    ],
)
def test_what_cannot_begin_says_why(command: ModuleType, words: str, status: int, sentence: str, capsys) -> None:
    assert run_command(command.build_parser, words.split()) == status
    assert sentence in capsys.readouterr().err
