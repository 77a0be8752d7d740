"""``python -m tools.bench`` and ``python -m tools.train``: what they are asked is what is measured and trained."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rita_demo.cli.terminal import run_command
from tools.bench import __main__ as bench
from tools.train import __main__ as train

REPORT: dict[str, Any] = {"machine": {}, "config": {}, "stages": {}, "ratios": {}}


def test_the_training_gets_the_options_of_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, dict]] = []
    for name in ("train", "train_robust"):
        monkeypatch.setattr(train, name, lambda name=name, **options: calls.append((name, options)))
    words = ["--data", str(tmp_path), "--out", str(tmp_path / "o"), "--minutes", "1.5"]
    assert run_command(train.build_parser, [*words, "--resume"]) == 0
    assert run_command(train.build_parser, [*words, "--robust"]) == 0
    asked = {"data": tmp_path, "out": tmp_path / "o", "minutes": 1.5}
    assert calls == [("train", asked | {"resume": True}), ("train_robust", asked | {"resume": False})]


def test_the_benchmark_measures_what_was_asked_and_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    calls: list[tuple] = []
    monkeypatch.setattr(bench, "load", lambda name: f"model {name}")
    monkeypatch.setattr(bench, "run", lambda *asked: calls.append(asked) or (REPORT, []))
    monkeypatch.setattr(bench, "as_text", lambda report, notes: "the tables")
    file = tmp_path / "bench.json"
    assert run_command(bench.build_parser, ["--backbone", "A:b", "--json", str(file)]) == 0
    assert run_command(bench.build_parser, ["--only", "page"]) == 0
    assert [(model, spec, list(only)) for model, spec, _, only in calls] == [
        ("model A:b", "A:b", ["stages", "page"]),
        ("model embedded", "embedded", ["page"]),
    ]
    assert json.loads(file.read_text()) == REPORT
    assert capsys.readouterr().out == "the tables\n" * 2


def test_the_rows_of_a_gpu_are_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def run(model: str, device: str | None, on_progress: Callable[[str], None]) -> dict[str, Any]:
        on_progress("image: 71 ms")
        return {"rows": [model]}

    monkeypatch.setattr(bench.gpu, "run", run)
    monkeypatch.setattr(bench.gpu, "as_text", lambda found: "the rows")
    file = tmp_path / "gpu.json"
    for words, model in (([], "ViT-B-16"), (["--backbone", "embedded"], "embedded")):
        assert run_command(bench.build_parser, ["gpu", *words, "--json", str(file)]) == 0
        assert json.loads(file.read_text()) == {"rows": [model]}
        assert capsys.readouterr() == ("the rows\n", "image: 71 ms\n")  # what is known stays where a run is cut off


def test_an_architecture_alone_is_measured_with_random_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.gpu, "measure", lambda fast, exact, on_progress, **few: {"models": [fast, exact]})
    for name, random in (("ViT-S-32-alt", True), ("embedded", False)):
        models = bench.gpu.run(name, "cpu", print)["models"]
        assert [("random weights" in one.info.name, one.info.precision) for one in models] == [(random, "float32")] * 2


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
