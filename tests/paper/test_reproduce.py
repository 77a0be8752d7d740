"""The command ``reproduce``: every printed cell is planned, measured as far as the data allows, and compared."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from rita_demo.evaluation.report.results import result_rows
from rita_demo.paper.plan import Asked, make_plan
from safetensors.torch import save

from rita_demo.attacks import ATTACKS
from rita_demo.cli import main as cli
from rita_demo.cli import reproduce as command
from rita_demo.data import paper_results
from rita_demo.paper import catalogue
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DataError, DemoError
from tests.documented import documented
from tests.evaluation.conftest import draw_dataset
from tests.vlm.hub import put_in_cache, random_model, shrink

B32 = "ViT-B-32-quickgelu:openai"


def printed(table: str, backbone: str) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """(dataset, attack) -> (method, budget) of one printed table, read without the project's reader."""
    found = defaultdict(set)
    with (ASSETS / "paper_tables.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["table"] == table and row["backbone"] == backbone and "Avg" not in row["dataset"]:
                found[row["dataset"], row["attack"]].add((row["method"], row["budget"]))
    return found


@pytest.mark.parametrize(
    ("table", "backbone"),
    [("main", "ViT-B/32"), ("budget 4", "ViT-B/16"), ("attack type", "ViT-B/16"), ("other attacks", "ViT-B/16")],
)
def test_every_printed_cell_of_a_table_is_planned_once(table: str, backbone: str, tmp_path: Path) -> None:
    names = "dtd:present", "caltech101:present"
    draw_dataset(tmp_path, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped"], 1)
    draw_dataset(tmp_path, "caltech-101", "101_ObjectCategories", "split_zhou_Caltech101.json", ["crab", "cup"], 1)
    asked = Asked((catalogue.table_name(table),), paper_results.BACKBONES[backbone], tmp_path, tmp_path / "out", names)
    planned = defaultdict(set)
    for request in make_plan(asked).requests:
        (point,), (dataset,) = request.points, request.datasets
        assert (point.views, point.protocol, request.split) == (64, "stream", "test")
        assert point.views_augmix, "of the preset paper"
        for method in request.methods:
            assert (method, point.budget) not in planned[dataset, point.attack]
            planned[dataset, point.attack].add((method, point.budget))
    spelled = {"DTD": "dtd:present", "Caltech101": "caltech101:present"}
    for (dataset, attack), cells in printed(table, backbone).items():
        if dataset in spelled:
            mine = planned.pop((spelled[dataset], paper_results.ATTACKS[attack]))
            assert {method for method, _ in mine} == {paper_results.METHODS[method] for method, _ in cells}
            if attack != "none" and ATTACKS[paper_results.ATTACKS[attack]].bounded:
                assert {str(budget) for _, budget in mine} == {budget for _, budget in cells}
    assert not planned


def test_what_is_not_here_is_named(tmp_path: Path) -> None:
    draw_dataset(tmp_path, "stanford_cars", "", "split_zhou_StanfordCars.json", ["red car", "blue car"], 1)
    missing = "\n".join(make_plan(Asked(catalogue.names(), B32, tmp_path, tmp_path / "out", ())).missing)
    assert "cars: there are no class descriptions; the paper has some." in missing
    assert re.search(r"^aircraft: .*incomplete", missing, re.MULTILINE)
    with pytest.raises(DataError, match="--dataset textures"):
        make_plan(Asked(("table-main",), B32, None, tmp_path / "out"))
    with pytest.raises(
        DataError, match=re.escape("RN50 (`--backbone RN50-quickgelu:openai`): 112 printed cells of table-rn50")
    ):
        make_plan(Asked(("table-rn50",), B32, tmp_path, tmp_path / "out"))


def test_a_report_counts_what_its_model_and_datasets_can_measure_and_names_what_is_of_others(
    openai_words, tmp_path, capsys
) -> None:
    assert cli.main(openai_words("table-main,table-budget-4")) == 0
    capsys.readouterr()
    both = [printed(table, "ViT-B/32") for table in ("main", "budget 4")]
    cells = {
        (dataset, attack, budget * (attack != "none"), m)
        for one in both
        for (dataset, attack), all in one.items()
        for m, budget in all
    }
    here = [cell for cell in cells if cell[0] in ("DTD", "EuroSAT")]
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    counted = f"{len(here)} of {len(here)} printed cells of these datasets are measured; {len(cells) - len(here)} more are of datasets"
    assert len(here) == 7 * 2 * 3, "the clean row of both tables is the same one"
    assert counted in report
    assert (
        "- ViT-B/16 (`--backbone ViT-B-16-quickgelu:openai`): 168 printed cells of table-main, table-budget-4."
        in report
    )
    table = report.partition("## Tables")[2].partition("## Why")[0]
    for name in ("DTD", "EuroSAT"):
        assert f"| method | memory | {name} | s per picture |" in table, "columns that are not measured are left out"
    assert "Caltech101" in table, "and named"


def test_a_cell_of_several_sweeps_is_named_once_as_still_to_measure(tmp_path, tiny_model_dir, monkeypatch) -> None:
    monkeypatch.setattr(command, "QUICK", 4)
    words = ["reproduce", "--backbone", f"local-dir:{tiny_model_dir}", "--dataset", "textures", "--quick"]
    words += ["--table", "budget-by-steps,ablation-tuning-steps", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        end_at(1, KeyboardInterrupt(), list[str](), patch)
        assert cli.main(words) == 130
    named = [
        (line.partition(",")[2].rpartition(",")[0], name)
        for line in measured_share(tmp_path)[1]
        for name in line.rpartition(": ")[2].split(", ")
    ]
    assert len(named) == len({(attack.partition(",")[0], name) for attack, name in named}) == 4 * 4


def test_the_textures_are_a_rehearsal_without_any_data(tmp_path, tiny_model_dir, monkeypatch, capsys) -> None:
    monkeypatch.setattr(command, "QUICK", 4)
    words = ["reproduce", "--backbone", f"local-dir:{tiny_model_dir}", "--dataset", "textures", "--quick"]
    words += ["--table", "table-components", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    assert (
        "The paper prints no single cell of these datasets in these tables. 32 rows are new." in capsys.readouterr().out
    )
    rows = result_rows(tmp_path / "runs" / "tables-4")
    assert {(row.n, row.finished) for row in rows} == {(4, True)}
    report = (tmp_path / "report.md").read_text("utf-8")
    assert "At most 4 pictures of each dataset: a rehearsal" in report
    assert "The paper does not have this model: no number here reproduces a printed one." in report
    for row in rows:
        assert f"| {row.accuracy:.1f} |" in report or f"| {row.accuracy:.1f} " in report


@pytest.fixture
def openai_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The words of a reproduction with a small model of random weights under the name of one of OpenAI's."""

    def make(table: str, architecture: str = "ViT-B-32-quickgelu", datasets: str = "dtd:present,eurosat") -> list[str]:
        model = random_model(shrink(monkeypatch, architecture), seed=0)
        cache, data = tmp_path / "cache", tmp_path / "data"
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        put_in_cache(cache, architecture, "openai", "open_clip_model.safetensors", save(model.state_dict()))
        monkeypatch.setattr(command, "QUICK", 4)
        draw_dataset(data, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped"], 3)
        draw_dataset(data, "eurosat", "2750", "split_zhou_EuroSAT.json", ["Forest", "River", "Pasture Land"], 2)
        words = ["reproduce", "--backbone", f"{architecture}:openai", "--data-root", str(data), "--quick"]
        return [*words, "--dataset", datasets, "--table", table, "--out", str(tmp_path / "out")]

    return make


class Killed(BaseException):
    """The end of a process that cleans up nothing."""


def end_at(picture: int, how: BaseException, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise ``how`` once so many pictures are measured; ``said``: the sentences of progress until then."""
    said.clear()

    def end(self: object, sentence: str) -> None:
        said.append(sentence)
        if len(said) == picture:
            raise how

    monkeypatch.setattr("rita_demo.cli.terminal.ProgressLog.__call__", end)


def measured_share(out: Path) -> tuple[str, list[str]]:
    """The share that an unfinished report names, and what is still to measure."""
    report = (out / "report.md").read_text("utf-8")
    share = re.search(r"^\*\*(\S+) % of the pictures are measured", report, re.MULTILINE)
    assert share
    listed = report.partition("## Still to measure\n\n- ")[2].partition("\n\n")[0]
    return share[1], listed.split("\n- ")


def test_a_report_says_how_much_is_measured_after_ctrl_c_and_after_a_kill(
    openai_words, tmp_path, monkeypatch, capsys
) -> None:
    words, out, said = openai_words("table-components"), tmp_path / "out", list[str]()
    with monkeypatch.context() as patch:
        end_at(3, KeyboardInterrupt(), said, patch)
        assert cli.main(words) == 130
    assert re.match(r"18\.8% done: 3 of 16 in all, \S+ pictures per second, 0:\S+ left; dtd:present, ", said[-1])
    assert f"still to measure: {out / 'report.md'}\n" in capsys.readouterr().err
    methods = "clip, rita (memory kept), rita (without memory), rita_memory"
    after_three = [
        f"dtd:present, clean, 3 of 4 pictures: {methods}",
        f"eurosat, clean, 0 of 4 pictures: {methods}",
        f"dtd:present, pgd 1/255, 0 of 4 pictures: {methods}",
        f"eurosat, pgd 1/255, 0 of 4 pictures: {methods}",
    ]
    assert measured_share(out) == ("18.8", after_three)
    rows = {path: path.read_bytes() for path in out.rglob("rows.jsonl")}
    with monkeypatch.context() as patch:
        end_at(4, Killed(), said, patch)
        with pytest.raises(Killed):
            cli.main(words)
    assert said[0].startswith("25.0% done: 4 of 16"), "the first three are not measured again"
    assert measured_share(out) == ("25.0", after_three[1:]), "as it was when the next dataset began"
    with monkeypatch.context() as patch:
        end_at(1, Killed(), said, patch)
        with pytest.raises(Killed):
            cli.main(words)
    at_start = [f"eurosat, clean, 3 of 4 pictures: {methods}", *after_three[2:]]
    assert measured_share(out) == ("43.8", at_start), "of what the killed one had measured"
    assert cli.main(words) == 0
    report = (out / "report.md").read_text("utf-8")
    assert "are measured.**" not in report
    assert "Still to measure" not in report
    assert all(path.read_bytes().startswith(before) for path, before in rows.items()), "no row is measured again"
    found = result_rows(out / "runs" / "tables-4")
    assert len(found) == 2 * 4 * 2
    assert all(row.finished and row.answers == 4 for row in found)
    cells = list(csv.DictReader(io.StringIO((out / "cells.csv").read_text("utf-8"))))
    assert list(cells[0]) == documented("A reproduction")
    assert {cell["backbone"] for cell in cells} == {"ViT-B/32"}
    capsys.readouterr()
    assert cli.main(words) == 0, "once more: nothing is left to do"
    assert " 0 rows are new" in capsys.readouterr().out
    assert (out / "report.md").read_text("utf-8") == report


def test_what_is_still_to_measure_names_the_setting_that_a_figure_varies(tmp_path, tiny_model_dir, monkeypatch) -> None:
    monkeypatch.setattr(command, "QUICK", 4)
    words = ["reproduce", "--backbone", f"local-dir:{tiny_model_dir}", "--dataset", "textures", "--quick"]
    words += ["--table", "ablation-tuning-steps", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        end_at(1, KeyboardInterrupt(), list[str](), patch)
        assert cli.main(words) == 130
    steps = ", ".join(f"rita tuning_steps={value}" for value in (0, 1, 2, 4))
    assert measured_share(tmp_path)[1] == [
        f"textures, {attack}, 1 of 4 pictures: {steps}" for attack in ("clean", "pgd 1/255", "pgd 2/255", "pgd 4/255")
    ]


def test_a_difference_is_marked_where_the_printed_number_is_outside_the_interval(openai_words, tmp_path) -> None:
    assert cli.main(openai_words("table-main")) == 0
    out = tmp_path / "out"
    report = (out / "report.md").read_text("utf-8")
    cells = list(csv.DictReader(io.StringIO((out / "cells.csv").read_text("utf-8"))))
    assert len(cells) == 7 * 8 * 2
    measured = [cell for cell in cells if cell["measured"]]
    assert {cell["dataset"] for cell in measured} == {"DTD", "EuroSAT"}
    assert len(measured) == 7 * 2 * 2
    for cell in measured:
        ours, theirs = float(cell["measured"]), float(cell["printed"])
        inside = float(cell["low"]) - 0.05 <= theirs <= float(cell["high"]) + 0.05
        assert cell["inside"] == str(int(inside))
        assert float(cell["difference"]) == pytest.approx(ours - theirs, abs=0.011)
        text = f"{ours:.1f} (printed {theirs:.1f}; {ours - theirs:+.1f}".replace("-", "−")
        assert f"| {text}{'' if inside else ' ≠'}) " in report
    count = sum(cell["inside"] == "1" for cell in measured)
    assert f"in {count}, outside in {28 - count} (≠)." in report
    assert "class descriptions" not in report.partition("## Tables")[0], "DTD and EuroSAT have some"
    table = report.partition("## Tables")[2].partition("## How")[0]
    assert len(re.findall(r"^\| RITA.*preset paper", table, re.MULTILINE)) == 4, (
        "clean and PGD, all names and those present"
    )


def test_an_attack_whose_package_is_missing_is_named_and_the_rest_is_measured(
    openai_words, tmp_path, monkeypatch, capsys
) -> None:
    def missing(*_):
        raise DemoError("AutoAttack needs the package pyautoattack.")

    monkeypatch.setattr("rita_demo.attacks.autoattack._run", missing)
    assert cli.main(openai_words("table-other-attacks", "ViT-B-16-quickgelu", "eurosat")) == 0
    assert "eurosat, autoattack: The picture 'eurosat/2750/" in capsys.readouterr().err
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "AutoAttack needs the package pyautoattack." in report
    assert {row.attack for row in result_rows(tmp_path / "out" / "runs" / "tables-4")} == {"eot", "fgsm"}
