"""The command ``reproduce``: a plan of ``evaluate`` commands for every printed cell, and one comparison."""

import csv
import io
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import save

from rita_demo.attacks import ATTACKS
from rita_demo.cli import main as cli
from rita_demo.cli import paper as command
from rita_demo.data import paper_results
from rita_demo.evaluation.paper.reproduce import Asked, make_plan, table_name
from rita_demo.evaluation.report.cells import cells
from rita_demo.process.assets import ASSETS
from tests.documented import documented
from tests.evaluation.conftest import draw_dataset
from tests.vlm.hub import put_in_cache, random_model, shrink


def printed(table: str, backbone: str) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """(dataset, attack) -> (method, budget) of one printed table, read without the project's reader."""
    found = defaultdict(set)
    with (ASSETS / "paper_tables.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["table"] == table and row["backbone"] == backbone and "Avg" not in row["dataset"]:
                found[row["dataset"], row["attack"]].add((row["method"], row["budget"]))
    return found


def options(words: tuple[str, ...]) -> dict[str, str]:
    """The options of an ``evaluate`` command."""
    assert words[0] == "evaluate"
    return {word: words[n + 1] for n, word in enumerate(words) if word.startswith("--") and word != "--allow-partial"}


@pytest.mark.parametrize(
    ("table", "backbone"),
    [("main", "ViT-B/32"), ("budget 4", "ViT-B/16"), ("attack type", "ViT-B/16"), ("other attacks", "ViT-B/16")],
)
def test_every_printed_cell_of_a_table_is_planned_once(table: str, backbone: str, tmp_path: Path) -> None:
    here = "dtd:present", "caltech101:present"
    draw_dataset(tmp_path, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped"], 1)
    draw_dataset(tmp_path, "caltech-101", "101_ObjectCategories", "split_zhou_Caltech101.json", ["crab", "cup"], 1)
    asked = Asked((table_name(table),), paper_results.BACKBONES[backbone], tmp_path, tmp_path / "out", here)
    planned = defaultdict(set)
    for given in map(options, make_plan(asked).commands):
        assert (given["--preset"], given["--split"], given["--protocols"]) == ("paper", "test", "stream")
        for attack in given["--attack"].split(","):
            for method in given["--methods"].split(","):
                assert (method, given["--budget"]) not in planned[given["--dataset"], attack]
                planned[given["--dataset"], attack].add((method, given["--budget"]))
    spelled = {"DTD": "dtd:present", "Caltech101": "caltech101:present"}
    for (dataset, attack), same in printed(table, backbone).items():
        if dataset in spelled:
            mine = planned.pop((spelled[dataset], paper_results.ATTACKS[attack]))
            assert {method for method, _ in mine} == {paper_results.METHODS[method] for method, _ in same}
            if attack != "none" and ATTACKS[paper_results.ATTACKS[attack]].bounded:
                assert {budget for _, budget in mine} == {budget for _, budget in same}
    assert not planned


@pytest.fixture
def openai_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The words of a reproduction with a small model of random weights under the name of one of OpenAI's."""

    def make(table: str, architecture: str = "ViT-B-32-quickgelu", datasets: str = "dtd:present,eurosat") -> list[str]:
        model, cache, data = (
            random_model(shrink(monkeypatch, architecture), seed=0),
            tmp_path / "cache",
            tmp_path / "data",
        )
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        put_in_cache(cache, architecture, "openai", "open_clip_model.safetensors", save(model.state_dict()))
        monkeypatch.setattr(command, "QUICK", 2)
        draw_dataset(data, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped"], 3)
        draw_dataset(data, "eurosat", "2750", "split_zhou_EuroSAT.json", ["Forest", "River", "Pasture Land"], 2)
        words = ["reproduce", "--backbone", f"{architecture}:openai", "--data-root", str(data), "--quick"]
        return [*words, "--dataset", datasets, "--table", table, "--out", str(tmp_path / "out")]

    return make


@pytest.mark.slow
def test_it_prints_the_commands_goes_on_after_ctrl_c_and_compares_what_is_measured(
    openai_words: Callable[..., list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words, out, said = openai_words("table-main"), tmp_path / "out", list[str]()

    def end(self: object, sentence: str) -> None:
        said.append(sentence)
        if len(said) == 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rita_demo.cli.terminal.ProgressLog.__call__", end)
        assert cli.main(words) == 130
    printed_words = capsys.readouterr().out
    assert " evaluate --dataset dtd:present --split test --preset paper" in printed_words.splitlines()[0]
    assert "The same command goes on" in printed_words
    assert (out / "report.md").is_file()
    assert cli.main(words) == 0
    report = (out / "report.md").read_text("utf-8")
    lines = list(csv.DictReader(io.StringIO((out / "cells.csv").read_text("utf-8"))))
    assert list(lines[0]) == documented("A reproduction")
    assert len(lines) == 7 * 8 * 2
    assert {line["backbone"] for line in lines} == {"ViT-B/32"}
    measured = [line for line in lines if line["measured"]]
    assert {line["dataset"] for line in measured} == {"DTD", "EuroSAT"}
    assert len(measured) == 7 * 2 * 2
    for line in measured:
        ours, theirs = float(line["measured"]), float(line["printed"])
        inside = float(line["low"]) - 0.05 <= theirs <= float(line["high"]) + 0.05
        assert line["inside"] == str(int(inside))
        assert float(line["difference"]) == pytest.approx(ours - theirs, abs=0.011)
        text = f"{ours:.1f} ({theirs:.1f}; {ours - theirs:+.1f}".replace("-", "−")
        assert f"| {text}{'' if inside else ' ≠'}) " in report
    count = sum(line["inside"] == "1" for line in measured)
    assert f"28 of 28 printed cells of these datasets are measured; {len(lines) - 28} more are of datasets" in report
    assert f"in {count}, outside in {28 - count} (≠)." in report
    assert "ViT-B/16 (`--backbone ViT-B-16-quickgelu:openai`): 112 printed cells of main." in report
    assert "Attacked: frozen CLIP with one view" in report, "the threat model stands in the report"
    found = cells(out / "runs" / "tables-2")
    assert found["finished"].all()
    capsys.readouterr()
    assert cli.main(words) == 0, "once more: nothing is left to do"
    assert " 0 of them new" in capsys.readouterr().out
    assert (out / "report.md").read_text("utf-8") == report
